#include "conset/scheduling/connections.hpp"

#include <algorithm>

#include "conset/rows.hpp"

namespace conset {

OutLinks::OutLinks(const Wiring& wiring) : link(wiring.source.size()) {
    offsets = fill_rows<std::int32_t>(
        as_size(wiring.nodes), wiring.source.size(),
        [&](std::size_t l) { return wiring.source[l] != wiring.target[l] ? wiring.source[l] : -1; },
        [&](std::int32_t at, std::size_t l) { link[at] = static_cast<std::int32_t>(l); });
    link.resize(as_size(offsets.back()));
}

HopTable::HopTable(const Wiring& wiring, View<const std::int32_t> targets) : row_(as_size(wiring.nodes), -1) {
    Array<std::int32_t> in_source(wiring.source.size()), queue;
    const Array<std::int32_t> in_offsets = fill_rows<std::int32_t>(
        row_.size(), wiring.source.size(),
        [&](std::size_t l) { return wiring.source[l] != wiring.target[l] ? wiring.target[l] : -1; },
        [&](std::int32_t at, std::size_t l) { in_source[at] = wiring.source[l]; });
    std::int32_t rows = 0;
    for (const std::int32_t t : targets)
        if (row_[t] < 0) row_[t] = rows++;
    hops_.assign(as_size(rows) * row_.size(), kUnreachable);
    for (std::int32_t t = 0; t < wiring.nodes; ++t) {
        if (row_[t] < 0) continue;
        std::uint16_t* const hops = hops_.data() + cell(row_[t], row_.size(), 0);
        hops[t] = 0;
        queue.assign(1, t);
        for (std::size_t k = 0; k < queue.size(); ++k) {
            const std::int32_t v = queue[k];
            for (std::int32_t at = in_offsets[v]; at < in_offsets[v + 1]; ++at) {
                const std::int32_t u = in_source[at];
                if (hops[u] != kUnreachable) continue;
                hops[u] = static_cast<std::uint16_t>(hops[v] + 1);
                queue.push_back(u);
            }
        }
    }
}

}  // namespace conset
