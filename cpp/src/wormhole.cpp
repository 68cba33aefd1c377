#include "conset/wormhole.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "conset/stop.hpp"
#include "conset/wormhole_run.hpp"

namespace conset {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTogether = 1e-12;  // events nearer than this (relative) are one

std::vector<char> inside_of(const Routes& routes) {
    std::vector<char> inside(routes.size());
    for (std::size_t m = 0; m < inside.size(); ++m) inside[m] = routes.leaves(m) ? 0 : 1;
    return inside;
}

}  // namespace

WormholeRun::WormholeRun(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                         const Execution& execution, const WormholeCosts& costs, bool record)
    : routes_(routes),
      bytes_(bytes),
      messages_(messages),
      execution_(execution),
      costs_(costs),
      links_(routes.network.link_slots()),
      nodes_(routes.network.nodes()),
      partner_(costs.exchanges && !messages.phase_offsets.empty() ? exchange_partners(routes, messages)
                                                                  : std::vector<std::int32_t>()),
      lists_(messages, execution, partner_, inside_of(routes)),
      streams_(capacities()),
      paths_(routes_, messages_, costs_, lists_.ranks()),
      channels_(paths_.capacities(takes_list() ? 0 : costs_.ejection), messages.size()),
      processors_(static_cast<std::size_t>(lists_.ranks()), costs.one_processor, costs.preempts),
      record_(record) {
    const std::size_t n = messages.size();
    result_.start.assign(n, 0);
    result_.end.assign(n, 0);
    result_.blocked.assign(n, 0);
    result_.held_by.assign(n, -1);
    result_.link_bytes.assign(static_cast<std::size_t>(links_), 0);
    result_.out_bytes.assign(static_cast<std::size_t>(nodes_), 0);
    result_.in_bytes = result_.out_bytes;
    const auto ranks = static_cast<std::size_t>(lists_.ranks());
    paid_phase_.assign(ranks, -1);
    slot_.assign(n, -1);
    longest_.assign(n, 0);
    if (processors_.preempting()) streaming_.resize(ranks);
    if (record) streams_.record_changes();
}

WormholeResult WormholeRun::run() {
    lists_.begin();
    open_receivers();
    obey(0);
    std::int64_t glance = 0;
    for (;;) {
        const double next = std::min({pending_.empty() ? kNever : std::get<0>(pending_.front()),
                                      hops_.empty() ? kNever : hops_.front().first, streams_.next_end()});
        if (next == kNever) break;
        now_ = std::max(now_, next);
        handle(now_ + kTogether * now_);
        if ((++glance & 1023) == 0) {
            should_stop(false);
            tell_delivered(static_cast<std::int64_t>(messages_.size() - lists_.undelivered()));
        }
    }
    result_.stopped = now_;
    if (lists_.undelivered() > 0) find_circle();
    finish();
    return std::move(result_);
}

std::vector<double> WormholeRun::capacities() const {
    std::vector<double> capacity;
    capacity.reserve(static_cast<std::size_t>(links_) + 3 * static_cast<std::size_t>(nodes_));
    for (std::int32_t l = 0; l < links_; ++l) capacity.push_back(each(costs_.link, l) * each(costs_.width, l));
    for (const double rate : {costs_.out, costs_.in, costs_.node}) capacity.insert(capacity.end(), nodes_, rate);
    return capacity;
}

void WormholeRun::at(double time, Kind kind, std::int32_t which, std::uint8_t what) {
    if (time <= until_) {
        batch_.emplace_back(kind, which, what);
        std::push_heap(batch_.begin(), batch_.end(), std::greater<>());
        return;
    }
    pending_.emplace_back(time, kind, which, what);
    std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
}

// Everything of one time, then rates.
void WormholeRun::handle(double until) {
    until_ = until;
    while (!pending_.empty() && std::get<0>(pending_.front()) <= until) {
        const auto [time, kind, which, what] = pending_.front();
        std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
        pending_.pop_back();
        at(time, kind, which, what);
    }
    for (; !hops_.empty() && hops_.front().first <= until; hops_.pop_front()) at(now_, kHeader, hops_.front().second);
    for (std::int32_t m = streams_.end_next(until, now_); m >= 0; m = streams_.end_next(until, now_))
        at(now_, kEnded, m);
    while (!batch_.empty()) {
        const auto [kind, which, what] = batch_.front();
        std::pop_heap(batch_.begin(), batch_.end(), std::greater<>());
        batch_.pop_back();
        ++result_.events;
        happen(kind, which, what);
    }
    until_ = -1;
    streams_.solve(now_);
    if (!record_) return;
    streams_.each_change([&](std::int32_t m, double rate) {
        result_.rate_time.push_back(now_);
        result_.rate_message.push_back(m);
        result_.rate.push_back(rate);
    });
}

void WormholeRun::happen(Kind kind, std::int32_t which, std::uint8_t what) {
    using Task = WormholeLists::Task;
    switch (kind) {
        case kEnded: ended(which); break;
        case kGate:
            lists_.handle(static_cast<Task>(what), which, now_);
            if (static_cast<Task>(what) == Task::enter) entered(which);
            break;
        case kSignal: signal(which, static_cast<Signal>(what)); break;
        case kReceived: deliver(which); break;
        case kSent: sent(which); break;
        case kHeader: ask(which); break;
        case kArrived:
            at(processors_.receive(messages_.receiver[which], receive_work(which), now_), static_cast<Kind>(what),
               which);
            break;
        case kStream: stream(which); break;
        case kIdle:
            if (processors_.sends_until(which) <= until_) hold(which, false);
            break;
    }
    obey(now_);
}

// What the lists want done.
void WormholeRun::obey(double now) {
    using Task = WormholeLists::Task;
    auto& orders = lists_.orders();
    for (const auto& [task, which, time] : orders) {
        if (task == Task::post) {
            result_.start[which] = now;
            if (needs_request(which)) {
                at(send_on(messages_.sender[which], costs_.signal / 2) + paths_.hops(which) * costs_.signal_hop,
                   kSignal, which, kRequestArrives);
            } else {
                overhead(which);
            }
        } else if (task == Task::signal) {
            at(send_on(messages_.receiver[which], costs_.signal / 2) + paths_.hops(which) * costs_.signal_hop, kSignal,
               which, kReadyArrives);
        } else {
            at(std::max(time, now), kGate, which, static_cast<std::uint8_t>(task));
        }
    }
    orders.clear();
}

// Work on a rank's sending processor: when it ends. Where sends preempt receives, bytes into the rank stand still.
double WormholeRun::send_on(std::int32_t rank, double seconds) {
    const double end = processors_.send(rank, seconds, now_);
    if (processors_.preempting() && seconds > 0) {
        hold(rank, true);
        at(end, kIdle, rank);
    }
    return end;
}

void WormholeRun::overhead(std::int32_t m) { at(send_on(messages_.sender[m], send_work(m)), kSent, m); }

double WormholeRun::send_work(std::int32_t m) {
    double seconds = each(costs_.send, m);
    if (messages_.phase_offsets.empty()) return seconds;
    std::int32_t& paid = paid_phase_[messages_.sender[m]];
    if (paid != lists_.phase_of(m)) seconds += execution_.setup;
    paid = lists_.phase_of(m);
    return seconds;
}

// Half of every signal is work where it is sent, half where it is taken: at the other processor.
void WormholeRun::signal(std::int32_t m, Signal what) {
    const std::int32_t from = messages_.sender[m], to = messages_.receiver[m];
    const auto taken = [&](std::int32_t rank, Signal next) {
        at(processors_.receive(rank, costs_.signal / 2, now_), kSignal, m, next);
    };
    switch (what) {
        case kReadyArrives: taken(from, kReadyTaken); break;
        case kReadyTaken: lists_.signalled(m); break;
        case kRequestArrives: taken(to, kRequestTaken); break;
        case kRequestTaken: requested(m); break;
        case kGrantArrives: taken(from, kGrantTaken); break;
        case kGrantTaken: overhead(m); break;
    }
}

void WormholeRun::finish() {
    const auto busy = [&](std::vector<double>& to, std::int32_t first, std::int32_t count) {
        for (std::int32_t k = 0; k < count; ++k) to.push_back(streams_.busy(first + k));
    };
    busy(result_.link_busy, 0, links_);
    busy(result_.out_busy, links_, nodes_);
    busy(result_.in_busy, links_ + nodes_, nodes_);
    result_.solves = streams_.solves();
}

WormholeResult simulate_wormhole(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                                 const Execution& execution, const WormholeCosts& costs, bool record) {
    return WormholeRun(routes, bytes, messages, execution, costs, record).run();
}

}  // namespace conset
