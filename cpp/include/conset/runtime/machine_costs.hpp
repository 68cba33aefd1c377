// Costs of a machine, as conset/machine/costs.py has them; what is for people, for a question or for other models is
// left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "conset/array.hpp"
#include "conset/execution/rank_plan.hpp"

namespace conset {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A cost that changes with the size of a message: seconds[k] holds up to and including up_to[k] bytes, of which the
// last is infinite.
struct CostSteps {
    Array<double> up_to{kUnlimited}, seconds{0.0};

    double at(double size) const { return seconds[std::lower_bound(up_to.begin(), up_to.end(), size) - up_to.begin()]; }
    bool free() const {
        return std::all_of(seconds.begin(), seconds.end(), [](double time) { return time == 0; });
    }
};

CostSteps operator+(const CostSteps& one, const CostSteps& other);

enum class CostModel : std::uint8_t { flow, wormhole, circuit };
enum class ProcessorKind : std::uint8_t { one, two, shared };

// Times in seconds, rates in bytes a second (infinite: no limit), sizes in bytes.
struct MachineCosts {
    CostModel model = CostModel::flow;
    CostSteps send_overhead, receive_overhead, inject, eject, hop;
    double port_out = kUnlimited, port_in = kUnlimited, node = kUnlimited, link = kUnlimited, copy = kUnlimited;
    double exchange_weight = 1;
    Array<SyncKind> exchange_syncs;                                           // where exchanges count
    double barrier = 0, setup = 0, signal = 0, per_transfer = 0, jitter = 0;  // a barrier of all endpoints
    double startup = 0;
    double blocking = 0;
    double eager = -1, buffers = kUnlimited;  // below 0: no threshold
    std::int64_t tolerance = 1, lanes = 1;
    std::int64_t in_flight = 0, receives = 0, outstanding_receives = 0;  // 0: all
    ProcessorKind processors = ProcessorKind::two;
    bool first_barrier = false, preempts = false, receive_before = false;
    bool measured = false;  // its numbers have errors

    bool one_processor() const { return processors != ProcessorKind::two; }
    bool half_duplex() const { return node < port_in + port_out; }
    bool exchanges(SyncKind sync) const {
        return std::find(exchange_syncs.begin(), exchange_syncs.end(), sync) != exchange_syncs.end();
    }
    // Both ends together.
    CostSteps overhead() const {
        return send_overhead + receive_overhead + inject + eject + CostSteps{{kUnlimited}, {startup}};
    }
    // A request and a grant above the eager threshold.
    CostSteps requests() const;
};

// Calls visit(name, value) for every number, count, flag and cost in steps; names are those of conset's machine files
// (kind conset/machine@1). `model`, `processors` and `exchange_syncs` are the caller's.
template <class Costs, class Visit>
void each_cost(Costs& costs, Visit&& visit) {
    visit("send_overhead", costs.send_overhead);
    visit("receive_overhead", costs.receive_overhead);
    visit("inject", costs.inject);
    visit("eject", costs.eject);
    visit("hop", costs.hop);
    visit("port_out", costs.port_out);
    visit("port_in", costs.port_in);
    visit("node", costs.node);
    visit("link", costs.link);
    visit("copy", costs.copy);
    visit("exchange_weight", costs.exchange_weight);
    visit("barrier", costs.barrier);
    visit("setup", costs.setup);
    visit("signal", costs.signal);
    visit("per_transfer", costs.per_transfer);
    visit("jitter", costs.jitter);
    visit("startup", costs.startup);
    visit("blocking", costs.blocking);
    visit("eager", costs.eager);
    visit("buffers", costs.buffers);
    visit("tolerance", costs.tolerance);
    visit("lanes", costs.lanes);
    visit("in_flight", costs.in_flight);
    visit("receives", costs.receives);
    visit("outstanding_receives", costs.outstanding_receives);
    visit("first_barrier", costs.first_barrier);
    visit("preempts", costs.preempts);
    visit("receive_before", costs.receive_before);
    visit("measured", costs.measured);
}

}  // namespace conset
