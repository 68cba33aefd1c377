#include "conset/combining/merge.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>

#include "conset/combining/bundle_table.hpp"
#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

using Content = BundleTable::Content;

constexpr std::int32_t kNone = BundleTable::kNone;
constexpr double kLeastGain = 1e-15;  // seconds; sums of costs differ by less

// What slots would hold after a step, and what that changes. At most five slots: the bundle, two legs, and where the
// legs were before.
class Step {
public:
    explicit Step(const BundleTable& table) : table_(table) {}

    void clear() { count_ = 0; }
    void set(std::int32_t slot, const Content& content) { changes_[count_++] = {slot, content}; }

    // Change of the sum of all work [s].
    double total() {
        double sum = 0;
        for (std::size_t k = 0; k < count_; ++k) {
            const auto& [slot, after] = changes_[k];
            const Content& before = table_.content(slot);
            if (after.parts > 0) sum += table_.send_s(after) + table_.receive_s(after);
            if (before.parts > 0) sum -= table_.send_s(before) + table_.receive_s(before);
        }
        return sum + setups();
    }

    // Whether no turn that grows ends above the limit.
    bool keeps(double limit) {
        turns_.clear();
        for (std::size_t k = 0; k < count_; ++k) {
            const auto& [slot, after] = changes_[k];
            book(slot, table_.content(slot), -1);
            book(slot, after, 1);
        }
        book_setups();
        for (const Turn& each : turns_)
            if (each.added > kLeastGain && table_.load(each.rank, each.turn) + each.added > limit + kLeastGain)
                return false;
        return true;
    }

private:
    struct Change {
        std::int32_t slot;
        Content after;
    };
    struct Turn {
        std::int32_t rank, turn;
        double added;
    };
    struct End {
        std::int32_t rank, stage, more;
    };

    void add(std::int32_t rank, std::int32_t turn, double seconds) {
        for (Turn& each : turns_)
            if (each.rank == rank && each.turn == turn) {
                each.added += seconds;
                return;
            }
        turns_.push_back({rank, turn, seconds});
    }

    void book(std::int32_t slot, const Content& content, double sign) {
        if (content.parts == 0) return;
        const std::int32_t pair = table_.pair_of(slot), stage = table_.stage_of(slot);
        add(table_.source(pair), stage, sign * table_.send_s(content));
        add(table_.target(pair), table_.receive_turn(stage, content), sign * table_.receive_s(content));
    }

    // each(rank, stage, set-ups more) for every rank that begins or ends to take part in a stage.
    template <class Each>
    void each_setup(Each&& each) {
        if (table_.costs().setup_s == 0) return;
        ends_.clear();
        for (std::size_t k = 0; k < count_; ++k) {
            const auto& [slot, after] = changes_[k];
            const std::int32_t more = (after.parts > 0 ? 1 : 0) - (table_.holds(slot) ? 1 : 0);
            const std::int32_t pair = table_.pair_of(slot), stage = table_.stage_of(slot);
            if (more == 0) continue;
            ends_.push_back({table_.source(pair), stage, more});
            ends_.push_back({table_.target(pair), stage, more});
        }
        for (std::size_t k = 0; k < ends_.size(); ++k) {
            const auto same = [&](const End& end) { return end.rank == ends_[k].rank && end.stage == ends_[k].stage; };
            if (std::find_if(ends_.begin(), ends_.end(), same) - ends_.begin() != static_cast<std::ptrdiff_t>(k))
                continue;
            std::int32_t after = table_.touching(ends_[k].rank, ends_[k].stage);
            const bool before = after > 0;
            for (const End& end : ends_) after += same(end) ? end.more : 0;
            if (before != (after > 0)) each(ends_[k].rank, ends_[k].stage, before ? -1 : 1);
        }
    }

    double setups() {
        std::int32_t sum = 0;
        each_setup([&](std::int32_t, std::int32_t, std::int32_t more) { sum += more; });
        return sum * table_.costs().setup_s;
    }

    void book_setups() {
        each_setup([&](std::int32_t rank, std::int32_t stage, std::int32_t more) {
            add(rank, stage, more * table_.costs().setup_s);
        });
    }

    const BundleTable& table_;
    std::array<Change, 5> changes_{};
    std::size_t count_ = 0;
    Array<Turn> turns_;
    Array<End> ends_;
};

class Merge {
public:
    Merge(BundleTable& table, const MergeLimits& limits)
        : table_(table), limits_(limits), step_(table), random_(limits.seed) {}

    bool run() {
        for (std::int32_t pass = 0; pass < limits_.passes; ++pass) {
            bool changed = false;
            for (const std::int32_t rank : busiest_first()) {
                if (stop_asked()) return true;
                changed |= visit(rank);
            }
            if (!changed) break;
        }
        return false;
    }

private:
    // A leg of a relay: the slot it will be in, and where its bundle is now.
    struct Leg {
        std::int32_t slot = kNone, now = kNone;
    };
    struct Relay {
        Leg first, second;
        double total = -kLeastGain;
    };

    Array<std::int32_t> busiest_first() {
        Array<double> peak(as_size(table_.ranks()));
        for (std::int32_t rank = 0; rank < table_.ranks(); ++rank) peak[rank] = table_.peak(rank);
        Array<std::int32_t> order(peak.size());
        std::iota(order.begin(), order.end(), 0);
        if (limits_.seed != 0) random_.shuffle(std::span(order));
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return peak[a] > peak[b]; });
        return order;
    }

    // The bundles that a rank sends, the smallest first.
    bool visit(std::int32_t rank) {
        Array<std::int32_t> slots;
        for (const std::int32_t pair : table_.from(rank))
            for (std::int32_t stage = 0; stage < table_.stages() && table_.alive(pair); ++stage)
                if (table_.holds(table_.slot(pair, stage))) slots.push_back(table_.slot(pair, stage));
        std::stable_sort(slots.begin(), slots.end(), [&](std::int32_t a, std::int32_t b) {
            return table_.content(a).bytes < table_.content(b).bytes;
        });
        bool changed = false;
        for (const std::int32_t slot : slots)
            if (table_.holds(slot) && table_.content(slot).bytes <= limits_.max_size)
                changed |= try_retime(slot) || try_relay(slot);
        return changed;
    }

    double limit(std::int32_t pair) const {
        return std::max({limits_.turn_s, table_.peak(table_.source(pair)), table_.peak(table_.target(pair))});
    }

    bool try_retime(std::int32_t slot) {
        const std::int32_t pair = table_.pair_of(slot);
        const auto [first, end] = table_.window(slot);
        std::int32_t best = kNone;
        double least = -kLeastGain;
        for (std::int32_t stage = first; stage < end; ++stage) {
            const std::int32_t other = table_.slot(pair, stage);
            if (other == slot || !table_.holds(other)) continue;
            step_.clear();
            step_.set(slot, {});
            step_.set(other, table_.content(other) + table_.content(slot));
            const double total = step_.total();
            if (total >= least || !step_.keeps(limit(pair))) continue;
            least = total;
            best = other;
        }
        if (best == kNone) return false;
        table_.retime(slot, best);
        return true;
    }

    bool try_relay(std::int32_t slot) {
        const std::int32_t pair = table_.pair_of(slot), p = table_.source(pair), q = table_.target(pair);
        const auto window = table_.window(slot);
        if (window.end - window.first < 2) return false;
        const double highest = limit(pair);
        Relay best;
        const View<const std::int32_t> from = table_.from(p), to = table_.to(q);
        if (from.size() <= to.size()) {
            for (const std::int32_t first : from)
                if (table_.alive(first) && table_.target(first) != q)
                    price(slot, window, first, table_.find(table_.target(first), q), highest, best);
        } else {
            for (const std::int32_t second : to)
                if (table_.alive(second) && table_.source(second) != p)
                    price(slot, window, table_.find(p, table_.source(second)), second, highest, best);
        }
        if (best.first.slot == kNone) return false;
        for (const Leg& leg : {best.first, best.second})
            if (leg.now != leg.slot) table_.retime(leg.now, leg.slot);
        table_.relay(slot, best.first.slot, best.second.slot);
        return true;
    }

    // All pairs of stages for a relay; `best` becomes the cheapest.
    void price(std::int32_t slot, BundleTable::Window window, std::int32_t first, std::int32_t second, double highest,
               Relay& best) {
        if (first == kNone || second == kNone || !table_.alive(first) || !table_.alive(second)) return;
        for (std::int32_t j = window.first; j + 1 < window.end; ++j) {
            const Leg one = leg(first, j);
            if (one.now == kNone) continue;
            for (std::int32_t i = j + 1; i < window.end; ++i) {
                const Leg two = leg(second, i);
                if (two.now == kNone) continue;
                const double total = priced(slot, one, two);
                if (total < best.total && step_.keeps(highest)) best = {one, two, total};
            }
        }
    }

    // A bundle of this pair in this stage, or one that can be moved there.
    Leg leg(std::int32_t pair, std::int32_t stage) {
        const std::int32_t wanted = table_.slot(pair, stage);
        if (table_.holds(wanted)) return {wanted, wanted};
        for (std::int32_t other = 0; other < table_.stages(); ++other) {
            const std::int32_t now = table_.slot(pair, other);
            if (!table_.holds(now)) continue;
            const auto [first, end] = table_.window(now);
            if (first <= stage && stage < end) return {wanted, now};
        }
        return {};
    }

    double priced(std::int32_t slot, const Leg& first, const Leg& second) {
        const Content& moved = table_.content(slot);
        step_.clear();
        step_.set(slot, {});
        for (const Leg& leg : {first, second})
            if (leg.now != leg.slot) step_.set(leg.now, {});
        Content forwarded = moved;
        forwarded.forwarded = moved.parts;
        step_.set(first.slot, table_.content(first.now) + forwarded);
        step_.set(second.slot, table_.content(second.now) + moved);
        return step_.total();
    }

    BundleTable& table_;
    MergeLimits limits_;
    Step step_;
    Random random_;
};

}  // namespace

MergedPaths merge_bundles(View<const std::int32_t> positions, std::int32_t stages, View<const std::int64_t> size,
                          std::int32_t ranks, const BundleCosts& costs, const MergeLimits& limits) {
    BundleTable table(positions, stages, size, ranks, costs);
    const bool stopped = Merge(table, limits).run();
    return {table.positions(positions), stopped};
}

}  // namespace conset
