// Streams: max-min fair rates of the few messages whose bytes flow at one time, with weights that differ by resource.
//
// A stream uses resources (out, in, node, links), each by a weight: rate x takes weight * x of it. Max-min fair: every
// stream is *held* by a resource that is full and on which its rate is the largest, or by its own limit.
//
// Idea: a ripple. Only resources whose streams changed are looked at. Each has the rate at which it would fill: the
// root of sum w * min(x_f, x) = capacity, where streams it holds and undecided ones count as unlimited. In rising order
// every decision is final: a stream that falls gives its other resources room, so what they hold becomes undecided;
// where nothing changes the ripple stops. A stream's own limit is a resource of its own. Resources that could not be
// full even if every stream ran as if alone are left out. Compared with flow_sharing.hpp, weights differ by resource
// and change while bytes flow (exchanges), and a resource has few streams, so there is no second solver.
//
// Complexity of an event: resources touched times their streams. Memory: 72 bytes per open stream, 24 per use.
//
// Reference. Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2 (progressive filling).
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/flow/heap.hpp"

namespace conset {

class Streams {
public:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    struct Use {
        std::int32_t resource;
        std::int32_t position;  // among the resource's members
        double weight;
    };

    explicit Streams(Array<double> capacity);

    // Bytes of `message` flow from now on, at most at `limit`; `uses` hold resource and weight. Rates are right after
    // `solve`. Returns its slot, valid until it ends.
    std::int32_t add(std::int32_t message, View<const Use> uses, double limit, double bytes, double now);
    // What the stream in `slot` counts in resources first ... last - 1 from now on.
    void weigh(std::int32_t slot, std::int32_t first, std::int32_t last, double weight);
    // Whether a stream stands still from now on; a new one does not.
    void hold(std::int32_t slot, bool held);
    // When the next stream ends; drops entries of the past.
    double next_end();
    // The next stream that ends by `until` is taken out; its message, -1 where there is none.
    std::int32_t end_next(double until, double now);
    void solve(double now);

    bool is_held(std::int32_t slot) const { return streams_[slot].held; }
    bool is_open(std::int32_t slot, std::int32_t message) const { return streams_[slot].message == message; }
    double busy(std::int32_t resource) const { return resources_[resource].busy; }
    std::int64_t solves() const { return solves_; }
    // Streams of resources that were looked at.
    std::int64_t work() const { return work_; }
    // What holds a stream, or held the one that ended last there: a resource, -1 for its own limit.
    std::int32_t held_by(std::int32_t slot) const;
    template <class Visit>  // visit(message, rate): changes since the last call, where recorded
    void each_change(Visit&& visit) {
        for (const auto& [message, rate] : changes_) visit(message, rate);
        changes_.clear();
    }
    void record_changes() { recording_ = true; }

private:
    enum Mark : std::uint8_t { kKept, kUndecided, kDecided };
    struct Stream {
        std::int32_t message = -1;
        std::uint32_t version = 0;  // of its end
        double left = 0, rate = 0, since = 0, limit = 0;
        double level = 0;  // its rate while we solve
        std::int32_t held_by = -1;
        Mark mark = kKept;
        bool listed = false, held = false;
        Array<Use> uses;  // the last is its own limit
    };
    struct Resource {
        double capacity = 0, busy = 0, busy_since = 0;
        Array<std::pair<std::int32_t, std::int32_t>> members;  // (slot, which use)
    };
    using End = std::tuple<double, std::int32_t, std::uint32_t, std::int32_t>;  // time, message, version, slot

    void open_slot();
    double alone(const Stream& stream) const;
    void change(std::int32_t resource);
    void undecide(std::int32_t slot);
    void touch(std::int32_t resource);
    void touch_uses(const Stream& stream);
    void give_room(std::int32_t resource);
    void find_full();
    double fill_level(std::int32_t resource);
    void ripple();
    void decide(std::int32_t resource, double level);
    void settle(std::int32_t slot, double level, std::int32_t resource);
    void take_rates(double now);

    std::int32_t shared_ = 0;  // resources before the streams' own limits
    Array<Stream> streams_;
    Array<Resource> resources_;
    Array<char> over_, touched_flag_, changed_flag_, stale_;  // by resource
    FlowHeap by_level_;
    Array<std::int32_t> free_, fresh_, changed_, touched_, part_, scratch_;
    Array<std::pair<double, double>> below_;  // (weight, level) of streams held elsewhere
    Array<End> ends_;
    Array<std::pair<std::int32_t, double>> changes_;
    std::int64_t solves_ = 0, work_ = 0;
    bool recording_ = false;
};

}  // namespace conset
