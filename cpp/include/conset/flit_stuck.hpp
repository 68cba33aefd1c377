// Who waits for whom, where nothing moves any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "conset/flit_gate.hpp"
#include "conset/flit_parts.hpp"
#include "conset/flit_router.hpp"
#include "conset/flit_worms.hpp"

namespace conset {

// From the first message that is not delivered to what it waits for, until one comes twice: that circle, or the whole
// chain where it ends. `blocking(m)` is the message that one on its way waits for, or -1.
template <class Blocking>
std::vector<std::int32_t> find_circle(const FlitTimes& times, const FlitGate& gate, Blocking&& blocking) {
    std::vector<std::int32_t> chain;
    auto m = static_cast<std::int32_t>(std::find(times.end.begin(), times.end.end(), -1) - times.end.begin());
    for (;;) {
        const auto seen = std::find(chain.begin(), chain.end(), m);
        if (seen != chain.end()) return {seen, chain.end()};
        chain.push_back(m);
        m = times.start[m] < 0 ? gate.blocker(m, times.end) : blocking(m);
        if (m < 0) return chain;
    }
}

// The message of another worm that holds, or stands in, a lane that message m needs next; -1 where there is none.
template <class Shape>
std::int32_t blocking_worm(std::int32_t m, const Shape& shape, const std::vector<FlitRouter<Shape>>& routers,
                           const std::vector<FlitFar>& ahead, const FlitWorms& worms) {
    using Router = FlitRouter<Shape>;
    const std::uint32_t lanes = shape.lanes(), ports = shape.ports();
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
                if (other != m) return other;
                continue;
            }
            for (std::uint32_t o = 0; o < ports; ++o) {  // it asks for one: who holds those of its output?
                if (((router.asked[o][0] | router.asked[o][1]) >> in & 1U) == 0) continue;
                for (auto holders = router.held[o]; holders != 0;) {
                    const std::int32_t other = message(router, pop_bit(holders));
                    if (other != m) return other;
                }
            }
        }
    }
    return -1;
}

}  // namespace conset
