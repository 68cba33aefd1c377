// What stages of bundles cost, without an event in time (conset/methods/paths/evaluate.py): processors, ports and links
// are served in order, stage by stage. Of a route the link counts that carries most in the stage.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/combining/stage_bundles.hpp"
#include "conset/network/routes.hpp"
#include "conset/prediction/formula.hpp"

namespace conset {

struct StageEstimate {
    double time_s = 0;                 // until the last rank has all that is sent to it
    double work_s = 0, busiest_s = 0;  // of all processors together, of the busiest: overheads, packing, set-ups
    Array<double> stage_s{};           // how much later the last rank is done after each stage; together `time_s`
    std::int64_t bundles = 0, bytes = 0;
};

class StageClock {
public:
    // Bundles of one stage between ranks.
    struct Stage {
        View<const std::int32_t> source, target;
        View<const std::int64_t> bytes;
        View<const std::uint8_t> packed;     // put together from several parts; empty: none is
        View<const std::int64_t> parts;      // of each; empty where parts cost nothing
        View<const std::uint8_t> forwarded;  // whether a part goes on in a later stage

        std::size_t size() const { return source.size(); }
    };

    // `node` of each rank; a rank receives when it has sent where it has `one_processor`; work of `part_s` for each
    // part that is packed or taken apart. Costs and network must outlive it.
    StageClock(const Network& network, View<const std::int32_t> node, const MessageCosts& costs, bool one_processor,
               double part_s);

    void run(const Stage& stage);
    // Takes what ends at each rank; `run` leaves it for the end.
    void finish();

    // All of it, from the beginning, where parts cost nothing.
    StageEstimate estimate(const StageBundles& stages);

    std::int64_t ranks() const { return static_cast<std::int64_t>(node_.size()); }
    // When the last rank is done with all it has begun.
    double now() const;
    // Of all processors together, of the busiest.
    double work() const;
    double busiest() const;

private:
    struct Arrival {
        std::int32_t rank;
        double time, cost;
    };
    struct Costs;

    void set_up(const Stage& stage);
    void send(const Stage& stage, const Costs& each, Array<double>& done);
    void travel(const Stage& stage, const Costs& each, Array<double>& done);
    void cross(const Stage& stage, const Array<std::int32_t>& leaving, View<const double> sent, Array<double>& there);
    void receive(Array<Arrival> arrivals);

    const Network& network_;
    Array<std::int32_t> node_;
    const MessageCosts& costs_;
    bool one_processor_;
    double part_s_;
    bool shared_ = false;                           // whether ranks share a node
    Array<double> sender_, receiver_, work_;        // by rank: when its processors are free, what they did
    Array<double> out_free_, in_free_, link_free_;  // by node, by link
    Array<Arrival> kept_;
};

}  // namespace conset
