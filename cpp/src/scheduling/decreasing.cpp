#include "conset/scheduling/decreasing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "conset/random.hpp"
#include "conset/scheduling/phase_state.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

class Annealer {
public:
    Annealer(const Resources& resources, View<const double> duration, double opening, Array<std::int32_t> phase,
             const TransferOrder& order, std::uint64_t seed)
        : state_(resources, duration, std::move(phase)),
          duration_(duration),
          opening_(opening),
          order_(order),
          random_(seed),
          mark_(duration.size(), 0) {
        for (std::int32_t p = 0; p < state_.phases(); ++p) length_ += state_.length(p, opening_);
        best_length_ = length_;
        best_.assign(state_.phase().begin(), state_.phase().end());
    }

    Array<std::int32_t> run(const Annealing& annealing, double least) {
        if (state_.phases() < 2) return best_;
        const double mean = length_ / state_.phases();
        const double cooling = std::log(annealing.cold / annealing.hot);
        const auto every = static_cast<std::int64_t>(duration_.size() / 16 + 1);
        for (std::int64_t step = 0; step < annealing.steps && best_length_ > least; ++step) {
            const double part = static_cast<double>(step) / static_cast<double>(annealing.steps);
            temperature_ = mean * annealing.hot * std::exp(cooling * part);
            try_move(step % 2 == 0);
            if (step % every == 0) keep_best();
            if (step % kPollInterval != 0) continue;
            publish(best_length_, least);
            if (should_stop(true)) break;
        }
        keep_best();
        return best_;
    }

private:
    static constexpr std::size_t kChain = 12;     // transfers a Kempe chain may move
    static constexpr std::size_t kDisplaced = 3;  // and an ejection
    static constexpr int kTries = 4;              // to find a phase for a longest transfer that lasts as long anyway
    static constexpr std::int64_t kPollInterval = 10000;  // steps between polls of the wish to stop

    struct Move {
        std::int32_t transfer, from, to;
    };

    void try_move(bool chain) {
        std::int32_t k = 0;
        const bool longest = random_.below(2) == 0;
        if (longest) {
            const auto p = static_cast<std::int32_t>(random_.below(state_.phases()));
            if (state_.members(p).empty()) return;
            k = state_.longest(p);
        } else {
            k = static_cast<std::int32_t>(random_.below(duration_.size()));
        }
        const std::int32_t from = state_.phase()[k];
        std::int32_t to = other_phase(from);
        for (int tries = 0; longest && tries < kTries && state_.top(to) < duration_[k]; ++tries) to = other_phase(from);
        const double before = length_;
        moves_.clear();
        out_.clear();
        const bool done = chain ? swap_chain(k, from, to) : eject(k, from, to);
        if (!done || !ordered() || !accepts(length_ - before)) {
            undo();
            length_ = before;
        }
    }

    std::int32_t other_phase(std::int32_t from) {
        const auto to = static_cast<std::int32_t>(random_.below(state_.phases() - 1));
        return to >= from ? to + 1 : to;
    }

    bool accepts(double more) { return more <= 0 || random_.uniform() < std::exp(-more / temperature_); }

    bool ordered() const {
        return std::all_of(moves_.begin(), moves_.end(),
                           [&](const Move& move) { return order_.kept(move.transfer, state_.phase()); });
    }

    void take_out(std::int32_t k) {
        const std::int32_t p = state_.phase()[k];
        const double before = state_.length(p, opening_);
        state_.remove(k);
        length_ += state_.length(p, opening_) - before;
    }

    void put_in(std::int32_t k, std::int32_t from, std::int32_t to) {
        const double before = state_.length(to, opening_);
        state_.insert(k, to);
        length_ += state_.length(to, opening_) - before;
        moves_.push_back({k, from, to});
    }

    void undo() {
        for (const Move& move : moves_) state_.remove(move.transfer);
        for (const Move& move : moves_) state_.insert(move.transfer, move.from);
        for (const Move& move : out_) state_.insert(move.transfer, move.from);
    }

    // Transfers that cannot stand where they go swap sides with those that hold their places, and so on.
    bool swap_chain(std::int32_t k, std::int32_t a, std::int32_t b) {
        chain_.assign(1, k);
        ++stamp_;
        mark_[k] = stamp_;
        bool fits = true;
        for (std::size_t next = 0; next < chain_.size() && fits; ++next) {
            const std::int32_t mover = chain_[next];
            const std::int32_t to = state_.phase()[mover] == a ? b : a;
            for (const std::int32_t row : state_.rows_of(mover)) {
                fits = make_room(row, to);
                if (!fits) break;
            }
        }
        if (!fits) return false;
        from_.clear();
        for (const std::int32_t mover : chain_) {
            from_.push_back(state_.phase()[mover]);
            take_out(mover);
        }
        for (std::size_t n = 0; n < chain_.size(); ++n) put_in(chain_[n], from_[n], from_[n] == a ? b : a);
        return true;
    }

    // Adds to the chain until phase `to` has room in `row` for all that enters it; false: the chain is too long.
    bool make_room(std::int32_t row, std::int32_t to) {
        std::int32_t entering = 0, leaving = 0;
        for (const std::int32_t mover : chain_) {
            const auto rows = state_.rows_of(mover);
            if (std::find(rows.begin(), rows.end(), row) == rows.end()) continue;
            ++(state_.phase()[mover] == to ? leaving : entering);
        }
        while (state_.used(to, row) + entering - leaving > state_.room(row)) {
            const std::int32_t displaced = smallest(to, row);
            if (displaced < 0 || chain_.size() == kChain) return false;
            chain_.push_back(displaced);
            mark_[displaced] = stamp_;
            ++leaving;
        }
        return true;
    }

    // The shortest holder of `row` in phase p that does not move yet; -1: none.
    std::int32_t smallest(std::int32_t p, std::int32_t row) const {
        std::int32_t found = -1;
        for (const std::int32_t other : state_.holders(p, row))
            if (mark_[other] != stamp_ && (found < 0 || duration_[other] < duration_[found])) found = other;
        return found;
    }

    // k takes its place; up to three transfers in its way go where they raise the longest least.
    bool eject(std::int32_t k, std::int32_t from, std::int32_t to) {
        chain_.clear();
        ++stamp_;
        for (const std::int32_t row : state_.rows_of(k)) {
            std::int32_t leaving = 0;
            for (const std::int32_t other : chain_) {
                const auto rows = state_.rows_of(other);
                if (std::find(rows.begin(), rows.end(), row) != rows.end()) ++leaving;
            }
            if (state_.used(to, row) - leaving < state_.room(row)) continue;
            const std::int32_t displaced = smallest(to, row);
            if (displaced < 0 || chain_.size() == kDisplaced) return false;
            chain_.push_back(displaced);
            mark_[displaced] = stamp_;
        }
        take_out(k);
        for (const std::int32_t displaced : chain_) take_out(displaced);
        put_in(k, from, to);
        std::sort(chain_.begin(), chain_.end(), [&](std::int32_t a, std::int32_t b) {
            return duration_[a] != duration_[b] ? duration_[a] > duration_[b] : a < b;
        });
        for (std::size_t n = 0; n < chain_.size(); ++n) {
            const std::int32_t place = state_.cheapest(chain_[n], to);
            if (place < 0) {
                for (std::size_t rest = n; rest < chain_.size(); ++rest) out_.push_back({chain_[rest], to, to});
                return false;
            }
            put_in(chain_[n], to, place);
        }
        return true;
    }

    void keep_best() {
        if (length_ >= best_length_ * (1 - 1e-12)) return;
        best_length_ = length_;
        std::copy(state_.phase().begin(), state_.phase().end(), best_.begin());
    }

    PhaseState state_;
    View<const double> duration_;
    double opening_;
    const TransferOrder& order_;
    Random random_;
    Array<std::uint32_t> mark_;
    std::uint32_t stamp_ = 0;
    Array<std::int32_t> chain_, from_, best_;
    Array<Move> moves_, out_;  // done; taken out and without a place
    double length_ = 0, best_length_ = 0, temperature_ = 0;
};

}  // namespace

double least_length(const Resources& resources, View<const double> duration, double opening) {
    Array<std::int32_t> order(duration.size()), seen(static_cast<std::size_t>(resources.count()), 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return duration[a] > duration[b]; });
    Array<double> rounds(duration.empty() ? 0 : 1, 0.0);
    for (const std::int32_t k : order) {
        rounds[0] = std::max(rounds[0], duration[k]);
        resources.each(static_cast<std::size_t>(k), [&](std::int32_t resource) {
            const std::int32_t before = seen[resource]++;
            if (before % resources.capacity(resource) != 0) return;
            const auto round = static_cast<std::size_t>(before / resources.capacity(resource));
            if (round >= rounds.size()) rounds.resize(round + 1, 0.0);
            rounds[round] = std::max(rounds[round], duration[k]);
        });
    }
    return std::accumulate(rounds.begin(), rounds.end(), 0.0) + opening * static_cast<double>(rounds.size());
}

double phases_length(View<const std::int32_t> phase, View<const double> duration, double opening) {
    Array<double> longest;
    for (std::size_t k = 0; k < phase.size(); ++k) {
        if (as_size(phase[k]) >= longest.size()) longest.resize(as_size(phase[k]) + 1, -1.0);
        longest[phase[k]] = std::max(longest[phase[k]], duration[k]);
    }
    double length = 0;
    for (const double time : longest) length += time < 0 ? 0.0 : time + opening;
    return length;
}

Array<std::int32_t> anneal_lengths(const Resources& resources, View<const double> duration, double opening,
                                   Array<std::int32_t> phase, View<const std::int32_t> first,
                                   View<const std::int32_t> second, const Annealing& annealing) {
    if (phase.empty()) return phase;
    const TransferOrder order(phase.size(), first, second);
    Annealer annealer(resources, duration, opening, std::move(phase), order, annealing.seed);
    return annealer.run(annealing, least_length(resources, duration, opening) * (1 + 1e-12));
}

}  // namespace conset
