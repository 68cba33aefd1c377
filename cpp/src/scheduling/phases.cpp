#include "conset/scheduling/phases.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "conset/random.hpp"

namespace conset {

Phases group_phases(View<const std::int32_t> phase) {
    Phases result;
    std::int32_t count = 0;
    for (const std::int32_t p : phase) count = std::max(count, p + 1);
    Array<std::int64_t> next(static_cast<std::size_t>(count), 0);
    for (const std::int32_t p : phase) ++next[p];
    result.offsets.push_back(0);
    for (std::int64_t& entry : next) {
        const std::int64_t size = entry;
        entry = result.offsets.back();
        if (size > 0) result.offsets.push_back(entry + size);
    }
    result.message.resize(phase.size());
    for (std::size_t m = 0; m < phase.size(); ++m) result.message[next[phase[m]]++] = static_cast<std::int32_t>(m);
    return result;
}

Array<std::int32_t> phase_of_messages(const Phases& phases) {
    Array<std::int32_t> phase(phases.message.size());
    for (std::int32_t p = 0; as_size(p) + 1 < phases.offsets.size(); ++p)
        for (std::int64_t k = phases.offsets[p]; k < phases.offsets[p + 1]; ++k) phase[phases.message[k]] = p;
    return phase;
}

namespace {

// The node as far up from node 0 in every dimension as message m goes, modulo the sides.
std::int64_t displacement(const Posted& messages, std::int32_t m) {
    std::int64_t node = 0, stride = 1;
    std::int32_t source = messages.source_node[m], target = messages.target_node[m];
    for (std::size_t k = messages.sides.size(); k-- > 0;) {
        const std::int32_t side = messages.sides[k], up = target % side - source % side;
        node += (up < 0 ? up + side : up) * stride;
        stride *= side;
        source /= side;
        target /= side;
    }
    return node;
}

}  // namespace

Array<std::int32_t> order_messages(const Posted& messages, std::string_view order, std::uint64_t seed) {
    Array<std::int32_t> listed(messages.source.size()), drawn;
    std::iota(listed.begin(), listed.end(), 0);
    if (order == "random") {
        drawn = listed;
        Random(seed).shuffle(std::span(drawn));
    }
    using Key = std::array<std::int64_t, 3>;
    const auto key_of = [&](std::int32_t m) -> Key {
        const std::int64_t source = messages.source[m], target = messages.target[m];
        const std::int64_t distance = target >= source ? target - source : target - source + messages.ranks;
        if (order == "ascending") return {source, target, 0};
        if (order == "rotated") return {source, distance, 0};
        if (order == "random") return {source, drawn[m], 0};
        if (order == "longest-first") return {source, -messages.size[messages.size.size() == 1 ? 0 : m], distance};
        if (order == "pairwise") return {source ^ target, source, 0};
        if (order == "dimension") return {displacement(messages, m), source, 0};
        return {m, 0, 0};
    };
    Array<Key> key;
    key.reserve(listed.size());
    for (const std::int32_t m : listed) key.push_back(key_of(m));
    std::stable_sort(listed.begin(), listed.end(), [&](std::int32_t a, std::int32_t b) { return key[a] < key[b]; });
    return listed;
}

}  // namespace conset
