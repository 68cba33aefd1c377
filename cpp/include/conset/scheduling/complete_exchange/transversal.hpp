// Transversal: one arc from each permutation of a Latin square, all sources and targets distinct, of small load.
//
// Problem. Given n permutations that take each x to each y once (symbol[x][y] is the permutation), find a permutation
// x -> target[x] with distinct symbols whose arcs, drawn on a path of n nodes, load no link more than `most` times in
// either direction.
// Idea. Ejection: give a random free source the target that throws out the fewest arcs (the holder of the target, the
// holder of the symbol) within the load; what is thrown out may not come back for a few moves. With one hole left whose
// symbol is taken no move helps, so a random arc is thrown out first.
// Start: u -> u+1 on the left half and back on the right half, where all symbols differ but the identity's.
// Complexity. O(n) a move; some hundreds of n moves in practice. Empty where it does not end within 2000 n moves.
// Deterministic in the seed. Reference: none; tabu search with ejection chains.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

Array<std::int32_t> find_transversal(std::int32_t n, View<const std::int32_t> symbol, std::int32_t most,
                                     std::uint64_t seed);

}  // namespace conset
