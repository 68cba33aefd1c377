#include <algorithm>
#include <cmath>
#include <utility>

#include "conset/placement/placement.hpp"
#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {

Distances::Distances(const Network& network) : network_(network), endpoints_(network.endpoints()) {
    if (endpoints_ > kLargestTable) return;
    table_.resize(static_cast<std::size_t>(endpoints_) * static_cast<std::size_t>(endpoints_));
    std::size_t at = 0;
    for (std::int32_t u = 0; u < endpoints_; ++u)
        for (std::int32_t v = 0; v < endpoints_; ++v) table_[at++] = measure(u, v);
}

namespace {

class Annealing {
public:
    Annealing(const Network& network, const PatternGraph& out, const PatternGraph& in, Array<std::int32_t> node,
              std::int32_t ranks_per_node, std::uint64_t seed)
        : distance_(network), out_(out), in_(in), node_(std::move(node)), random_(seed) {
        const std::int32_t places = network.endpoints() * ranks_per_node;
        rank_at_.assign(as_size(places), kNobody);
        Array<std::int32_t> filled(as_size(network.endpoints()), 0);
        place_of_.resize(node_.size());
        for (std::size_t rank = 0; rank < node_.size(); ++rank) {
            place_of_[rank] = node_[rank] * ranks_per_node + filled[node_[rank]]++;
            rank_at_[place_of_[rank]] = static_cast<std::int32_t>(rank);
        }
        ranks_per_node_ = ranks_per_node;
    }

    // Temperature falls by a constant factor from level to level; the last level only takes what does not cost.
    Array<std::int32_t> run(std::int64_t steps) {
        Array<std::int32_t> best = node_;
        double best_cost = 0, cost = 0;  // relative to the start
        double temperature = typical_change();
        for (int level = 0; level < kLevels && temperature > 0; ++level, temperature *= kFactor) {
            if (stop_asked()) break;
            const double now = level == kLevels - 1 ? 0 : temperature;
            const std::int64_t share = steps * (level + 1) / kLevels - steps * level / kLevels;
            for (std::int64_t k = 0; k < share && (k % kPollInterval != 0 || !stop_asked()); ++k) cost += try_swap(now);
            if (cost < best_cost) {
                best_cost = cost;
                best = node_;
            }
        }
        return best;
    }

private:
    static constexpr std::int32_t kNobody = -1;
    static constexpr int kLevels = 128;
    static constexpr std::int64_t kPollInterval = 1 << 14;  // swaps between polls of the wish to stop
    static constexpr double kFactor = 0.982;                // 10 % is left after 128 levels

    struct Swap {
        std::int32_t place, other;
    };

    // Two places on different nodes, a rank on the first.
    Swap draw() {
        const auto ranks = static_cast<std::uint32_t>(place_of_.size());
        const std::int32_t place = place_of_[random_.below(ranks)];
        const auto other = static_cast<std::int32_t>(random_.below(rank_at_.size()));
        return {place, other};
    }

    // What moving `rank` to `node` adds to the cost, but for messages between it and `partner`.
    double change(std::int32_t rank, std::int32_t node, std::int32_t partner) const {
        const std::int32_t here = node_[rank];
        double sum = 0;
        out_.each(rank, [&](std::int32_t other, double weight) {
            if (other != partner) sum += weight * (distance_(node, node_[other]) - distance_(here, node_[other]));
        });
        in_.each(rank, [&](std::int32_t other, double weight) {
            if (other != partner) sum += weight * (distance_(node_[other], node) - distance_(node_[other], here));
        });
        return sum;
    }

    // Messages between two ranks that change places; nothing where both directions of every pair are as long.
    double change_between(std::int32_t rank, std::int32_t other) const {
        const std::int32_t u = node_[rank], v = node_[other];
        const double turned = distance_(v, u) - distance_(u, v);
        if (turned == 0) return 0;
        double sum = 0;
        out_.each(rank, [&](std::int32_t to, double weight) { sum += to == other ? weight * turned : 0; });
        in_.each(rank, [&](std::int32_t from, double weight) { sum -= from == other ? weight * turned : 0; });
        return sum;
    }

    double change(const Swap& swap) const {
        const std::int32_t rank = rank_at_[swap.place], other = rank_at_[swap.other];
        const std::int32_t here = swap.place / ranks_per_node_, there = swap.other / ranks_per_node_;
        double sum = change(rank, there, other);
        if (other != kNobody) sum += change(other, here, rank) + change_between(rank, other);
        return sum;
    }

    void apply(const Swap& swap) {
        std::swap(rank_at_[swap.place], rank_at_[swap.other]);
        for (const std::int32_t place : {swap.place, swap.other}) {
            if (rank_at_[place] == kNobody) continue;
            place_of_[rank_at_[place]] = place;
            node_[rank_at_[place]] = place / ranks_per_node_;
        }
    }

    double try_swap(double temperature) {
        const Swap swap = draw();
        const double threshold = temperature * (static_cast<double>(random_.next() >> 11U) * 0x1.0p-53);
        if (swap.place / ranks_per_node_ == swap.other / ranks_per_node_) return 0;
        const double added = change(swap);
        if (added > threshold) return 0;
        apply(swap);
        return added;
    }

    // The mean of what swaps change, from a few of them; 0 where none changes anything.
    double typical_change() {
        double sum = 0;
        std::int32_t count = 0;
        for (std::int32_t k = 0; k < 256; ++k) {
            const Swap swap = draw();
            if (swap.place / ranks_per_node_ == swap.other / ranks_per_node_) continue;
            const double added = std::abs(change(swap));
            sum += added;
            count += added > 0 ? 1 : 0;
        }
        return count > 0 ? sum / count : 0;
    }

    Distances distance_;
    const PatternGraph &out_, &in_;
    Array<std::int32_t> node_, place_of_, rank_at_;
    std::int32_t ranks_per_node_ = 1;
    Random random_;
};

}  // namespace

Array<std::int32_t> anneal_placement(const Network& network, const PatternGraph& out, const PatternGraph& in,
                                     Array<std::int32_t> node, std::int32_t ranks_per_node, std::int64_t steps,
                                     std::uint64_t seed) {
    if (node.empty()) return node;
    return Annealing(network, out, in, std::move(node), ranks_per_node, seed).run(steps);
}

}  // namespace conset
