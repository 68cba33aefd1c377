// Exchange box: a mesh or torus as the constructions of a complete exchange take it, with its lower bound.
//
// Bound: max(N - 1, ceil(largest link load / contention)) phases. Along an axis the busiest link carries N / side times
// what a complete exchange of one line puts on it. Path: all pairs across the middle. Cycle, h = side / 2: hops 1 + 2 +
// ... of one direction, and for an even side the ties, of which `parity` sends (h + 1) / 2 up over each link. Where
// ties depend on other lines (`checker`) it is the mean over the links, rounded up, which the busiest one does not
// undercut.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

namespace conset {

inline std::int32_t modulo(std::int32_t value, std::int32_t modulus) { return (value % modulus + modulus) % modulus; }

inline std::int64_t ceil_divide(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }

struct ExchangeBox {
    // `contention`: messages that a link may carry in a phase, its width counted. Throws std::invalid_argument where
    // the network is no box, the contention below 1, or 32 bits do not number the messages.
    ExchangeBox(Network box, std::int64_t contention);

    std::int32_t nodes() const { return network.nodes(); }
    std::int32_t messages() const { return nodes() * (nodes() - 1); }
    // The message from s to t.
    std::int32_t message(std::int32_t s, std::int32_t t) const { return s * (nodes() - 1) + t - (t > s ? 1 : 0); }
    std::int32_t source(std::int32_t message) const { return message / (nodes() - 1); }
    std::int32_t target(std::int32_t message) const {
        const std::int32_t rest = message % (nodes() - 1);
        return rest + (rest >= source(message) ? 1 : 0);
    }
    std::int32_t coordinate(std::int32_t node, std::int32_t axis) const { return node / strides[axis] % sides[axis]; }

    bool cycle(std::int32_t axis) const { return network.wraps() && sides[axis] > 2; }
    bool is_mesh() const;
    // Every side of more than 2 nodes is a cycle.
    bool is_torus() const;
    bool is_cube() const;  // all sides are equal
    bool is_square_mesh() const { return axes.size() == 2 && sides.size() == 2 && is_mesh() && is_cube(); }
    // Whether a hop may be half of a cycle.
    bool has_ties() const;
    // Messages on the busiest link along an axis.
    std::int64_t link_load(std::int32_t axis) const;

    Network network;
    Array<std::int32_t> sides, strides;
    std::int32_t contention;
    Array<std::int32_t> axes;  // dimensions of more than one node; the last one where there is none
    std::int32_t bound = 0;    // phases
};

}  // namespace conset
