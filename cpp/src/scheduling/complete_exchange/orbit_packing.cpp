#include "conset/scheduling/complete_exchange/orbit_packing.hpp"

#include <algorithm>
#include <cmath>

#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

class Packing {
public:
    Packing(std::int32_t rows, View<const std::int32_t> load, View<const std::int32_t> capacity, std::uint64_t seed)
        : rows_(static_cast<std::size_t>(rows)),
          load_(load),
          random_(seed),
          items_(static_cast<std::uint32_t>(load.size() / rows_)),
          bins_(static_cast<std::uint32_t>(capacity.size() / rows_)),
          bin_(items_) {
        over_.resize(capacity.size());  // use - capacity
        for (std::size_t k = 0; k < capacity.size(); ++k) over_[k] = -capacity[k];
        for (std::uint32_t i = 0; i < items_; ++i) {
            bin_[i] = static_cast<std::int32_t>(random_.below(bins_));
            for (std::size_t r = 0; r < rows_; ++r) over_[at(bin_[i]) + r] += load_[i * rows_ + r];
        }
        for (const std::int32_t over : over_) cost_ += std::max(over, 0);
    }

    std::int64_t cost() const { return cost_; }
    Array<std::int32_t> give() { return std::move(bin_); }

    void step(double temperature) {
        const std::uint32_t i = random_.below(items_);
        if (random_.next() & 1U) {
            const auto to = static_cast<std::int32_t>(random_.below(bins_));
            if (to == bin_[i]) return;
            const std::int64_t change = moved(i, items_, bin_[i], to);
            if (accepts(change, temperature)) shift(i, to, change);
        } else {
            const std::uint32_t j = random_.below(items_);
            const std::int32_t from = bin_[i], to = bin_[j];
            if (from == to) return;
            const std::int64_t change = moved(i, j, from, to);
            if (!accepts(change, temperature)) return;
            shift(i, to, change);
            shift(j, from, 0);
        }
    }

private:
    std::size_t at(std::int32_t bin) const { return static_cast<std::size_t>(bin) * rows_; }

    // What it costs to move item i from one bin to another, and item j (none: items_) back.
    std::int64_t moved(std::uint32_t i, std::uint32_t j, std::int32_t from, std::int32_t to) const {
        std::int64_t change = 0;
        const std::int32_t* const one = &load_[i * rows_];
        const std::int32_t* const other = j < items_ ? &load_[j * rows_] : nullptr;
        const std::int32_t *const left = &over_[at(from)], *const right = &over_[at(to)];
        for (std::size_t r = 0; r < rows_; ++r) {
            const std::int32_t more = one[r] - (other != nullptr ? other[r] : 0);
            change += std::max(right[r] + more, 0) - std::max(right[r], 0);
            change += std::max(left[r] - more, 0) - std::max(left[r], 0);
        }
        return change;
    }

    bool accepts(std::int64_t change, double temperature) {
        if (change <= 0) return true;
        const double x = random_.uniform();
        return x < std::exp(-static_cast<double>(change) / temperature);
    }

    void shift(std::uint32_t i, std::int32_t to, std::int64_t change) {
        for (std::size_t r = 0; r < rows_; ++r) {
            over_[at(bin_[i]) + r] -= load_[i * rows_ + r];
            over_[at(to) + r] += load_[i * rows_ + r];
        }
        bin_[i] = to;
        cost_ += change;
    }

    std::size_t rows_;
    View<const std::int32_t> load_;
    Random random_;
    std::uint32_t items_, bins_;
    Array<std::int32_t> bin_, over_;
    std::int64_t cost_ = 0;
};

}  // namespace

Array<std::int32_t> pack_orbits(std::int32_t rows, View<const std::int32_t> load, View<const std::int32_t> capacity,
                                const Cooling& cooling, std::uint64_t seed) {
    Packing packing(rows, load, capacity, seed);
    constexpr std::int64_t hold = 1024;  // steps at one temperature
    const double fall =
        std::pow(cooling.cold / cooling.hot, static_cast<double>(hold) / static_cast<double>(cooling.steps));
    double temperature = cooling.hot;
    for (std::int64_t step = 0; step < cooling.steps && packing.cost() > 0; ++step) {
        if (step % hold == hold - 1) {
            temperature *= fall;
            if (stop_asked()) break;
        }
        packing.step(temperature);
    }
    return packing.cost() == 0 ? packing.give() : Array<std::int32_t>{};
}

}  // namespace conset
