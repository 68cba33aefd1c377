// FlowTable: the flows that are open, what they take, and what has changed; what the two solvers of `Sharing` share.
//
// Service. What a flow has got is counted in bytes per unit of weight: where flows share one level, one count serves
// them all, and each keeps only the count at which it ends. A change of level then changes one `ServiceClock`, not its
// flows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "conset/array.hpp"

namespace conset {

// A level over time, and the service it has given until `since`.
struct ServiceClock {
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    static constexpr double kSame = 1e-12;  // levels nearer than this (relative) are one
    static constexpr double kKeep = 1e-11;  // levels that would change by less stay

    double level = 0;  // rate / weight
    double given = 0;
    double since = 0;

    double service(double now) const { return given + level * (now - since); }
    double end(double at_service) const { return level > 0 ? since + (at_service - given) / level : kNever; }
    // From now on at another level; whether it is another one.
    bool change(double to, double now) {
        if (std::abs(to - level) <= kKeep * level) return false;
        given = service(now);
        since = now;
        level = to;
        return true;
    }
};

struct FlowTable {
    static constexpr double kNever = ServiceClock::kNever;

    struct Flow {
        double key = 0;     // the service at which its next member ends, by the count of its clock
        double weight = 1;  // of one member
        std::int32_t first = -1;
        std::int32_t members = 0;  // 0: closed
        std::int32_t held_by = -1;
        std::int32_t route = 0;  // where `FlowWatch` keeps the resources it looks at
        std::int32_t hops = 0;   // how many these are
        float cap = 0;           // a level it does not pass
        double total() const { return weight * members; }
    };
    struct Change {  // members came to or left a flow that rates know of
        std::int32_t flow;
        double weight;  // by how much its weight in all grew
        bool closed;
    };
    // The resources of a member into the vector, which comes empty: the same for all members of a flow.
    using RouteOf = std::function<void(std::int32_t member, Array<std::int32_t>& route)>;

    FlowTable(Array<double> capacities, RouteOf routes)
        : fixed(static_cast<std::int32_t>(capacities.size())),
          capacity(std::move(capacities)),
          carried(capacity.size(), 0),
          route_of(std::move(routes)) {}

    std::int32_t fixed;           // resources before those of limited flows
    Array<double> capacity;       // of each resource; from `fixed` on: of flow k - fixed alone
    Array<std::int32_t> carried;  // open flows of each resource
    Array<Flow> flows;
    Array<double> limit;              // by flow: what one member can take; empty where nothing limits
    Array<std::int32_t> opened;       // flows that rates do not know yet, whose keys count from 0, and
    Array<Change> changed;            // changes of others, since the last solve
    Array<std::int32_t> dead, spare;  // closed flows that a solver's lists may name, or not any more
    std::int64_t open = 0;            // flows
    std::int64_t work = 0;            // flows of resources that were looked at
    RouteOf route_of;
    bool recording = false;
    Array<std::int32_t> recorded;  // flows whose rate has changed

    void grow(std::size_t resources) {
        capacity.resize(std::max(capacity.size(), resources), 0);
        carried.resize(capacity.size(), 0);
    }

    double limit_of(std::int32_t f) const { return static_cast<std::size_t>(f) < limit.size() ? limit[f] : kNever; }

    template <class Visit>  // visit(resource) for all that a flow takes
    void each_resource(std::int32_t f, Visit&& visit) {
        if (member_ != flows[f].first) {
            route_.clear();
            route_of(flows[f].first, route_);
            member_ = flows[f].first;
        }
        for (const std::int32_t r : route_) visit(r);
        if (limit_of(f) < kNever) visit(fixed + f);
    }

    // The resources of a member, which are taken; the vector comes back with others.
    void set_route(std::int32_t member, Array<std::int32_t>& route) {
        route_.swap(route);
        member_ = member;
    }

    template <class Visit>
    void each_flow(Visit&& visit) {
        for (std::size_t f = 0; f < flows.size(); ++f)
            if (flows[f].members > 0) visit(static_cast<std::int32_t>(f));
    }

    // A solver's lists have forgotten closed flows.
    void spare_dead() {
        spare.insert(spare.end(), dead.begin(), dead.end());
        dead.clear();
    }
    // Whether closed flows take more room than open ones.
    bool needs_compaction() const { return dead.size() > static_cast<std::size_t>(open) + 256; }

    void note(std::int32_t f) {
        if (recording) recorded.push_back(f);
    }

private:
    Array<std::int32_t> route_;  // of the member that was last asked for
    std::int32_t member_ = -1;
};

}  // namespace conset
