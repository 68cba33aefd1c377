#include "conset/scheduling/sequential_router.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "conset/rows.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double rounding = 1 + 1e-9;  // a share of exactly what is demanded is enough

}  // namespace

SequentialRouter::SequentialRouter(const Wiring& wiring, const Connections& connections, const RouterLimits& limits,
                                   const RouterDemands& demands, std::int32_t phases, std::int32_t weight,
                                   std::uint64_t seed)
    : wiring_(wiring),
      connections_(connections),
      limits_(limits),
      demands_(demands),
      phases_(phases),
      weight_(weight),
      random_(seed),
      out_(wiring),
      hops_(wiring, connections.target) {
    const auto nodes = static_cast<std::size_t>(wiring.nodes), copies = static_cast<std::size_t>(phases);
    channels_.assign(copies * nodes, 0);
    send_.assign(copies * nodes, 0);
    receive_.assign(copies * nodes, 0);
    link_.assign(copies * wiring.source.size(), 0);
    if (!demands.demand.empty()) {
        send_most_.assign(copies * nodes, 0);
        receive_most_.assign(copies * nodes, 0);
        link_most_.assign(copies * wiring.source.size(), 0);
    }
    full_.assign(copies, {wiring.nodes});
    least_.assign(copies, 0);
    phase_.assign(connections.source.size(), -1);
    path_.resize(connections.source.size());
    reached_.resize(copies * nodes);
    order_connections();
}

// Successors of every connection, and how long the longest chain after it is.
void SequentialRouter::order_connections() {
    const std::size_t count = connections_.source.size();
    if (connections_.first.empty()) return;
    successor_.resize(connections_.first.size());
    Array<std::int32_t> before(count, 0), sorted;
    successor_offsets_ = fill_rows<std::int32_t>(
        count, successor_.size(), [&](std::size_t k) { return connections_.first[k]; },
        [&](std::int32_t at, std::size_t k) { successor_[at] = connections_.second[k]; });
    for (const std::int32_t i : connections_.second) ++before[i];
    for (std::size_t i = 0; i < count; ++i)
        if (before[i] == 0) sorted.push_back(static_cast<std::int32_t>(i));
    for (std::size_t k = 0; k < sorted.size(); ++k)
        for (std::int32_t j = successor_offsets_[sorted[k]]; j < successor_offsets_[sorted[k] + 1]; ++j)
            if (--before[successor_[j]] == 0) sorted.push_back(successor_[j]);
    earliest_.assign(count, 0);
    height_.assign(count, 0);
    for (std::size_t k = sorted.size(); k-- > 0;)
        for (std::int32_t j = successor_offsets_[sorted[k]]; j < successor_offsets_[sorted[k] + 1]; ++j)
            height_[sorted[k]] = std::max(height_[sorted[k]], height_[successor_[j]] + 1);
}

std::int64_t SequentialRouter::route(View<const std::int32_t> order) {
    std::int64_t out = 0;
    Array<std::int32_t> sorted(order.begin(), order.end());
    if (!height_.empty())  // whoever has the longest chain behind it goes first, so predecessors do
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](std::int32_t a, std::int32_t b) { return height_[a] > height_[b]; });
    for (const std::int32_t i : sorted) out += place(i) ? 0 : 1;
    return out;
}

std::int64_t SequentialRouter::rip_up(std::int32_t rounds, double share) {
    Array<std::int32_t> out;
    for (std::size_t i = 0; i < phase_.size(); ++i)
        if (phase_[i] < 0) out.push_back(static_cast<std::int32_t>(i));
    const auto threshold = static_cast<std::uint32_t>(share * 65536);
    Array<std::int32_t> again;
    for (; rounds > 0 && !out.empty() && !stop_asked(); --rounds) {
        again = out;
        for (std::size_t i = 0; i < phase_.size(); ++i) {
            if (phase_[i] < 0 || random_.below(65536) >= threshold) continue;
            remove(static_cast<std::int32_t>(i));
            again.push_back(static_cast<std::int32_t>(i));
        }
        out.clear();
        for (const std::int32_t i : again)
            if (!place(i)) out.push_back(i);
    }
    return static_cast<std::int64_t>(out.size());
}

RoutePaths SequentialRouter::paths() const {
    RoutePaths paths;
    paths.offsets.push_back(0);
    for (std::size_t i = 0; i < phase_.size(); ++i) {
        if (phase_[i] >= 0) {
            paths.nodes.push_back(connections_.source[i]);
            for (const std::int32_t l : path_[i]) paths.nodes.push_back(wiring_.target[l]);
        }
        paths.offsets.push_back(static_cast<std::int64_t>(paths.nodes.size()));
    }
    return paths;
}

bool SequentialRouter::place(std::int32_t i) {
    const std::int32_t earliest = earliest_.empty() ? 0 : earliest_[i];
    const std::int32_t latest = phases_ - 1 - (height_.empty() ? 0 : height_[i]);
    ++searches_;
    heap_.clear();
    if (earliest <= latest) open_phases(i, earliest, latest);
    if (!search(i)) return false;
    if (!successor_offsets_.empty())
        for (std::int32_t j = successor_offsets_[i]; j < successor_offsets_[i + 1]; ++j)
            earliest_[successor_[j]] = std::max(earliest_[successor_[j]], phase_[i] + 1);
    return true;
}

bool SequentialRouter::fits(View<const std::int32_t> limit, View<const double> rate, std::int32_t row, std::size_t cell,
                            std::int32_t i, const Array<std::int32_t>& use, const Array<float>& most) const {
    if (!limit.empty() && use[cell] >= limit[row]) return false;
    if (demands_.demand.empty()) return true;
    const double demand = std::max<double>(most[cell], demands_.demand[i]);
    return demand * (use[cell] + 1) <= rate[row] * rounding;
}

// At least what a path from `node` to the target of connection i costs beyond `node`, in this phase.
std::int64_t SequentialRouter::ahead(std::int32_t i, std::int32_t phase, std::int32_t node) const {
    const std::int32_t to = connections_.target[i];
    if (node == to) return 0;
    const std::uint16_t hops = hops_.to(to)[node];
    if (hops == HopTable::kUnreachable) return -1;
    const std::int64_t between = 1 + std::int64_t{weight_} * least_[phase];
    return (hops - 1) * between + 1 + std::int64_t{weight_} * channels_[at_node(phase, to)];
}

void SequentialRouter::open_phases(std::int32_t i, std::int32_t earliest, std::int32_t latest) {
    const std::int32_t from = connections_.source[i], to = connections_.target[i];
    const auto turn = static_cast<std::int32_t>(random_.below(latest - earliest + 1));
    for (std::int32_t k = earliest; k <= latest; ++k) {
        // With equal costs the copies take turns; from a fixed first one the last would stay empty.
        const std::int32_t p = weight_ == 0 ? k : earliest + (k - earliest + turn) % (latest - earliest + 1);
        const std::size_t start = at_node(p, from), end = at_node(p, to);
        if (from != to) {
            if (!limits_.channels.empty() &&
                (channels_[start] >= limits_.channels[from] || channels_[end] >= limits_.channels[to]))
                continue;
            if (!fits(limits_.send, demands_.send, from, start, i, send_, send_most_)) continue;
            if (!fits(limits_.receive, demands_.receive, to, end, i, receive_, receive_most_)) continue;
        }
        const std::int64_t rest = ahead(i, p, from);
        if (rest < 0) return;
        const std::int64_t cost = 1 + std::int64_t{weight_} * channels_[start];
        reached_[start] = {searches_, cost, -1, false};
        push({cost, rest, k, static_cast<std::uint32_t>(start)});
        if (from == to) return;
    }
}

void SequentialRouter::push(const State& state) {
    heap_.push_back(state);
    std::push_heap(heap_.begin(), heap_.end(), later);
}

bool SequentialRouter::later(const State& a, const State& b) {
    const std::int64_t left = a.cost + a.ahead, right = b.cost + b.ahead;
    if (left != right) return left > right;
    return a.cost != b.cost ? a.cost < b.cost : a.turn > b.turn;
}

bool SequentialRouter::search(std::int32_t i) {
    const std::int32_t to = connections_.target[i];
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const State state = heap_.back();
        heap_.pop_back();
        const auto phase = static_cast<std::int32_t>(state.place / static_cast<std::uint32_t>(wiring_.nodes));
        const auto node = static_cast<std::int32_t>(state.place % static_cast<std::uint32_t>(wiring_.nodes));
        if (reached_[state.place].done) continue;
        reached_[state.place].done = true;
        if (node == to) {
            take(i, phase, state.place);
            return true;
        }
        for (std::int32_t k = out_.offsets[node]; k < out_.offsets[node + 1]; ++k) {
            const std::int32_t l = out_.link[k], next = wiring_.target[l];
            const std::size_t place = at_node(phase, next);
            if (!limits_.channels.empty() && channels_[place] >= limits_.channels[next]) continue;
            if (!fits(limits_.link, demands_.link, l, at_link(phase, l), i, link_, link_most_)) continue;
            const std::int64_t cost = state.cost + 1 + std::int64_t{weight_} * channels_[place];
            Reached& there = reached_[place];
            if (there.search == searches_ && (there.done || there.cost <= cost)) continue;
            const std::int64_t rest = ahead(i, phase, next);
            if (rest < 0) continue;
            there = {searches_, cost, l, false};
            push({cost, rest, state.turn, static_cast<std::uint32_t>(place)});
        }
    }
    return false;
}

void SequentialRouter::take(std::int32_t i, std::int32_t phase, std::uint32_t place) {
    phase_[i] = phase;
    Array<std::int32_t>& path = path_[i];
    path.clear();
    for (std::size_t at = place; reached_[at].link >= 0;) {
        path.push_back(reached_[at].link);
        at = at_node(phase, wiring_.source[reached_[at].link]);
    }
    std::reverse(path.begin(), path.end());
    if (path.empty()) return;  // inside a node: it uses nothing
    const std::int32_t from = connections_.source[i], to = connections_.target[i];
    ++send_[at_node(phase, from)];
    ++receive_[at_node(phase, to)];
    if (!demands_.demand.empty()) {
        const auto demand = static_cast<float>(demands_.demand[i]);
        float& sent = send_most_[at_node(phase, from)];
        float& received = receive_most_[at_node(phase, to)];
        sent = std::max(sent, demand);
        received = std::max(received, demand);
        for (const std::int32_t l : path)
            link_most_[at_link(phase, l)] = std::max(link_most_[at_link(phase, l)], demand);
    }
    Array<std::int32_t>& nodes = full_[phase];
    const auto visit = [&](std::int32_t node) {
        const std::int32_t use = channels_[at_node(phase, node)]++;
        if (static_cast<std::size_t>(use) + 2 > nodes.size()) nodes.resize(static_cast<std::size_t>(use) + 2, 0);
        --nodes[use];
        ++nodes[use + 1];
        while (nodes[least_[phase]] == 0) ++least_[phase];
    };
    visit(from);
    for (const std::int32_t l : path) {
        ++link_[at_link(phase, l)];
        visit(wiring_.target[l]);
    }
}

void SequentialRouter::remove(std::int32_t i) {
    const std::int32_t phase = phase_[i];
    phase_[i] = -1;
    if (path_[i].empty()) return;
    --send_[at_node(phase, connections_.source[i])];
    --receive_[at_node(phase, connections_.target[i])];
    const auto leave = [&](std::int32_t node) {
        const std::int32_t use = --channels_[at_node(phase, node)];
        --full_[phase][use + 1];
        ++full_[phase][use];
        least_[phase] = std::min(least_[phase], use);
    };
    leave(connections_.source[i]);
    for (const std::int32_t l : path_[i]) {
        --link_[at_link(phase, l)];
        leave(wiring_.target[l]);
    }
    path_[i].clear();
}

}  // namespace conset
