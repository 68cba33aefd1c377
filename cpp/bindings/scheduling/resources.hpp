// Resources of transfers that are checked: what the methods' bindings begin with.
#pragma once

#include "checks.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset::bindings {

// Transfers with what they take of limits; keeps the arrays it looks at.
class BoundResources {
public:
    BoundResources(const Network& network, In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> width,
                   const Limits& limits, In<std::int64_t> route_offsets, In<std::int32_t> route_links)
        : source_(source),
          target_(target),
          width_(width),
          route_links_(route_links),
          route_offsets_(route_offsets),
          resources_(checked(network, limits)) {}

    const Resources& operator*() const { return resources_; }
    std::size_t size() const { return source_.shape(0); }

private:
    Resources checked(const Network& network, const Limits& limits) const {
        check_width(network, view(width_));
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        check_count("send", limits.send, 0, most);
        check_count("receive", limits.receive, 0, most);
        check_count("link", limits.link, 0, most);
        check_count("channels", limits.channels, 0, most);
        return {checked_routes(network, view(source_), view(target_), view(route_offsets_), view(route_links_)),
                view(width_), limits};
    }

    In<std::int32_t> source_, target_, width_, route_links_;
    In<std::int64_t> route_offsets_;
    Resources resources_;
};

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
