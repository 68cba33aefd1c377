#include "conset/scheduling/random_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "conset/random.hpp"
#include "conset/rows.hpp"
#include "conset/scheduling/precedence.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr std::int32_t kNobody = -1;

class RandomSchedule {
public:
    RandomSchedule(const Resources& resources, bool exchanges, Precedence precedence, std::uint64_t seed)
        : resources_(resources),
          routes_(resources.routes()),
          nodes_(routes_.network.nodes()),
          exchanges_(exchanges),
          precedence_(std::move(precedence)),
          random_(seed),
          phase_(routes_.size(), 0),
          begin_(row_offsets<std::int64_t>(as_size(nodes_), routes_.size(),
                                           [&](std::size_t k) { return routes_.source[k]; })),
          length_(static_cast<std::size_t>(nodes_), 0),
          row_(routes_.size()),
          place_(exchanges ? routes_.size() : 0, -1),
          sender_to_(static_cast<std::size_t>(nodes_), kNobody),
          sends_(static_cast<std::size_t>(nodes_), 0),
          used_(resources.limits().link > 0 ? static_cast<std::size_t>(resources.count()) : 0, 0) {
        list_eligible();
        if (exchanges_) pair_up();
    }

    Array<std::int32_t> run() {
        std::size_t left = routes_.size();
        for (std::int32_t phase = 0; left > 0; ++phase) {
            fill_permutation();
            for (const std::int32_t k : placed_) phase_[k] = phase;
            poll_.count(placed_.size());
            left -= placed_.size();
            // Those that waited become eligible only now: a predecessor ends in an earlier permutation.
            for (const std::int32_t k : placed_)
                precedence_.release(k, [&](std::int32_t successor, bool now) {
                    if (now) append(successor);
                });
            reset();
        }
        return std::move(phase_);
    }

private:
    // The compressed rows: eligible transfers of node v stand at begin_[v] ... begin_[v] + length_[v] - 1, shuffled.
    void list_eligible() {
        for (std::size_t k = 0; k < routes_.size(); ++k)
            if (precedence_.ready(k))
                row_[begin_[routes_.source[k]] + length_[routes_.source[k]]++] = static_cast<std::int32_t>(k);
        for (std::int32_t v = 0; v < nodes_; ++v) {
            random_.shuffle(std::span(row_).subspan(as_size(begin_[v]), as_size(length_[v])));
            for (std::int32_t z = 0; exchanges_ && z < length_[v]; ++z) place_[row_[begin_[v] + z]] = z;
        }
    }

    // The transfer back of each, where there is one.
    void pair_up() {
        const auto forth = [&](std::int32_t k) { return std::pair(routes_.source[k], routes_.target[k]); };
        const auto back = [&](std::int32_t k) { return std::pair(routes_.target[k], routes_.source[k]); };
        Array<std::int32_t> order(routes_.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::sort(order, {}, [&](std::int32_t k) { return std::tuple(forth(k), k); });
        back_.assign(routes_.size(), kNobody);
        for (const std::int32_t k : order) {
            const auto found = std::ranges::lower_bound(order, back(k), {}, forth);
            if (found != order.end() && forth(*found) == back(k)) back_[k] = *found;
        }
    }

    void append(std::int32_t k) {
        const std::int32_t v = routes_.source[k], last = length_[v]++;
        const auto other = static_cast<std::int32_t>(random_.below(length_[v]));
        if (other < last) put(v, last, row_[begin_[v] + other]);
        put(v, other, k);
    }

    void put(std::int32_t v, std::int32_t z, std::int32_t k) {
        row_[begin_[v] + z] = k;
        if (exchanges_) place_[k] = z;
    }

    void fill_permutation() {
        auto x = static_cast<std::int32_t>(random_.below(nodes_));
        for (std::int32_t k = 0; k < nodes_; ++k, x = x + 1 == nodes_ ? 0 : x + 1) {
            take_inside(x);
            if (sends_[x] != 0 || (exchanges_ && sender_to_[x] == kNobody && take_exchange(x))) continue;
            take_first(x);
        }
    }

    // Takes the first transfer of row x with that back, where both fit.
    bool take_exchange(std::int32_t x) {
        for (std::int32_t z = 0; z < length_[x]; ++z) {
            const std::int32_t k = row_[begin_[x] + z], y = routes_.target[k], other = back_[k];
            if (other == kNobody || place_[other] < 0 || sends_[y] != 0 || sender_to_[y] != kNobody || !path_free(k))
                continue;
            mark_path(k, 1);
            if (path_free(other)) {
                mark_path(other, 1);
                take(x, z);
                take(y, place_[other]);
                return true;
            }
            mark_path(k, -1);
        }
        return false;
    }

    // Transfers inside a node use nothing and need not wait.
    void take_inside(std::int32_t x) {
        for (std::int32_t z = 0; z < length_[x];) {
            if (routes_.leaves(row_[begin_[x] + z]))
                ++z;
            else
                remove(x, z);
        }
    }

    // Takes the first transfer of row x that fits.
    void take_first(std::int32_t x) {
        for (std::int32_t z = 0; z < length_[x]; ++z) {
            const std::int32_t k = row_[begin_[x] + z];
            if (sender_to_[routes_.target[k]] != kNobody || !path_free(k)) continue;
            mark_path(k, 1);
            take(x, z);
            return;
        }
    }

    void take(std::int32_t x, std::int32_t z) {
        sender_to_[routes_.target[row_[begin_[x] + z]]] = x;
        sends_[x] = 1;
        remove(x, z);
    }

    void remove(std::int32_t x, std::int32_t z) {
        const std::int32_t k = row_[begin_[x] + z];
        placed_.push_back(k);
        put(x, z, row_[begin_[x] + --length_[x]]);
        if (exchanges_) place_[k] = -1;
    }

    bool path_free(std::int32_t k) const {
        return used_.empty() || resources_.all(k, [&](std::int32_t resource) {
            return used_[resource] < resources_.capacity(resource);
        });
    }

    void mark_path(std::int32_t k, std::int32_t change) {
        if (!used_.empty()) resources_.each(k, [&](std::int32_t resource) { used_[resource] += change; });
    }

    // Forgets a permutation by what it touched. The text resets PATHS once only, outside Repeat: links would stay
    // claimed for ever.
    void reset() {
        for (const std::int32_t k : placed_) {
            sender_to_[routes_.target[k]] = kNobody;
            sends_[routes_.source[k]] = 0;
            if (!used_.empty()) resources_.each(k, [&](std::int32_t resource) { used_[resource] = 0; });
        }
        placed_.clear();
    }

    StopPoll poll_;
    const Resources& resources_;
    const Routes& routes_;
    std::int32_t nodes_;
    bool exchanges_;
    Precedence precedence_;
    Random random_;
    Array<std::int32_t> phase_;
    Array<std::int64_t> begin_;
    Array<std::int32_t> length_, row_;
    Array<std::int32_t> place_;      // of each transfer in its row, -1: it is not there
    Array<std::int32_t> back_;       // the transfer back of each
    Array<std::int32_t> sender_to_;  // Trecv of the text
    Array<std::uint8_t> sends_;      // whether a node has a transfer in this permutation
    Array<std::int32_t> used_;       // PATHS of the text: transfers on each resource in this permutation
    Array<std::int32_t> placed_;
};

}  // namespace

Array<std::int32_t> schedule_random(const Resources& resources, bool exchanges, View<const std::int32_t> first,
                                    View<const std::int32_t> second, std::uint64_t seed) {
    return RandomSchedule(resources, exchanges, Precedence(resources.routes().size(), first, second), seed).run();
}

}  // namespace conset
