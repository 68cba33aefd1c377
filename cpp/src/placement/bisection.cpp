#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "conset/placement/placement.hpp"
#include "conset/random.hpp"

namespace conset {

namespace {

// One part of the network and the ranks (and empty places) it is to hold, cut in two. Sides: 0 low, 1 high.
class Cut {
public:
    // `pull[side][i]`: the cost of vertex i on that side through what lies outside; `apart`: the distance of the sides.
    Cut(std::size_t size, std::size_t low_size, double apart) : low_size_(low_size), apart_(apart), link_(size) {
        pull_[0].assign(size, 0);
        pull_[1].assign(size, 0);
    }

    void join(std::int32_t i, std::int32_t j, double weight) { link_[i].emplace_back(j, weight); }
    void pull(std::int32_t i, int side, double cost) { pull_[side][i] += cost; }
    std::size_t size() const { return link_.size(); }

    // Improves a division by passes of pairwise moves; returns its cost.
    double refine(Array<std::uint8_t>& side) const {
        double cost = evaluate(side);
        for (int pass = 0; pass < kPasses; ++pass) {
            const double gained = run_pass(side);
            if (gained <= 0) break;
            cost -= gained;
        }
        return cost;
    }

    // Low: the first vertices of a list.
    Array<std::uint8_t> divide(const Array<std::int32_t>& list) const {
        Array<std::uint8_t> side(size(), 1);
        for (std::size_t k = 0; k < low_size_; ++k) side[list[k]] = 0;
        return side;
    }

    // Vertices from the one most drawn to the low side to the one least.
    Array<std::int32_t> list_by_pull() const {
        Array<std::int32_t> list = list_all();
        std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
            return pull_[0][a] - pull_[1][a] < pull_[0][b] - pull_[1][b];
        });
        return list;
    }

    Array<std::int32_t> list_all() const {
        Array<std::int32_t> list(size());
        for (std::size_t k = 0; k < list.size(); ++k) list[k] = static_cast<std::int32_t>(k);
        return list;
    }

    // Grown from a vertex: always the one most strongly joined to those already there.
    Array<std::int32_t> list_grown(std::int32_t start) const {
        Array<double> strength(size(), 0);
        Array<std::uint8_t> taken(size(), 0);
        std::priority_queue<std::pair<double, std::int32_t>> next;
        Array<std::int32_t> list;
        const auto take = [&](std::int32_t i) {
            taken[i] = 1;
            list.push_back(i);
            for (const auto& [j, weight] : link_[i])
                if (taken[j] == 0) next.emplace(strength[j] += weight, -j);
        };
        take(start);
        for (std::int32_t other = 0; list.size() < size();) {
            if (next.empty()) {
                while (taken[other] != 0) ++other;
                take(other);
                continue;
            }
            const std::int32_t j = -next.top().second;
            next.pop();
            if (taken[j] == 0) take(j);
        }
        return list;
    }

private:
    static constexpr int kPasses = 8;
    static constexpr int kPatience = 64;  // pairs of moves without a new best before a pass ends

    double evaluate(const Array<std::uint8_t>& side) const {
        double twice = 0, pulled = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            pulled += pull_[side[i]][i];
            for (const auto& [j, weight] : link_[i]) twice += side[i] != side[j] ? weight : 0;
        }
        return pulled + apart_ * twice / 2;
    }

    // Kernighan and Lin's pass in Fiduccia and Mattheyses' manner: the best move from low to high, then the best back,
    // each vertex once; what follows the best moment is undone. Sizes are exact after every pair.
    double run_pass(Array<std::uint8_t>& side) const {
        Array<double> gain(size(), 0);
        Array<std::uint8_t> moved(size(), 0);
        std::priority_queue<std::pair<double, std::int32_t>> best[2];
        for (std::size_t i = 0; i < size(); ++i) {
            gain[i] = pull_[side[i]][i] - pull_[1 - side[i]][i];
            for (const auto& [j, weight] : link_[i]) gain[i] += side[i] != side[j] ? apart_ * weight : -apart_ * weight;
            best[side[i]].emplace(gain[i], -static_cast<std::int32_t>(i));
        }
        Array<std::int32_t> moves;
        double gained = 0, most = 0;
        std::size_t keep = 0;
        for (int idle = 0; idle < kPatience; ++idle) {
            bool done = false;
            for (const int from : {0, 1}) {
                const std::int32_t i = pop(best[from], gain, moved);
                if (i < 0) {
                    done = true;
                    break;
                }
                gained += gain[i];
                moved[i] = 1;
                side[i] = static_cast<std::uint8_t>(1 - from);
                moves.push_back(i);
                for (const auto& [j, weight] : link_[i]) {
                    gain[j] += (side[j] == from ? 2 : -2) * apart_ * weight;
                    if (moved[j] == 0) best[side[j]].emplace(gain[j], -j);
                }
            }
            if (done) break;
            if (gained > most + 1e-9 * apart_) {
                most = gained;
                keep = moves.size();
                idle = -1;
            }
        }
        for (std::size_t k = keep; k < moves.size(); ++k) side[moves[k]] ^= 1U;
        return most;
    }

    static std::int32_t pop(std::priority_queue<std::pair<double, std::int32_t>>& queue, const Array<double>& gain,
                            const Array<std::uint8_t>& moved) {
        while (!queue.empty()) {
            const auto [value, negative] = queue.top();
            queue.pop();
            if (moved[-negative] == 0 && gain[-negative] == value) return -negative;
        }
        return -1;
    }

    std::size_t low_size_;
    double apart_;
    Array<double> pull_[2];
    Array<Array<std::pair<std::int32_t, double>>> link_;
};

constexpr int kGrown = 4;

// The best division of several starts: as they stand, as the outside pulls, grown from a few vertices.
Array<std::uint8_t> divide_best(const Cut& cut, Random& random) {
    Array<Array<std::int32_t>> starts{cut.list_all(), cut.list_by_pull()};
    for (int k = 0; k < kGrown; ++k)
        starts.push_back(cut.list_grown(static_cast<std::int32_t>(random.below(cut.size()))));
    Array<std::uint8_t> best;
    double least = std::numeric_limits<double>::infinity();
    for (const Array<std::int32_t>& start : starts) {
        Array<std::uint8_t> side = cut.divide(start);
        const double cost = cut.refine(side);
        if (cost < least) {
            least = cost;
            best = std::move(side);
        }
    }
    return best;
}

}  // namespace

Array<std::int32_t> bisect_placement(const Network& network, const PatternGraph& graph, const NetworkCuts& cuts,
                                     std::int32_t ranks_per_node, std::uint64_t seed) {
    const auto& [order, low, middle, high] = cuts;
    const Distances distance(network);
    const std::int32_t ranks = graph.ranks();
    const std::size_t places = order.size() * static_cast<std::size_t>(ranks_per_node);
    Array<std::int32_t> at(places);  // vertex on each place, in the order of nodes; those from `ranks` on are empty
    for (std::size_t k = 0; k < places; ++k) at[k] = static_cast<std::int32_t>(k);
    Array<std::int32_t> center(places, order.empty() ? 0 : order[order.size() / 2]), local(places, -1);
    Random random(seed);
    for (std::size_t part = 0; part < low.size(); ++part) {
        const auto begin = static_cast<std::size_t>(low[part] * ranks_per_node);
        const auto end = static_cast<std::size_t>(high[part] * ranks_per_node);
        const auto low_size = static_cast<std::size_t>((middle[part] - low[part]) * ranks_per_node);
        const std::int32_t centers[2] = {order[(low[part] + middle[part]) / 2], order[(middle[part] + high[part]) / 2]};
        const double apart = (distance(centers[0], centers[1]) + distance(centers[1], centers[0])) / 2.0;
        Cut cut(end - begin, low_size, apart);
        for (std::size_t k = begin; k < end; ++k) local[at[k]] = static_cast<std::int32_t>(k - begin);
        for (std::size_t k = begin; k < end; ++k) {
            if (at[k] >= ranks) continue;
            const auto i = static_cast<std::int32_t>(k - begin);
            graph.each(at[k], [&](std::int32_t other, double weight) {
                if (local[other] >= 0) {
                    cut.join(i, local[other], weight);
                } else {
                    for (const int side : {0, 1}) cut.pull(i, side, weight * distance(centers[side], center[other]));
                }
            });
        }
        const Array<std::uint8_t> side = divide_best(cut, random);
        const Array<std::int32_t> before(at.begin() + static_cast<std::ptrdiff_t>(begin),
                                         at.begin() + static_cast<std::ptrdiff_t>(end));
        std::size_t next[2] = {begin, begin + low_size};
        for (std::size_t i = 0; i < before.size(); ++i) {
            local[before[i]] = -1;
            center[before[i]] = centers[side[i]];
            at[next[side[i]]++] = before[i];
        }
    }
    Array<std::int32_t> node(static_cast<std::size_t>(ranks), 0);
    for (std::size_t k = 0; k < places; ++k)
        if (at[k] < ranks) node[at[k]] = order[k / static_cast<std::size_t>(ranks_per_node)];
    return node;
}

}  // namespace conset
