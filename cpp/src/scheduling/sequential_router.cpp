#include "conset/scheduling/sequential_router.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "conset/rows.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double rounding = 1 + 1e-9;   // a latency of exactly what is demanded is kept
constexpr double fine = 1099511627776;  // parts of a demanded latency, where latencies are costs

}  // namespace

SequentialRouter::SequentialRouter(const Wiring& wiring, const Connections& connections, const RouterLimits& limits,
                                   const RouterDemands& demands, std::int32_t phases, std::int32_t weight,
                                   std::uint64_t seed)
    : wiring_(wiring),
      connections_(connections),
      limits_(limits),
      ledger_(demands, phases, wiring.nodes),
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
    full_.assign(copies, {wiring.nodes});
    least_.assign(copies, 0);
    phase_.assign(connections.source.size(), -1);
    path_.resize(connections.source.size());
    reached_.resize(copies * nodes);
    closed_.assign(copies, 0);
    order_connections();
}

// Successors of every connection, and how long the longest chains before and after it are.
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
    depth_.assign(count, 0);
    for (const std::int32_t i : sorted)
        for (std::int32_t j = successor_offsets_[i]; j < successor_offsets_[i + 1]; ++j)
            depth_[successor_[j]] = std::max(depth_[successor_[j]], depth_[i] + 1);
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
    for (; rounds > 0 && !stop_asked(); --rounds) {
        again = out;
        for (std::size_t i = 0; i < phase_.size(); ++i) {
            if (phase_[i] < 0 || random_.below(65536) >= threshold) continue;
            remove(static_cast<std::int32_t>(i));
            again.push_back(static_cast<std::int32_t>(i));
        }
        out.clear();
        for (const std::int32_t i : again)
            if (!place(i)) out.push_back(i);
        if (out.empty()) break;
    }
    return static_cast<std::int64_t>(out.size());
}

RoutePaths SequentialRouter::paths() const {
    RoutePaths paths;
    for (std::size_t i = 0; i < phase_.size(); ++i) {
        if (phase_[i] >= 0) {
            paths.stop(connections_.source[i], -1);
            for (const std::int32_t l : path_[i]) paths.stop(wiring_.target[l], l);
        }
        paths.offsets.push_back(static_cast<std::int64_t>(paths.nodes.size()));
    }
    return paths;
}

// The last phase that leaves room for those behind i: one for each, or, where they may share phases, their share.
std::int32_t SequentialRouter::latest(std::int32_t i) const {
    if (height_.empty()) return phases_ - 1;
    if (connections_.apart != 0) return phases_ - 1 - height_[i];
    const std::int64_t chain = std::int64_t{depth_[i]} + height_[i] + 1;
    return static_cast<std::int32_t>(((depth_[i] + std::int64_t{1}) * phases_ + chain - 1) / chain) - 1;
}

bool SequentialRouter::place(std::int32_t i) {
    const std::int32_t earliest = earliest_.empty() ? 0 : earliest_[i];
    const std::int32_t latest = this->latest(i);
    bool found = false;
    for (int tries = ledger_.bounded(i) ? 2 : 1; tries > 0 && !found && earliest <= latest; --tries) {
        ++searches_;
        heap_.clear();
        open_phases(i, earliest, latest);
        found = search(i);
        scale_ = found || ledger_.empty() ? 0 : fine / std::max(ledger_.most(i), 1e-200);
    }
    scale_ = 0;
    if (!found) return false;
    if (!successor_offsets_.empty())
        for (std::int32_t j = successor_offsets_[i]; j < successor_offsets_[i + 1]; ++j)
            earliest_[successor_[j]] = std::max(earliest_[successor_[j]], phase_[i] + connections_.apart);
    return true;
}

// What it costs to enter a node; `latency` is of the way there.
std::int64_t SequentialRouter::step(std::int32_t phase, std::int32_t node, double latency) const {
    if (scale_ > 0) return std::llround(latency * scale_);
    return 1 + std::int64_t{weight_} * channels_[at_node(phase, node)];
}

// At least what a path from `node` to the target of connection i costs beyond `node`, in this phase.
std::int64_t SequentialRouter::ahead(std::int32_t i, std::int32_t phase, std::int32_t node) const {
    const std::int32_t to = connections_.target[i];
    if (node == to) return 0;
    const std::uint16_t hops = hops_.to(to)[node];
    if (hops == HopTable::kUnreachable) return -1;
    if (scale_ > 0) return hops * static_cast<std::int64_t>(ledger_.least_step() * scale_);
    const std::int64_t between = 1 + std::int64_t{weight_} * least_[phase];
    return (hops - 1) * between + 1 + std::int64_t{weight_} * channels_[at_node(phase, to)];
}

// Whether a path that takes `latency` up to `node` may still be in time.
bool SequentialRouter::in_time(std::int32_t i, std::int32_t node, double latency) const {
    if (!ledger_.bounded(i)) return true;
    const double rest = hops_.to(connections_.target[i])[node] * ledger_.least_step();
    return latency + rest <= ledger_.most(i) * rounding;
}

void SequentialRouter::open_phases(std::int32_t i, std::int32_t earliest, std::int32_t latest) {
    const auto turn = static_cast<std::int32_t>(random_.below(latest - earliest + 1));
    for (std::int32_t k = earliest; k <= latest; ++k) {
        // With equal costs the copies take turns; from a fixed first one the last would stay empty.
        const std::int32_t p = weight_ == 0 ? k : earliest + (k - earliest + turn) % (latest - earliest + 1);
        if (!start(i, p, k)) return;
    }
}

// Opens a phase to connection i where it may begin and end there; false where no other phase need be looked at.
bool SequentialRouter::start(std::int32_t i, std::int32_t phase, std::int32_t turn) {
    const std::int32_t from = connections_.source[i], to = connections_.target[i];
    const std::size_t begin = at_node(phase, from), end = at_node(phase, to);
    double latency = 0;
    if (from != to) {
        if (!fits(limits_.channels, from, channels_[begin]) || !fits(limits_.channels, to, channels_[end])) return true;
        if (!fits(limits_.send, from, send_[begin]) || !fits(limits_.receive, to, receive_[end])) return true;
        if (!ledger_.empty())
            for (const std::size_t port : ledger_.ports(phase, from, to))
                if (!ledger_.fits(port, i)) return true;
        if (ledger_.bounded(i)) latency = ledger_.delay_at_ports(phase, from, to);
    }
    if (from != to && !in_time(i, from, latency)) return true;
    const std::int64_t rest = ahead(i, phase, from);
    if (rest < 0) return false;
    const std::int64_t cost = step(phase, from, latency);
    reached_[begin] = {searches_, cost, latency, -1, false};
    push({cost, rest, turn, static_cast<std::uint32_t>(begin)});
    return from != to;
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
        if (reached_[state.place].done || closed_[phase] == searches_) continue;
        reached_[state.place].done = true;
        if (node != to)
            leave(i, state, phase, node);
        else if (arrive(i, phase, state.place))
            return true;
    }
    return false;
}

// Reaches the neighbours of a node.
void SequentialRouter::leave(std::int32_t i, const State& state, std::int32_t phase, std::int32_t node) {
    for (std::int32_t k = out_.offsets[node]; k < out_.offsets[node + 1]; ++k) {
        const std::int32_t l = out_.link[k], next = wiring_.target[l];
        const std::size_t place = at_node(phase, next);
        if (!fits(limits_.channels, next, channels_[place])) continue;
        if (!fits(limits_.link, l, link_[at_link(phase, l)]) || !ledger_.fits(ledger_.link(phase, l), i)) continue;
        double latency = 0, delay = 0;
        if (ledger_.bounded(i)) {
            delay = ledger_.delay(ledger_.link(phase, l));
            latency = reached_[state.place].latency + delay;
            if (!in_time(i, next, latency)) continue;
        }
        const std::int64_t cost = state.cost + step(phase, next, delay);
        Reached& there = reached_[place];
        if (there.search == searches_ && (there.done || there.cost <= cost)) continue;
        const std::int64_t rest = ahead(i, phase, next);
        if (rest < 0) continue;
        there = {searches_, cost, latency, l, false};
        push({cost, rest, state.turn, static_cast<std::uint32_t>(place)});
    }
}

// Takes the path that was found, unless those that are there would wait too long: then closes the phase.
bool SequentialRouter::arrive(std::int32_t i, std::int32_t phase, std::uint32_t place) {
    const double latency = reached_[place].latency;
    Array<std::int32_t>& path = path_[i];
    path.clear();
    for (std::size_t at = place; reached_[at].link >= 0;) {
        path.push_back(reached_[at].link);
        at = at_node(phase, wiring_.source[reached_[at].link]);
    }
    std::reverse(path.begin(), path.end());
    if (!ledger_.empty() && !path.empty()) {
        places_ = ledger_.ports(phase, connections_.source[i], connections_.target[i]);
        for (const std::int32_t l : path) places_.push_back(ledger_.link(phase, l));
        if (!ledger_.fits(places_, i, latency)) {
            closed_[phase] = searches_;
            path.clear();
            return false;
        }
        ledger_.enter(places_, i, latency);
    }
    take(i, phase);
    return true;
}

void SequentialRouter::take(std::int32_t i, std::int32_t phase) {
    phase_[i] = phase;
    const Array<std::int32_t>& path = path_[i];
    if (path.empty()) return;  // inside a node: it uses nothing
    const std::int32_t from = connections_.source[i], to = connections_.target[i];
    ++send_[at_node(phase, from)];
    ++receive_[at_node(phase, to)];
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
