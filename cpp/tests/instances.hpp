// Instances: patterns for the tests of methods, and what every schedule must keep.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "conset/array.hpp"
#include "conset/random.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset::testing_ {

using Ints = Array<std::int32_t>;

struct Pattern {
    Ints source, target;
};

inline Pattern all_to_all(std::int32_t nodes) {
    Pattern pattern;
    for (std::int32_t s = 0; s < nodes; ++s) {
        for (std::int32_t t = 0; t < nodes; ++t) {
            if (s == t) continue;
            pattern.source.push_back(s);
            pattern.target.push_back(t);
        }
    }
    return pattern;
}

// Any ends, the same ones several times and inside a node included.
inline Pattern random_pattern(std::int32_t nodes, std::size_t messages, std::uint64_t seed) {
    Random random(seed);
    Pattern pattern;
    for (std::size_t m = 0; m < messages; ++m) {
        pattern.source.push_back(static_cast<std::int32_t>(random.below(nodes)));
        pattern.target.push_back(static_cast<std::int32_t>(random.below(nodes)));
    }
    return pattern;
}

inline std::int32_t phases(const Ints& phase) {
    return phase.empty() ? 0 : *std::max_element(phase.begin(), phase.end()) + 1;
}

inline void expect_within_limits(const Resources& resources, const Ints& phase) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> use;
    for (std::size_t k = 0; k < phase.size(); ++k)
        resources.each(k, [&](std::int32_t resource) { ++use[{phase[k], resource}]; });
    for (const auto& [key, count] : use) EXPECT_LE(count, resources.capacity(key.second)) << "phase " << key.first;
}

inline void expect_exchanges(const Pattern& pattern, const Ints& phase) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::set<std::int32_t>> sends, receives;
    for (std::size_t k = 0; k < phase.size(); ++k) {
        if (pattern.source[k] == pattern.target[k]) continue;
        sends[{phase[k], pattern.source[k]}].insert(pattern.target[k]);
        receives[{phase[k], pattern.target[k]}].insert(pattern.source[k]);
    }
    for (auto& [key, partners] : sends) {
        const auto back = receives.find(key);
        if (back == receives.end()) continue;
        partners.insert(back->second.begin(), back->second.end());
        EXPECT_EQ(partners.size(), 1U) << "phase " << key.first << " node " << key.second;
    }
}

}  // namespace conset::testing_
