#include "conset/prediction/stage_clock.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "conset/prediction/formula_costs.hpp"
#include "conset/rows.hpp"

namespace conset {

using formula::entry;
using formula::step_of;

namespace {

constexpr double kInstant = 1e15;  // what is ready at one instant is served in its order: rounding does not decide

// What waits for a server.
struct Waiting {
    std::int32_t server;
    double ready, service;
};

// When each is served: servers take one after the other, the first that is ready first. `free` moves on.
Array<double> serve(Array<double>& free, const Array<Waiting>& all) {
    Array<double> instant(all.size()), served(all.size());
    for (std::size_t k = 0; k < all.size(); ++k) instant[k] = std::nearbyint(all[k].ready * kInstant);
    Rows waiting = Rows::by(free.size(), all.size(), {}, [&](std::int32_t k) { return all[k].server; });
    const auto sooner = [&](std::int32_t a, std::int32_t b) { return instant[a] < instant[b]; };
    for (std::size_t server = 0; server < free.size(); ++server) {
        const auto begin = waiting.items.begin() + waiting.offsets[server],
                   end = waiting.items.begin() + waiting.offsets[server + 1];
        if (!std::is_sorted(begin, end, sooner)) std::stable_sort(begin, end, sooner);
        double& at = free[server];
        for (auto k = begin; k != end; ++k) served[*k] = at = std::max(at, all[*k].ready) + all[*k].service;
    }
    return served;
}

// Each is there once it is served, too.
void wait_for(Array<double>& free, const Array<Waiting>& all, Array<double>& there) {
    const Array<double> served = serve(free, all);
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = std::max(there[i], served[i]);
}

}  // namespace

// Of each bundle of a stage.
struct StageClock::Costs {
    Array<double> send, receive, flow, latency;
    Array<std::uint8_t> leaves;
};

StageClock::StageClock(const Network& network, View<const std::int32_t> node, const MessageCosts& costs,
                       bool one_processor, double part_s)
    : network_(network),
      node_(node.begin(), node.end()),
      costs_(costs),
      one_processor_(one_processor),
      part_s_(part_s),
      sender_(node.size(), 0),
      receiver_(node.size(), 0),
      work_(node.size(), 0),
      out_free_(as_size(network.nodes()), 0),
      in_free_(as_size(network.nodes()), 0),
      link_free_(costs.link.empty() ? 0 : as_size(network.link_slots()), 0) {
    Array<std::uint8_t> seen(as_size(network.nodes()), 0);
    for (const std::int32_t v : node_) shared_ = shared_ || std::exchange(seen[v], 1) != 0;
}

void StageClock::run(const Stage& stage) {
    if (stage.size() == 0) return;
    Costs each;
    const double out = std::max(costs_.out, costs_.node);
    for (std::size_t k = 0; k < stage.size(); ++k) {
        const std::int32_t s = node_[stage.source[k]], t = node_[stage.target[k]];
        const auto b = static_cast<double>(stage.bytes[k]);
        const std::size_t step = step_of(costs_, stage.bytes[k]);
        const bool packed = !stage.packed.empty() && stage.packed[k] != 0, leaves = s != t;
        double copies = packed ? b * costs_.copy : 0;
        if (packed && !stage.parts.empty()) copies += static_cast<double>(stage.parts[k]) * part_s_;
        const double hops = leaves && network_.has_links() ? network_.hops(s, t) : 0;
        each.send.push_back(costs_.send[step] + copies);
        each.receive.push_back(costs_.receive[step] + copies);
        each.flow.push_back(leaves ? costs_.startup + b * out : 0);
        each.latency.push_back(leaves ? costs_.latency[step] + hops * costs_.hop[step] : 0);
        each.leaves.push_back(leaves ? 1 : 0);
    }
    set_up(stage);
    Array<double> done(stage.size());
    send(stage, each, done);
    travel(stage, each, done);
    Array<Arrival> now;
    for (std::size_t k = 0; k < stage.size(); ++k)
        (stage.forwarded[k] != 0 ? now : kept_).push_back({stage.target[k], done[k], each.receive[k]});
    receive(std::move(now));
}

void StageClock::finish() { receive(std::exchange(kept_, {})); }

StageEstimate StageClock::estimate(const StageBundles& stages) {
    for (Array<double>* times : {&sender_, &receiver_, &work_, &out_free_, &in_free_, &link_free_})
        std::fill(times->begin(), times->end(), 0.0);
    kept_.clear();
    Array<std::uint8_t> forwarded(stages.size(), 0);
    for (const std::int32_t bundle : stages.needs.items) forwarded[bundle] = 1;
    StageEstimate found{.bundles = static_cast<std::int64_t>(stages.size())};
    double before = 0;
    for (std::int32_t stage = 0; stage < stages.stages; ++stage) {
        Array<std::int32_t> source, target;
        Array<std::int64_t> bytes;
        Array<std::uint8_t> packed, goes_on;
        for (std::size_t b = 0; b < stages.size(); ++b) {
            if (stages.stage[b] != stage) continue;
            source.push_back(stages.source[b]);
            target.push_back(stages.target[b]);
            bytes.push_back(stages.bytes[b]);
            packed.push_back(stages.packed[b]);
            goes_on.push_back(forwarded[b]);
            found.bytes += stages.bytes[b];
        }
        run({source, target, bytes, packed, {}, goes_on});
        if (stage + 1 == stages.stages) finish();
        found.stage_s.push_back(now() - before);
        before = now();
    }
    found.time_s = now();
    found.work_s = work();
    found.busiest_s = busiest();
    return found;
}

double StageClock::now() const {
    double last = 0;
    for (std::size_t r = 0; r < sender_.size(); ++r) last = std::max({last, sender_[r], receiver_[r]});
    if (!costs_.shared_processor) return last;
    Array<double> of_node(as_size(network_.nodes()), 0);
    for (std::size_t r = 0; r < work_.size(); ++r) last = std::max(last, of_node[node_[r]] += work_[r]);
    return last;
}

double StageClock::work() const { return std::accumulate(work_.begin(), work_.end(), 0.0); }

double StageClock::busiest() const { return work_.empty() ? 0 : *std::max_element(work_.begin(), work_.end()); }

void StageClock::set_up(const Stage& stage) {
    if (costs_.setup <= 0) return;
    Array<std::uint8_t> active(node_.size(), 0);
    for (std::size_t k = 0; k < stage.size(); ++k) active[stage.source[k]] = active[stage.target[k]] = 1;
    for (std::size_t r = 0; r < active.size(); ++r) {
        if (active[r] == 0) continue;
        sender_[r] = receiver_[r] = std::max(sender_[r], receiver_[r]) + costs_.setup;
        work_[r] += costs_.setup;
    }
}

// When the last byte of each has left: sent in turns from the sender's successor on, first what is forwarded.
void StageClock::send(const Stage& stage, const Costs& each, Array<double>& done) {
    const auto ranks = static_cast<std::int64_t>(node_.size());
    Array<std::pair<std::int64_t, std::int32_t>> order;
    for (std::size_t k = 0; k < stage.size(); ++k) {
        const std::int64_t source = stage.source[k], ahead = stage.target[k] - source;
        const std::int64_t turn = (ahead < 0 ? ahead + ranks : ahead) + (stage.forwarded[k] != 0 ? 0 : ranks);
        order.emplace_back(source * 2 * ranks + turn, static_cast<std::int32_t>(k));
    }
    std::sort(order.begin(), order.end());
    for (const auto& [turn, k] : order) {
        double pace = each.send[k] + each.flow[k];
        // a send keeps its slot until it is there
        if (costs_.in_flight > 0)
            pace = std::max(pace, (pace + each.latency[k]) / static_cast<double>(costs_.in_flight));
        done[k] = sender_[stage.source[k]] += pace;
        work_[stage.source[k]] += each.send[k];
    }
    if (one_processor_)
        for (std::size_t r = 0; r < node_.size(); ++r) receiver_[r] = std::max(receiver_[r], sender_[r]);
    if (!shared_) return;
    Array<Waiting> waiting;
    for (std::size_t k = 0; k < stage.size(); ++k)
        if (each.leaves[k] != 0) waiting.push_back({node_[stage.source[k]], done[k] - each.flow[k], each.flow[k]});
    const Array<double> served = serve(out_free_, waiting);
    for (std::size_t k = 0, i = 0; k < stage.size(); ++k)
        if (each.leaves[k] != 0) done[k] = served[i++];
}

// From when each has left to when it is there.
void StageClock::travel(const Stage& stage, const Costs& each, Array<double>& done) {
    const double out = std::max(costs_.out, costs_.node), in = std::max(costs_.in, costs_.node);
    Array<std::int32_t> leaving;
    Array<double> there, sent;
    for (std::size_t k = 0; k < stage.size(); ++k) {
        if (each.leaves[k] == 0) {
            done[k] += static_cast<double>(stage.bytes[k]) * costs_.copy;
            continue;
        }
        leaving.push_back(static_cast<std::int32_t>(k));
        there.push_back(done[k] + each.latency[k]);
        sent.push_back(static_cast<double>(stage.bytes[k]) * out);
    }
    if (!link_free_.empty()) cross(stage, leaving, sent, there);
    if (in > 0) {
        Array<Waiting> waiting;
        for (std::size_t i = 0; i < leaving.size(); ++i) {
            const std::int32_t k = leaving[i];
            waiting.push_back({node_[stage.target[k]], there[i] - sent[i], static_cast<double>(stage.bytes[k]) * in});
        }
        wait_for(in_free_, waiting, there);
    }
    for (std::size_t i = 0; i < leaving.size(); ++i) done[leaving[i]] = there[i];
}

// Through the link of the route with the most work in the stage, the last of equals.
void StageClock::cross(const Stage& stage, const Array<std::int32_t>& leaving, View<const double> sent,
                       Array<double>& there) {
    const auto walk = [&](std::int32_t k, const auto& visit) {
        network_.walk(node_[stage.source[k]], node_[stage.target[k]],
                      [&](std::int32_t link, std::int32_t) { visit(link); });
    };
    Array<double> work(link_free_.size(), 0);
    for (const std::int32_t k : leaving)
        walk(k, [&](std::int32_t link) { work[link] += static_cast<double>(stage.bytes[k]); });
    for (std::size_t l = 0; l < work.size(); ++l) work[l] *= entry(costs_.link, l);
    Array<Waiting> waiting;
    for (std::size_t i = 0; i < leaving.size(); ++i) {
        std::int32_t busiest = -1;
        walk(leaving[i], [&](std::int32_t link) {
            if (busiest < 0 || std::pair(work[link], link) > std::pair(work[busiest], busiest)) busiest = link;
        });
        const double service = static_cast<double>(stage.bytes[leaving[i]]) * entry(costs_.link, as_size(busiest));
        waiting.push_back({busiest, there[i] - sent[i], service});
    }
    wait_for(link_free_, waiting, there);
}

// Takes bundles in the order in which they arrive; what a rank sends next waits for it.
void StageClock::receive(Array<Arrival> arrivals) {
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
        return std::tie(a.rank, a.time) < std::tie(b.rank, b.time);
    });
    for (const Arrival& each : arrivals) {
        receiver_[each.rank] = std::max(receiver_[each.rank], each.time) + each.cost;
        sender_[each.rank] = std::max(sender_[each.rank], receiver_[each.rank]);
        work_[each.rank] += each.cost;
    }
}

}  // namespace conset
