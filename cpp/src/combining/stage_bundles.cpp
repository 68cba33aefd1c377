#include "conset/combining/stage_bundles.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace conset {

namespace {

// Messages that a stage moves, by where they are and go, then in the order in which they travel.
Array<std::int32_t> moved(const Array<Array<std::int32_t>>& positions, std::size_t stage) {
    const Array<std::int32_t>&here = positions[stage], &there = positions[stage + 1], &end = positions.back();
    const Array<std::int32_t>& after = positions[std::min(stage + 2, positions.size() - 1)];
    Array<std::int32_t> order;
    for (std::size_t m = 0; m < here.size(); ++m)
        if (here[m] != there[m]) order.push_back(static_cast<std::int32_t>(m));
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return std::tuple(here[a], there[a], after[a], end[a], a) < std::tuple(here[b], there[b], after[b], end[b], b);
    });
    return order;
}

// Appends a row.
void add_row(Rows& rows, View<const std::int32_t> items) {
    if (rows.empty()) rows.offsets.push_back(0);
    rows.items.insert(rows.items.end(), items.begin(), items.end());
    rows.offsets.push_back(static_cast<std::int64_t>(rows.items.size()));
}

// Which bundle passes on what which other one brought.
void find_needs(StageBundles& found, const Array<std::int32_t>& by_stage, std::size_t messages) {
    Array<std::int32_t> brought(messages, -1);
    Array<Array<std::int32_t>> needs(found.size());
    for (const std::int32_t bundle : by_stage) {
        for (const std::int32_t m : found.parts.of(bundle)) {
            if (brought[m] >= 0) needs[bundle].push_back(brought[m]);
            brought[m] = bundle;
        }
        std::sort(needs[bundle].begin(), needs[bundle].end());
        needs[bundle].erase(std::unique(needs[bundle].begin(), needs[bundle].end()), needs[bundle].end());
    }
    for (const Array<std::int32_t>& each : needs) add_row(found.needs, each);
}

// Packed bundles, and arrivals that are no single message at its end.
std::int64_t most_memory(const StageBundles& found, std::int32_t ranks, std::size_t messages) {
    Array<std::int32_t> last(messages, -1);  // stage in which each message moves
    const auto bundles = static_cast<std::int32_t>(found.size());
    for (std::int32_t b = 0; b < bundles; ++b)
        for (const std::int32_t m : found.parts.of(b)) last[m] = std::max(last[m], found.stage[b]);
    Array<std::int64_t> used(as_size(ranks), 0);
    for (std::int32_t b = 0; b < bundles; ++b) {
        const bool packed = found.packed[b] != 0;
        if (packed) used[found.source[b]] += found.bytes[b];
        if (packed || last[found.parts.of(b)[0]] > found.stage[b]) used[found.target[b]] += found.bytes[b];
    }
    return used.empty() ? 0 : *std::max_element(used.begin(), used.end());
}

}  // namespace

StageBundles bundles_along(const Array<Array<std::int32_t>>& positions, std::int32_t ranks,
                           View<const std::int64_t> bytes) {
    struct Run {
        std::int32_t source, target, stage;
        View<const std::int32_t> parts;
    };
    StageBundles found;
    found.stages = static_cast<std::int32_t>(positions.size()) - 1;
    Array<Array<std::int32_t>> order;
    std::vector<Run> runs;
    for (std::int32_t stage = 0; stage < found.stages; ++stage) order.push_back(moved(positions, as_size(stage)));
    for (std::int32_t stage = 0; stage < found.stages; ++stage) {
        const Array<std::int32_t>&here = positions[stage], &there = positions[stage + 1], &all = order[stage];
        for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
            const std::int32_t p = here[all[begin]], q = there[all[begin]];
            for (end = begin; end < all.size() && here[all[end]] == p && there[all[end]] == q; ++end) {
            }
            runs.push_back({p, q, stage, View<const std::int32_t>(all).subspan(begin, end - begin)});
        }
    }
    Array<std::int32_t> number(runs.size()), by_stage(runs.size());
    std::iota(number.begin(), number.end(), 0);
    std::stable_sort(number.begin(), number.end(),
                     [&](std::int32_t a, std::int32_t b) { return runs[as_size(a)].source < runs[as_size(b)].source; });
    for (std::size_t b = 0; b < number.size(); ++b) {
        const Run& run = runs[as_size(number[b])];
        by_stage[number[b]] = static_cast<std::int32_t>(b);
        found.source.push_back(run.source);
        found.target.push_back(run.target);
        found.stage.push_back(run.stage);
        found.packed.push_back(run.parts.size() > 1 ? 1 : 0);
        std::int64_t total = 0;
        for (const std::int32_t m : run.parts) total += bytes[m];
        found.bytes.push_back(total);
        add_row(found.parts, run.parts);
    }
    find_needs(found, by_stage, bytes.size());
    found.memory = most_memory(found, ranks, bytes.size());
    return found;
}

}  // namespace conset
