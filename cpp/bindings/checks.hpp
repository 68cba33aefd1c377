// What crosses the border must fit together: lengths that agree, offsets that rise, ids in range. Looked at once, in
// O(entries), before the core is entered, which checks nothing. What does not fit throws std::invalid_argument, a
// ValueError in Python that names the argument, the rule and both numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "conset/network/routes.hpp"

namespace conset::bindings {

inline void require(bool fine, const char* what, const char* rule) {
    if (!fine) throw std::invalid_argument(std::string(what) + ": " + rule);
}

inline void check_size(const char* what, std::size_t given, std::size_t required) {
    if (given != required)
        throw std::invalid_argument(std::string(what) + ": " + std::to_string(required) + " entries required, given " +
                                    std::to_string(given));
}

// One entry for each, or a single one for all.
inline void check_each(const char* what, std::size_t given, std::size_t required) {
    if (given != 1) check_size(what, given, required);
}

// One entry for each, a single one for all, or none.
inline void check_each_or_none(const char* what, std::size_t given, std::size_t required) {
    if (given != 0) check_each(what, given, required);
}

inline void check_count(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
        throw std::invalid_argument(std::string(what) + " = " + std::to_string(value) + ": must be from " +
                                    std::to_string(low) + " to " + std::to_string(high));
}

template <class T>
void check_ids(const char* what, View<const T> ids, std::int64_t below, std::int64_t from = 0) {
    T low = 0, high = 0;
    for (const T id : ids) {
        low = std::min(low, id);
        high = std::max(high, id);
    }
    if (!ids.empty() && (low < from || high >= below)) {
        std::size_t k = 0;
        while (k < ids.size() && ids[k] >= from && ids[k] < below) ++k;
        if (k < ids.size()) check_count(what, ids[k], from, below - 1);
    }
}

// Rises from 0 to `end` in any number of steps.
inline void check_rise(const char* what, View<const std::int64_t> offsets, std::size_t end) {
    require(!offsets.empty() && offsets.front() == 0, what, "must begin with 0");
    require(std::is_sorted(offsets.begin(), offsets.end()), what, "must rise");
    if (static_cast<std::size_t>(offsets.back()) != end)
        throw std::invalid_argument(std::string(what) + ": must rise to " + std::to_string(end) + ", ends at " +
                                    std::to_string(offsets.back()));
}

inline void check_offsets(const char* what, View<const std::int64_t> offsets, std::size_t rows, std::size_t end) {
    check_size(what, offsets.size(), rows + 1);
    check_rise(what, offsets, end);
}

inline void check_ends(const Network& network, View<const std::int32_t> source, View<const std::int32_t> target) {
    check_size("target", target.size(), source.size());
    check_ids("source", source, network.starts());
    check_ids("target", target, network.endpoints());
}

// Transfers with their routes: a compiler's where there are any, else the network's own.
inline Routes checked_routes(const Network& network, View<const std::int32_t> source, View<const std::int32_t> target,
                             View<const std::int64_t> offsets = {}, View<const std::int32_t> links = {}) {
    check_ends(network, source, target);
    if (!offsets.empty() || !links.empty()) {
        check_offsets("route_offsets", offsets, source.size(), links.size());
        check_ids("route_links", links, network.link_slots());
    }
    return {network, source, target, offsets, links};
}

// By link slot, or a single entry for all.
inline void check_width(const Network& network, View<const std::int32_t> width) {
    check_each("width", width.size(), static_cast<std::size_t>(network.link_slots()));
    check_ids("width", width, std::int64_t{1} << 31, 1);
}

// Phases over `count` transfers, and batches of them.
inline void check_phases(View<const std::int64_t> phases, View<const std::int64_t> batches, std::size_t count) {
    check_rise("phase_offsets", phases, count);
    check_rise("batch_offsets", batches, phases.size() - 1);
}

// Pairs of transfers, the first of which comes before the second.
inline void check_pairs(View<const std::int32_t> first, View<const std::int32_t> second, std::size_t count) {
    check_size("second", second.size(), first.size());
    check_ids("first", first, static_cast<std::int64_t>(count));
    check_ids("second", second, static_cast<std::int64_t>(count));
}

// Every one of `count` once.
inline void check_permutation(const char* what, View<const std::int32_t> order, std::size_t count) {
    check_size(what, order.size(), count);
    check_ids(what, order, static_cast<std::int64_t>(count));
    Array<bool> seen(count);
    for (const std::int32_t k : order) seen[static_cast<std::size_t>(k)] = true;
    require(std::find(seen.begin(), seen.end(), false) == seen.end(), what, "must name every one once");
}

// Groups are numbered from 0, none is empty.
inline void check_dense(const char* what, View<const std::int32_t> group) {
    check_ids(what, group, static_cast<std::int64_t>(group.size()));
    Array<bool> seen(group.empty() ? 0 : static_cast<std::size_t>(*std::max_element(group.begin(), group.end())) + 1);
    for (const std::int32_t g : group) seen[static_cast<std::size_t>(g)] = true;
    require(std::find(seen.begin(), seen.end(), false) == seen.end(), what, "a group without any entry");
}

// Rates: numbers of at least 0, infinite where there is no limit.
inline void check_numbers(const char* what, View<const double> values) {
    for (const double value : values) require(value >= 0, what, "numbers of at least 0 required");
}

// Amounts of `count` transfers, one of each or a single one for all: at least 0, and so that all add up.
inline void check_amounts(const char* what, View<const std::int64_t> values, std::size_t count) {
    check_each(what, values.size(), count);
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    const std::int64_t times = values.size() == count ? 1 : std::max<std::int64_t>(1, static_cast<std::int64_t>(count));
    for (const std::int64_t value : values) {
        check_count(what, value, 0, left / times);
        left -= value * times;
    }
}

// Times, work, sizes: numbers of at least 0 that can be added up.
inline void check_finite(const char* what, View<const double> values) {
    for (const double value : values)
        require(value >= 0 && value <= std::numeric_limits<double>::max(), what,
                "finite numbers of at least 0 required");
}

}  // namespace conset::bindings
