// The closed-form complete exchange of an n x n mesh, n = 4m: who sends to whom at which step, without tables or
// search.
//
// Problem. Every node sends one message to every other one, rows first along the row (XY), at most one message on any
// link in any step; merged into phases of c steps, at most one send and one receive per node in any phase.
//
// Idea. Fold a side: vertex u < h = n/2 stands for nodes u and n-1-u. An edge {u,v} of the complete graph K_h gives two
// 4-cycles of nodes ("tiles"), u v u' v' and its inverse, each of which loads every link between u and u' exactly once
// in each direction. A 1-factorization of K_h (circle method, m pairs per factor) and an identity factor, in which one
// vertex of each pair flips and the other stays, cover every ordered pair of nodes of a side once: h factors, 2 types.
// In the product of a column factor pf and a row factor qf, a step takes for each row pair the one column pair whose
// labels add to a constant: one tile in every row and one in every target column.
//
// Order. Factor pairs are walked boustrophedon and labels chosen so that label k of a factor meets only labels k, k+1
// of the one before; then any window of at most m-1 steps, and any aligned run of m, repeats no sender and no receiver.
//
// Guarantee. n^3/4 steps; ceil(n^3/4c) phases at link contention c for every c <= n/4, which is the bisection bound.
//
// Complexity. O(1) per node and step forward, O(1) per pair backward, nothing stored.
//
// Reference. S. H. Bokhari, D. M. Nicol, Balancing contention and synchronization on the Intel Paragon (1997), section
// 5, after D. S. Scott, Efficient all-to-all communication patterns in hypercube and mesh topologies (1991). Departure:
// the order and the labels, which make every c possible and not only those that divide n/4.
#pragma once

#include <cstdint>
#include <vector>

#include "conset/scheduling/phases.hpp"

namespace conset {

class SquareExchange {
public:
    explicit SquareExchange(std::int32_t side);  // a positive multiple of 4

    std::int64_t steps() const { return std::int64_t{n_} * n_ * h_ / 2; }

    // The node that `node` sends to at `step`: itself where its own message is due, -1 where it is idle.
    std::int32_t partner(std::int32_t node, std::int64_t step) const;

    // The step at which `source` sends to `target`.
    std::int64_t step(std::int32_t source, std::int32_t target) const;

    // All messages in order of their steps, `contention` steps in a phase: the message from s to t has the index
    // s (n^2-1) + t - (t > s). Time O(messages), sequential writes.
    Phases phases(std::int32_t contention) const;

private:
    struct Group {  // a step number, taken apart
        std::int32_t slot, column_type, row_type, column_factor, row_factor;
    };
    struct Block {  // the four arcs of a pair of vertices: node from[i] sends to node to[i]
        std::int32_t from[4], to[4];
    };

    Group group_of(std::int64_t step) const;
    std::int32_t rotation(std::int32_t row_factor, std::int32_t turn) const;
    std::int32_t pair_index(std::int32_t factor, std::int32_t vertex) const;
    std::int32_t other(std::int32_t factor, std::int32_t vertex) const;
    std::int32_t label(std::int32_t factor, std::int32_t node) const;
    std::int32_t move(std::int32_t factor, std::int32_t type, std::int32_t node) const;
    Block block(std::int32_t factor, std::int32_t type, std::int32_t label) const;
    void arc(std::int32_t x, std::int32_t y, std::int32_t& factor, std::int32_t& type) const;

    std::int32_t fold(std::int32_t x) const { return x < h_ ? x : n_ - 1 - x; }
    static std::int32_t modulo(std::int32_t value, std::int32_t modulus) {
        return (value % modulus + modulus) % modulus;
    }

    std::int32_t n_, h_, m_, q_;  // side, vertices, pairs per factor, modulus of the circle method
};

}  // namespace conset
