// Messages of a test as vectors, with plain numbers for costs; each model gets the spans it asks for.
#pragma once

#include <cstdint>
#include <limits>

#include "conset/array.hpp"
#include "conset/simulation/flow/flow.hpp"
#include "conset/simulation/packet/packet.hpp"
#include "conset/simulation/release/release.hpp"
#include "conset/simulation/wormhole/wormhole.hpp"

namespace conset::test {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

template <class Time>
struct Given {
    explicit Given(Network of) : network(std::move(of)) {}

    // Between ranks, which are nodes unless `on_nodes` says where they are.
    void add(std::int32_t s, std::int32_t t, std::int64_t size, Time at = 0, const Array<std::int32_t>& after = {}) {
        sender.push_back(s);
        receiver.push_back(t);
        source.push_back(s);
        target.push_back(t);
        bytes.push_back(size);
        time.push_back(at);
        deps.insert(deps.end(), after.begin(), after.end());
        dep_offsets.push_back(static_cast<std::int64_t>(deps.size()));
    }
    void on_nodes(const Array<std::int32_t>& node) {
        for (std::size_t m = 0; m < sender.size(); ++m) {
            source[m] = node[static_cast<std::size_t>(sender[m])];
            target[m] = node[static_cast<std::size_t>(receiver[m])];
        }
    }
    Routes routes() const { return {network, source, target, {}, {}}; }
    Messages<Time> messages() const { return {sender, receiver, bytes, time, dep_offsets, deps, phase_offsets, order}; }
    Execution<Time> with_costs() const {
        Execution<Time> result = execution;
        result.send = send;
        result.receive = receive;
        result.copy = copy;
        result.detailed = true;
        return result;
    }

    Network network;
    Array<std::int32_t> sender, receiver, source, target, deps, order;
    Array<std::int64_t> bytes, dep_offsets{0}, phase_offsets;
    Array<Time> time;
    Array<Time> send{0}, receive{0}, copy{0}, latency{0}, hop{0};
    Execution<Time> execution;
    // rates of flow and wormhole
    Array<double> link{kInfinite};
    Array<std::int32_t> width{1};
    double out = 1, in = 1, node = kInfinite, exchange_weight = 1;
    std::int32_t lanes = 8;
    // sizes of packet
    double packet = 1, buffer = kInfinite, window = kInfinite;
    Array<std::uint8_t> dateline;
};

inline Rates rates_of(const Given<double>& given) {
    return {given.link, given.width, given.out, given.in, given.node, given.exchange_weight};
}

inline Simulated flow(const Given<double>& given, bool record = false) {
    FlowCosts costs;
    costs.rates = rates_of(given);
    costs.latency = given.latency;
    costs.hop = given.hop;
    return simulate_flow(given.routes(), given.messages(), given.with_costs(), costs, record);
}

inline Simulated wormhole(const Given<double>& given, bool record = false) {
    WormholeCosts costs;
    costs.rates = rates_of(given);
    costs.latency = given.latency;
    costs.hop = given.hop;
    costs.lanes = given.lanes;
    return simulate_wormhole(given.routes(), given.messages(), given.with_costs(), costs, record);
}

inline Simulated packets(const Given<double>& given) {
    PacketCosts costs;
    costs.rates = rates_of(given);
    costs.latency = given.latency;
    costs.hop = given.hop;
    costs.packet = given.packet;
    costs.dateline = given.dateline;
    costs.buffer = given.buffer;
    costs.window = given.window;
    return simulate_packets(given.routes(), given.messages(), given.with_costs(), costs);
}

}  // namespace conset::test
