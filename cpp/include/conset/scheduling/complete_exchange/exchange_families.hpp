// Exchange families: the ordered pairs of one side as permutations whose arcs are labelled, ready for the product.
//
// Problem: use every link of a path (or cycle) of n nodes equally while each ordered pair of nodes is served once.
//
// Factors, of blocks, each block of two types. Fold the side. On a path vertex u < h = floor(n/2) stands for the nodes
// u and u' = n-1-u, on a cycle for u and u' = u+h; where n is odd, vertex z is the node left over (path: h, cycle:
// n-1). For an edge {u, v}, u < v, of the complete graph on the vertices, the tile of type 0 is the cycle of nodes
// u -> v -> u' -> v' -> u, of type 1 its inverse; for {u, z}: u -> z -> u' -> u (path), u -> u' -> z -> u (cycle).
// Lemma, path: a tile puts exactly one message on every link between u and u', in each direction, and none elsewhere.
// Lemma, cycle: type 0 goes once round upwards, type 1 once round downwards, every hop a shortest path.
// The tiles of all edges cover every ordered pair except, for n even, the flips u <-> u' and the stays x -> x, for n
// odd the stays. A 1-factorization of the complete graph (circle method) makes disjoint edges, a factor, of them; an
// odd number of vertices leaves one vertex out of each factor.
//   n = 4m    factors of m tiles, and an identity factor on the pairs of the first: type 0: the smaller vertex (cycle:
//             the even one) flips and the other stays, type 1: the other way round.
//   n = 4m+2  h factors of m tiles and the vertex left out, as block 0: it stays in one type and flips in the other.
//   n = 4m+3  h factors of m+1 tiles; the stays belong to no factor.
//   n = 4m+1  h+1 factors of m tiles; the vertex left out stays, as type 0 of block 0.
// On a cycle flips are ties: under `parity` those of an even vertex go up, of an odd one down, which is what type 0 and
// 1 want.
//
// Families. Arcs of a permutation with one label share no link in either direction, so a permutation needs as many
// labels as it loads its busiest link.
//   folded, path: factor and type make a permutation; its blocks are the labels, in an order in which label k of a
//     factor meets only the labels k and k+1 of the factor before, so that products walked boustrophedon can be merged
//     in windows.
//   folded, cycle: a permutation takes every other block in type 0 (upwards) and the rest in type 1 (downwards): both
//     directions of the links work, ceil(blocks/2) labels.
//   full, path of 4m+1 nodes: the folded family has n+1 permutations that leave nodes out; here are n full ones of load
//     at most m+1. One arc x -> y is taken out of each of the n-1 permutations of the path of n-1 nodes, all sources
//     and targets distinct (`transversal.hpp`); the new middle node z goes into its place as x -> z -> y, which adds at
//     most 1 to any link; the arcs taken out and z -> z are the n-th permutation.
//   reflected, cycle of 4k+1 nodes: the reflections x -> a - x, n full permutations of load ceil((n-1)/4), for a side
//     that has links to spare. With 2c = a the nodes c + j and c - j change places: for small j across c, else across
//     the opposite link, so the arcs are two bundles of nested intervals that do not meet.
//
// Complexity: O(n^2) time and memory, the size of the tables.
// Reference: Bokhari, Nicol (1997), section 5; Scott (1991), both for factors of 4 | n on a path. The other sides, the
// cycles and the families are new.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "conset/array.hpp"

namespace conset {

// Where each ordered pair of a side is: the pair (x, y) has the entry x * side + y.
struct Factors {
    std::int32_t side;
    Array<std::int32_t> factor, block, type;  // factor -1: the stays where n = 4m+3
    std::int32_t count, blocks;               // factors; blocks of a factor, the vertex left out included

    // Whether the stays belong to no factor.
    bool has_identity() const { return side % 4 == 3; }
    // Whether block 0 of every factor is a vertex left out.
    bool leaves_one() const { return side % 4 == 1 || side % 4 == 2; }
};

// `ties_up`: vertices left out of a cycle always flip upwards.
Factors build_factors(std::int32_t side, bool cycle, bool ties_up = false);

// Ordered pairs as labelled permutations; entries as in `Factors`.
struct Family {
    std::int32_t side;
    Array<std::int32_t> permutation, label;
    Array<std::int32_t> load;    // labels of each permutation; 0 for the identity
    Array<std::int32_t> factor;  // of each permutation, rising: those of one factor have the same blocks

    std::int32_t count() const { return static_cast<std::int32_t>(load.size()); }
};

// The families of sides, each made when it is first asked for.
class Families {
public:
    explicit Families(std::uint64_t seed) : seed_(seed) {}
    // The folded one first, a full or reflected one after it where there is any.
    const Array<Family>& of(std::int32_t side, bool cycle);

private:
    std::uint64_t seed_;
    std::map<std::pair<std::int32_t, bool>, Array<Family>> made_;
};

}  // namespace conset
