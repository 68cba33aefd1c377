// Random: a small generator whose numbers are the same on every platform; std distributions are not.
//
// Splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, doi:10.1145/2660193.2660195).
#pragma once

#include <cstdint>
#include <utility>

#include "conset/array.hpp"

namespace conset {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    // A number from 0 to n - 1; n must be from 1 to 2^32 - 1. Its bias, below n / 2^32, does not matter to a search.
    std::uint32_t below(std::integral auto n) {
        return static_cast<std::uint32_t>(((next() >> 32U) * static_cast<std::uint32_t>(n)) >> 32U);
    }

    // A multiple of 2^-53 from 0 to below 1.
    double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

    template <class T>
    void shuffle(std::span<T> values) {
        for (std::size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[below(k)]);
    }

private:
    std::uint64_t state_;
};

}  // namespace conset
