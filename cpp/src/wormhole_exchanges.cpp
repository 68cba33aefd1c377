#include <algorithm>
#include <tuple>

#include "conset/wormhole.hpp"

namespace conset {

std::vector<std::int32_t> exchange_partners(const Routes& routes, const Messages& messages) {
    using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool, std::int32_t>;
    std::vector<Key> keys;
    std::int32_t phase = 0;
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(messages.size()); ++m) {
        while (m >= messages.phase_offsets[phase + 1]) ++phase;
        const std::int32_t s = routes.source[m], t = routes.target[m];
        if (s != t) keys.emplace_back(phase, std::min(s, t), std::max(s, t), s > t, m);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::int32_t> partner(messages.size(), -1);
    const auto pair_of = [&](std::size_t k) {
        return std::tuple(std::get<0>(keys[k]), std::get<1>(keys[k]), std::get<2>(keys[k]));
    };
    for (std::size_t first = 0; first < keys.size();) {
        std::size_t back = first, last = first;
        for (; last < keys.size() && pair_of(last) == pair_of(first); ++last)
            if (!std::get<3>(keys[last])) back = last + 1;
        for (std::size_t k = 0; first + k < back && back + k < last; ++k) {
            const std::int32_t a = std::get<4>(keys[first + k]), b = std::get<4>(keys[back + k]);
            partner[a] = b;
            partner[b] = a;
        }
        first = last;
    }
    return partner;
}

}  // namespace conset
