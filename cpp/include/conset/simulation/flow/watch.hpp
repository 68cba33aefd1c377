// FlowWatch: which resources can fill at all; the others need no look while rates are solved.
//
// Idea. Every flow has a *cap*, a level it is known not to pass. A resource whose flows would take at most its capacity
// at their caps, sum w * cap <= capacity, cannot fill and limits nobody: it need not be watched. Rates are solved over
// the watched ones alone. A flow that came out above its cap gets a higher one; where a resource that nobody watches
// could now fill, it is watched too and rates are solved again: as cuts are added to a linear program, and as exact.
// Under random traffic a tenth of all resources fill, and a flow crosses three of them instead of eighteen.
//
// Caps lie a little above levels, so that most solves pass none; the closer they lie, the fewer resources are watched.
//
// Complexity. A pass over all routes where something new must be watched: one solve in a hundred under random traffic.
// Memory: 8 bytes per watched hop of a flow, 13 per resource.
#pragma once

#include <cstdint>
#include <memory>

#include "conset/array.hpp"
#include "conset/simulation/flow/table.hpp"

namespace conset {

class FlowWatch {
public:
    // `clocks`: of the flows that a resource holds, by resource.
    FlowWatch(FlowTable& table, const Array<ServiceClock>& clocks) : table_(table), clocks_(clocks) {}

    // Takes over all open flows; `level_of(f)` is 0 for those that have none yet. `leave` forgets them.
    template <class LevelOf>
    void begin(LevelOf&& level_of) {
        fresh_ = true;
        all_ = table_.capacity.size() <= kFew;
        table_.each_flow([&](std::int32_t f) { table_.flows[f].cap = cap_over(level_of(f)); });
    }
    void leave();

    // Before a solve: takes in `opened` and `changed` of the table. Whether what is watched is not what it was.
    bool update();

    // After a solve: whether other resources are watched now, so that it must be done again.
    bool extend();

    // To be told of flows that are above their cap.
    void pass(std::int32_t f) {
        if (!all_) passed_.push_back(f);
    }

    // Watched resources have numbers of their own: those on a flow's route, and the flows of one, closed ones among
    // them.
    std::size_t size() const { return watched_.size(); }
    std::int32_t resource(std::integral auto w) const { return watched_[w]; }
    View<const std::int32_t> hops(const FlowTable::Flow& flow) const {
        return {hops_.data() + flow.route, static_cast<std::size_t>(flow.hops)};
    }
    View<const std::int32_t> flows(std::size_t w) const {
        return {entries_.data() + starts_[w], static_cast<std::size_t>(counts_[w])};
    }

private:
    // At least so many numbers, not set to anything: what is not used takes no memory.
    class Numbers {
    public:
        void make(std::size_t size) {
            if (size <= size_) return;
            release();
            size_ = 2 * size;
            numbers_ = std::make_unique_for_overwrite<std::int32_t[]>(size_);
        }
        void release() {
            numbers_.reset();
            size_ = 0;
        }
        std::int32_t* data() { return numbers_.get(); }
        const std::int32_t* data() const { return numbers_.get(); }
        std::size_t size() const { return size_; }

    private:
        std::unique_ptr<std::int32_t[]> numbers_;
        std::size_t size_ = 0;
    };

    void grow();
    bool attach(std::int32_t f);
    void add_to_bound(std::int32_t f, double rate);
    void rebuild();
    void set_caps();
    void choose();
    void make_room();
    bool list_flows();
    std::int32_t busiest(std::int32_t f);

    // A cap over the level it is made for.
    static float cap_over(double level) { return static_cast<float>(kRoom * level); }

    static constexpr std::size_t kFew = 1024;  // so many resources are all watched: cheaper than to choose among them
    static constexpr double kRoom = 1.005;
    static constexpr double kClose = 0.95;  // a bound over the capacity from which on a resource is watched

    FlowTable& table_;
    const Array<ServiceClock>& clocks_;
    Array<double> bound_;          // by resource: what its flows would take at their caps
    Array<std::int32_t> place_;    // by resource: its number among the watched, or -1
    Array<char> must_;             // by resource: watched until rates are solved, whatever its bound
    Array<std::int32_t> watched_;  // resources
    Numbers hops_;                 // routes of flows, one after the other
    std::size_t hops_used_ = 0;
    Numbers entries_;             // flows of watched resources
    Array<std::int64_t> starts_;  // of each one's list there, and the end of the last
    Array<std::int32_t> counts_;  // how many are in it
    Array<std::int32_t> found_;
    Array<std::int32_t> passed_;
    bool fresh_ = true;   // nothing is known yet
    bool all_ = false;    // every resource is watched, whatever caps say
    bool short_ = false;  // something else must be watched,
    bool again_ = false;  // not for the first time in this event
};

}  // namespace conset
