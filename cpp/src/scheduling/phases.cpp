#include "conset/scheduling/phases.hpp"

#include <algorithm>

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

}  // namespace conset
