// Bits: sets of small ids, 64 to a word.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

template <std::integral Id>
constexpr std::size_t word_of(Id id) {
    return as_size(id) / 64;
}

// The bit of an id in its word.
template <std::integral Id>
constexpr std::uint64_t bit_of(Id id) {
    return std::uint64_t{1} << (as_size(id) % 64);
}

}  // namespace conset
