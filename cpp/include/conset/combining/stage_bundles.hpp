// What the stages of paths send: everything that is at rank p before a stage and at q != p after it travels together.
// The bundles of all stages are one pattern, as conset/schedule/program.py chains them.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/rows.hpp"

namespace conset {

// Bundles are numbered by source, then stage, then target.
struct StageBundles {
    std::int32_t stages = 0;  // 0: there are none, every message goes directly
    Array<std::int32_t> source, target, stage;
    Array<std::int64_t> bytes;
    Array<std::uint8_t> packed;  // several messages are put together, and taken apart
    // Messages of each bundle in the order in which their bytes travel: by the rank where they are after the next
    // stage, then by target and source.
    Rows parts;
    Rows needs;  // bundles that bring what each one passes on, rising
    // Most that a rank packs, and holds beside its receive buffer, whatever its buffers are like [B].
    std::int64_t memory = 0;

    std::size_t size() const { return source.size(); }
};

// `positions` by stage, then message, as of `positions_along`. Time O(messages * stages * log(messages)).
StageBundles bundles_along(const Array<Array<std::int32_t>>& positions, std::int32_t ranks,
                           View<const std::int64_t> bytes);

}  // namespace conset
