#include "conset/scheduling/coloring.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

using Index = std::uint32_t;

// One edge: its row is where it stands, `right` the other end. Dummies that pad the graph have no message.
struct Slot {
    std::int32_t right, message;
};
constexpr std::int32_t kDummy = -1;

// Sender and receiver ports of one degree: rows[row * degree ... (row + 1) * degree) are the edges of a left end, and
// every right end has `degree` edges too.
struct RegularGraph {
    std::int32_t ends = 0, degree = 0;
    Array<Slot> slots;
};

// Next-fit: consecutive nodes share a bin while their degrees together stay within `degree`; two neighbouring bins
// hold more than `degree`, so that there are at most 2 * messages / degree + 1 of them. A colouring of the contracted
// graph is one of the graph.
std::int32_t contract(Array<std::int32_t>& node_degree, std::int32_t degree) {
    std::int32_t bin = 0, filled = 0;
    for (std::int32_t& entry : node_degree) {
        if (filled + entry > degree) {
            ++bin;
            filled = 0;
        }
        filled += entry;
        entry = bin;
    }
    return bin + 1;
}

// A regular multigraph that contains the messages: contracted nodes are its ends, dummy edges fill what is missing.
RegularGraph make_regular(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target) {
    Array<std::int32_t> left(static_cast<std::size_t>(nodes), 0), right(static_cast<std::size_t>(nodes), 0);
    for (std::size_t m = 0; m < source.size(); ++m) {
        if (source[m] == target[m]) continue;
        ++left[source[m]];
        ++right[target[m]];
    }
    RegularGraph graph;
    for (std::size_t v = 0; v < left.size(); ++v) graph.degree = std::max({graph.degree, left[v], right[v]});
    if (graph.degree == 0) return graph;
    graph.ends = std::max(contract(left, graph.degree), contract(right, graph.degree));
    const std::uint64_t slots = static_cast<std::uint64_t>(graph.ends) * static_cast<std::uint64_t>(graph.degree);
    if (slots >= std::numeric_limits<Index>::max()) throw std::length_error("coloring: more than 2^32 edges");
    graph.slots.assign(slots, {0, kDummy});
    Array<std::int32_t> row_size(static_cast<std::size_t>(graph.ends), 0), entering(row_size);
    for (std::size_t m = 0; m < source.size(); ++m) {
        if (source[m] == target[m]) continue;
        const std::int32_t row = left[source[m]], end = right[target[m]];
        graph.slots[cell(row, graph.degree, row_size[row]++)] = {end, static_cast<std::int32_t>(m)};
        ++entering[end];
    }
    std::int32_t end = 0;
    for (std::int32_t row = 0; row < graph.ends; ++row) {
        while (row_size[row] < graph.degree) {
            if (entering[end] == graph.degree) {
                ++end;
                continue;
            }
            graph.slots[cell(row, graph.degree, row_size[row]++)] = {end, kDummy};
            ++entering[end];
        }
    }
    return graph;
}

class Coloring {
public:
    Coloring(const RegularGraph& graph, View<std::int32_t> phase, std::uint64_t seed)
        : ends_(static_cast<Index>(graph.ends)),
          phase_(phase),
          random_(seed),
          partner_(graph.slots.size() + 1),
          last_(ends_),
          mate_(ends_),
          choice_(ends_) {}

    void run(RegularGraph& graph) {
        Array<Slot> spare(graph.slots.size());
        color(graph.slots.data(), spare.data(), static_cast<Index>(graph.degree), 0);
    }

private:
    // Gives the edges of a regular graph the colours `first` ... `first + degree - 1`; both buffers are used up.
    void color(Slot* slots, Slot* spare, Index degree, std::int32_t first) {
        if (degree == 0) return;
        poll_.count(std::size_t{ends_} * degree);
        if (degree == 1) {
            for (Index row = 0; row < ends_; ++row) paint(slots[row], first);
            return;
        }
        if (degree % 2 == 1) {
            take_matching(slots, degree, first);
            color(slots, spare, degree - 1, first + 1);
            return;
        }
        const Index half = ends_ * (degree / 2);
        pair_right_ends(slots, 2 * half);
        if (degree == 2) {
            walk_cycles(2 * half, [&](Index one, Index other) {
                paint(slots[one], first);
                paint(slots[other], first + 1);
            });
            return;
        }
        walk_cycles(2 * half, [&](Index one, Index other) {
            spare[one / 2] = slots[one];
            spare[half + one / 2] = slots[other];
        });
        color(spare, slots, degree / 2, first);
        color(spare + half, slots + half, degree / 2, first + static_cast<std::int32_t>(degree / 2));
    }

    void paint(const Slot& slot, std::int32_t color) {
        if (slot.message != kDummy) phase_[slot.message] = color;
    }

    // Pairs the edges of every right end: the first with the second it meets, the third with the fourth. Without a
    // branch: slot `count` takes what is written for edges that still wait for a partner.
    void pair_right_ends(const Slot* slots, Index count) {
        std::fill(last_.begin(), last_.end(), count);
        for (Index e = 0; e < count; ++e) {
            Index& last = last_[slots[e].right];
            const Index previous = last;
            partner_[e] = previous;
            partner_[previous] = e;
            last = previous == count ? e : count;
        }
    }

    // Edges 2k and 2k + 1 of a row are partners too, so both pairings together are cycles of even length: their edges
    // belong to either half in turn. Calls take(one, other) for every pair of a row, `one` being in the first half.
    template <class Take>
    void walk_cycles(Index count, Take&& take) {
        constexpr Index done = std::numeric_limits<Index>::max();
        for (Index start = 0; start < count; start += 2) {
            if (partner_[start] == done) continue;
            Index one = start;
            do {
                const Index other = one ^ 1U, next = partner_[other];
                partner_[one] = partner_[other] = done;
                take(one, other);
                one = next;
            } while (one != start);
        }
    }

    // Takes a perfect matching off a graph of odd degree and closes the rows up. The matched edge of a row is its last.
    void take_matching(Slot* slots, Index degree, std::int32_t color) {
        std::fill(mate_.begin(), mate_.end(), kFree);
        for (Index row = 0; row < ends_; ++row) {
            find_free_end(slots, degree, row);
            augment(slots, degree, row);
        }
        for (Index row = 0; row < ends_; ++row) {
            paint(slots[row * degree + degree - 1], color);
            std::copy_n(slots + row * degree, degree - 1, slots + row * (degree - 1));
        }
    }

    // Random walk from an unmatched row over unmatched edges forth and matched ones back, until a free right end.
    // choice_ keeps the last step out of every row: what follows it is the walk without its loops.
    void find_free_end(const Slot* slots, Index degree, Index row) {
        choice_[row] = random_.below(degree);
        for (;;) {
            row = mate_[slots[row * degree + choice_[row]].right];
            if (row == kFree) return;
            choice_[row] = random_.below(degree - 1);
        }
    }

    void augment(Slot* slots, Index degree, Index row) {
        while (row != kFree) {
            Slot& chosen = slots[row * degree + choice_[row]];
            const Index next = mate_[chosen.right];
            mate_[chosen.right] = row;
            std::swap(chosen, slots[row * degree + degree - 1]);
            row = next;
        }
    }

    static constexpr Index kFree = std::numeric_limits<Index>::max();

    StopPoll poll_;
    Index ends_;
    View<std::int32_t> phase_;
    Random random_;
    Array<Index> partner_, last_;  // of edges; of right ends
    Array<Index> mate_, choice_;   // of right ends; of rows
};

}  // namespace

Array<std::int32_t> color_ports(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target,
                                std::uint64_t seed) {
    Array<std::int32_t> phase(source.size(), 0);
    RegularGraph graph = make_regular(nodes, source, target);
    Coloring(graph, phase, seed).run(graph);
    return phase;
}

}  // namespace conset
