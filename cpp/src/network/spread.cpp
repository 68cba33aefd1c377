#include "conset/network/spread.hpp"

#include <stdexcept>

namespace conset {

namespace {

std::int64_t size_at(View<const std::int64_t> size, std::size_t k) { return size.size() == 1 ? size[0] : size[k]; }

}  // namespace

Spread::Spread(const Network& network)
    : network_(network), at_(as_size(network.nodes())), on_(as_size(network.link_slots())) {}

void Spread::put(std::int32_t node, std::int32_t to, const Amount& amount) {
    if (node == to) return;
    if (at_[node].messages == 0) {
        if (network_.distance(node, to) < 0) throw std::logic_error("no route: the graph is not connected");
        const std::size_t distance = as_size(network_.distance(node, to));
        if (layers_.size() <= distance) layers_.resize(distance + 1);
        layers_[distance].push_back(node);
    }
    at_[node] += amount;
}

// All that was put moves on to its destination.
void Spread::flow(std::int32_t to) {
    for (std::size_t distance = layers_.size(); distance-- > 1;) {
        for (const std::int32_t node : layers_[distance]) {
            const Amount here = std::exchange(at_[node], {});
            std::int32_t wires = 0;
            network_.each_next(node, to, [&](std::int32_t link, std::int32_t) { wires += network_.wires(link); });
            network_.each_next(node, to, [&](std::int32_t link, std::int32_t next) {
                const Amount part = here * (static_cast<double>(network_.wires(link)) / wires);
                if (on_[link].messages == 0) used_.push_back(link);
                on_[link] += part;
                put(next, to, part);
            });
        }
        layers_[distance].clear();
    }
}

void Spread::resolve() {
    std::ranges::stable_sort(demands_, [](const Demand& a, const Demand& b) {
        return a.target != b.target ? a.target < b.target : a.source < b.source;
    });
    if (network_.choice() == Choice::valiant) {
        resolve_in_two_legs();
        demands_.clear();
        return;
    }
    for (const std::int32_t link : used_) on_[link] = {};
    used_.clear();
    for (std::size_t k = 0; k < demands_.size(); ++k) {
        put(demands_[k].source, demands_[k].target, demands_[k].amount);
        if (k + 1 == demands_.size() || demands_[k + 1].target != demands_[k].target) flow(demands_[k].target);
    }
    demands_.clear();
}

// What every target receives, or every source sends, once for each of them.
Array<Spread::Demand> Spread::sums_by(bool target) const {
    Array<Amount> sums(at_.size());
    for (const Demand& demand : demands_) sums[target ? demand.target : demand.source] += demand.amount;
    Array<Demand> result;
    for (std::int32_t v = 0; v < network_.nodes(); ++v)
        if (sums[v].messages > 0) result.push_back({v, v, sums[v]});
    return result;
}

void Spread::resolve_in_two_legs() {
    Array<Demand> sent = sums_by(false), received = sums_by(true);
    if (sent == sent_ && received == received_) return;
    for (const std::int32_t link : used_) on_[link] = {};
    used_.clear();
    const std::int32_t first = network_.first_via(), last = first + network_.vias();
    const double share = 1.0 / network_.vias();
    for (std::int32_t via = first; via < last; ++via) {
        for (const Demand& demand : sent) put(demand.source, via, demand.amount * share);
        flow(via);
    }
    for (const Demand& demand : received) {
        for (std::int32_t via = first; via < last; ++via) put(via, demand.target, demand.amount * share);
        flow(demand.target);
    }
    sent_ = std::move(sent);
    received_ = std::move(received);
}

ExpectedLoads expect_loads(const Routes& routes, View<const std::int64_t> phase_offsets,
                           View<const std::int32_t> width) {
    const Network& network = routes.network;
    Spread spread(network);
    Array<std::int32_t> send(as_size(network.nodes()), 0), receive(as_size(network.nodes()), 0), touched;
    Array<double> through(as_size(network.nodes()), 0);
    ExpectedLoads loads;
    const auto see = [&](std::int32_t node, double routes_more) {
        if (through[node] == 0) touched.push_back(node);
        through[node] += routes_more;
    };
    for (std::size_t p = 0; p + 1 < phase_offsets.size(); ++p) {
        std::int32_t most_sent = 0, most_received = 0;
        double most_carried = 0, most_through = 0;
        for (auto k = as_size(phase_offsets[p]); k < as_size(phase_offsets[p + 1]); ++k) {
            if (!routes.leaves(k)) continue;
            const std::int32_t s = routes.source[k], t = routes.target[k];
            most_sent = std::max(most_sent, ++send[s]);
            most_received = std::max(most_received, ++receive[t]);
            see(s, 1);
            spread.add(s, t, 0);
        }
        spread.settle([&](std::int32_t link, double, double messages) {
            const std::int32_t w = width.size() == 1 ? width[0] : width[link];
            most_carried = std::max(most_carried, messages / w);
            see(network.link_target(link), messages);
        });
        for (const std::int32_t node : touched) most_through = std::max(most_through, std::exchange(through[node], 0));
        touched.clear();
        for (auto k = as_size(phase_offsets[p]); k < as_size(phase_offsets[p + 1]); ++k)
            send[routes.source[k]] = receive[routes.target[k]] = 0;
        loads.send.push_back(most_sent);
        loads.receive.push_back(most_received);
        loads.link.push_back(most_carried);
        loads.channels.push_back(most_through);
    }
    return loads;
}

ExpectedTotals expect_totals(const Routes& routes, View<const std::int64_t> size) {
    const auto links = as_size(routes.network.link_slots());
    ExpectedTotals totals{Array<double>(links, 0), Array<double>(links, 0)};
    Spread spread(routes.network);
    for (std::size_t k = 0; k < routes.size(); ++k)
        spread.add(routes.source[k], routes.target[k], static_cast<double>(size_at(size, k)));
    spread.settle([&](std::int32_t link, double bytes, double messages) {
        totals.messages[link] = messages;
        totals.bytes[link] = bytes;
    });
    return totals;
}

}  // namespace conset
