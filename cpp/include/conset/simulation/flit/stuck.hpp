// Who waits for whom, where nothing moves any more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/simulation/flit/flit.hpp"
#include "conset/simulation/flit/parts.hpp"
#include "conset/simulation/flit/router.hpp"
#include "conset/simulation/flit/worms.hpp"

namespace conset {

// What a message waits for: another one's delivery, or a lane of an output that the other holds or fills.
struct FlitWait {
    std::int32_t message = -1;
    std::int32_t lane = -1;  // among all lanes of all routers
};

// From the first message that is not delivered to what it waits for, until one comes twice: that cycle, or the whole
// chain where it ends. `waits_for(m)` says what one waits for.
template <class WaitsFor>
WaitCycle find_cycle(const FlitTimes& times, WaitsFor&& waits_for) {
    WaitCycle cycle;
    auto m = static_cast<std::int32_t>(std::find(times.end.begin(), times.end.end(), -1) - times.end.begin());
    while (m >= 0) {
        const auto seen = std::find(cycle.message.begin(), cycle.message.end(), m);
        if (seen != cycle.message.end()) {
            cycle.place.erase(cycle.place.begin(), cycle.place.begin() + (seen - cycle.message.begin()));
            cycle.message.erase(cycle.message.begin(), seen);
            break;
        }
        const FlitWait wait = waits_for(m);
        cycle.message.push_back(m);
        cycle.place.push_back(wait.lane);
        m = wait.message;
    }
    return cycle;
}

// The lane that message m needs next, and the message of another worm that holds it or stands in it.
template <class Shape>
FlitWait blocking_worm(std::int32_t m, const Shape& shape, const Array<FlitRouter<Shape>>& routers,
                       const Array<FlitFar>& ahead, const FlitWorms& worms) {
    using Router = FlitRouter<Shape>;
    const std::uint32_t lanes = shape.lanes(), ports = shape.ports();
    const auto number = [&](std::uint32_t r, std::uint32_t out) {
        return static_cast<std::int32_t>(r * ports * lanes + out);
    };
    const auto message = [&](const Router& router, std::uint32_t in) { return worms[router.worm[in]].message; };
    for (std::uint32_t r = 0; r < routers.size(); ++r) {
        const Router& router = routers[r];
        for (auto filled = router.filled; filled != 0;) {
            const std::uint32_t in = pop_bit(filled);
            if (message(router, in) != m) continue;
            if (router.out[in] != Router::none) {  // it holds a lane: whose flits fill it?
                const std::uint32_t o = router.out[in] / lanes;
                if (o + 1 == ports) continue;
                const FlitFar far = ahead[r * ports + o];
                const std::int32_t other = message(routers[far.box], far.lane + router.out[in] % lanes);
                if (other != m) return {other, number(r, router.out[in])};
                continue;
            }
            for (std::uint32_t o = 0; o < ports; ++o) {  // it asks for one: who holds those of its output?
                if (((router.asked[o][0] | router.asked[o][1]) >> in & 1U) == 0) continue;
                for (auto holders = router.held[o]; holders != 0;) {
                    const std::uint32_t holder = pop_bit(holders);
                    const std::int32_t other = message(router, holder);
                    if (other != m) return {other, number(r, router.out[holder])};
                }
            }
        }
    }
    return {};
}

}  // namespace conset
