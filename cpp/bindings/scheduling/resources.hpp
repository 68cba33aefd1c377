// Resources of transfers that are checked: what the methods' bindings begin with.
#pragma once

#include "checks.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset::bindings {

inline Resources checked_resources(const Network& network, const In<std::int32_t>& source,
                                   const In<std::int32_t>& target, const In<std::int32_t>& width, const Limits& limits,
                                   View<const std::int64_t> offsets = {}, View<const std::int32_t> links = {}) {
    check_width(network, view(width));
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    check_count("send", limits.send, 0, most);
    check_count("receive", limits.receive, 0, most);
    check_count("link", limits.link, 0, most);
    check_count("channels", limits.channels, 0, most);
    return {checked_routes(network, view(source), view(target), offsets, links), view(width), limits};
}

// Phases that keep all limits, as the searches that improve them expect; ordered transfers stand in that order.
inline void check_kept(const Resources& resources, View<const std::int32_t> phase, View<const std::int32_t> first = {},
                       View<const std::int32_t> second = {}) {
    check_size("phase", phase.size(), resources.routes().size());
    check_dense("phase", phase);
    Array<std::pair<std::int32_t, std::int32_t>> uses;
    for (std::size_t k = 0; k < phase.size(); ++k)
        resources.each(k, [&](std::int32_t resource) { uses.emplace_back(resource, phase[k]); });
    std::sort(uses.begin(), uses.end());
    std::int64_t run = 0;
    for (std::size_t k = 0; k < uses.size(); ++k) {
        run = k > 0 && uses[k] == uses[k - 1] ? run + 1 : 1;
        require(run <= resources.capacity(uses[k].first), "phase", "must keep the limits");
    }
    for (std::size_t k = 0; k < first.size(); ++k)
        require(phase[static_cast<std::size_t>(first[k])] < phase[static_cast<std::size_t>(second[k])], "phase",
                "must keep the order");
}

}  // namespace conset::bindings
