#include "conset/runtime/exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <utility>

#include "conset/runtime/agreement.hpp"
#include "conset/runtime/exchange_state.hpp"

namespace conset {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

}  // namespace

template <class Handle>
std::unique_ptr<Exchange<Handle>> Exchange<Handle>::of_rows(const ExchangeRequest<Handle>& request, Outcome& outcome) {
    std::unique_ptr<Exchange> exchange;
    const Outcome before = outcome;
    outcome = outcome_of([&] {
        exchange.reset(new Exchange(std::make_unique<State>(request.world, request.options)));
        State& state = *exchange->state_;
        state.sources_known = request.sources_known;
        state.own_by_message = request.own_by_message;
        state.receive_buffer = request.receive_buffer;
        Outcome own = before;
        if (own.fine())
            own = outcome_of([&] {
                request.options.check();
                if (request.options.schedule.empty())
                    state.machine = machine_in_words(request.options.machine, state.collectives.ranks(),
                                                     request.options.ranks_per_node);
                else
                    state.read_compiled();
            });
        // options and machine do not know where they are
        if (!own.fine() && !own.detail.starts_with("rank ")) own.detail = state.here(own.detail);
        state.now.buffers = request.buffers;
        state.now.sends = request.sends;
        state.now.elements = request.elements;
        state.now.receives = request.receives;
        state.shared =
            std::make_unique<SharedSchedule<Handle>>(state.collectives, request.options, request.sources_known);
        own = state.make(state.now, own);
        if (own.fine()) return;
        static_cast<void>(state.close());
        throw Failure(own.code, own.detail);
    });
    return outcome.fine() ? std::move(exchange) : nullptr;
}

template <class Handle>
std::unique_ptr<Exchange<Handle>> Exchange<Handle>::of_plan(const MpiWorld<Handle>& world, const RankPlan& plan,
                                                            const RankItems& items, const RankBuffers<Handle>& buffers,
                                                            double timeout_s, Outcome& outcome) {
    std::unique_ptr<Exchange> exchange;
    const Outcome before = outcome;
    outcome = outcome_of([&] {
        ExchangeOptions options;
        options.timeout_s = timeout_s;
        const auto began = Clock::now();
        exchange.reset(new Exchange(std::make_unique<State>(world, options)));
        State& state = *exchange->state_;
        MadeExchange<Handle>& made = state.now;
        made.buffers = buffers;
        made.summary = {plan.executed, plan.sync, plan.every, plan.in_flight, "plan", 0};
        Outcome own = before;
        if (own.fine()) own = outcome_of([&] { state.prepare(made, plan, items); });
        // where this rank runs decides how it waits
        const double load = ranks_per_core(state.collectives.all_gather(host_place()));
        state.collectives.set_nap(load > 1 ? kLongestNap : 0);
        own = agree(state.collectives, own, plan_digest(plan), "its plan is not that of rank 0");
        made.times.plan = seconds_since(began);
        if (own.fine()) return;
        static_cast<void>(state.close());
        throw Failure(own.code, own.detail);
    });
    return outcome.fine() ? std::move(exchange) : nullptr;
}

template <class Handle>
Exchange<Handle>::Exchange(std::unique_ptr<State> state) : state_(std::move(state)) {}

template <class Handle>
Exchange<Handle>::~Exchange() = default;

template <class Handle>
Outcome Exchange<Handle>::start() {
    if (Outcome wrong = state_->not_ready(); !wrong.fine()) return wrong;
    if (state_->started)
        return {Code::state, state_->here("start: the exchange before has not ended, wait for it first")};
    state_->waits_since.reset();
    state_->started = true;
    bool done = false;
    return state_->ended(state_->now.executor->start(), done);
}

template <class Handle>
Outcome Exchange<Handle>::progress(bool& done) {
    if (Outcome wrong = state_->not_ready(); !wrong.fine()) return wrong;
    Outcome outcome = state_->ended(state_->now.executor->progress(), done);
    state_->started = state_->started && !(outcome.fine() && done);
    return outcome;
}

template <class Handle>
Outcome Exchange<Handle>::wait() {
    bool done = false;
    return wait(std::numeric_limits<double>::infinity(), done);
}

template <class Handle>
Outcome Exchange<Handle>::wait(double seconds, bool& done) {
    State& state = *state_;
    if (Outcome wrong = state.not_ready(); !wrong.fine()) return wrong;
    const auto since = state.waits_since.value_or(Clock::now());
    state.waits_since = since;
    const double limit = state.options.timeout_s;
    const double left = limit == 0 ? std::numeric_limits<double>::infinity() : limit - seconds_since(since);
    RankExecutor<Handle>& executor = *state.now.executor;
    Outcome outcome = state.ended(executor.wait(std::min(seconds, left), state.collectives.nap()), done);
    state.started = state.started && !(outcome.fine() && done);
    if (!outcome.fine() || done || seconds < left) return outcome;
    const double waited = seconds_since(since);
    state.waits_since.reset();
    std::array<char, 32> after{};
    static_cast<void>(std::snprintf(after.data(), after.size(), " after %.1f s", waited));
    return {Code::timeout, state.here(executor.describe(executor.missing()) + after.data())};
}

template <class Handle>
Outcome Exchange<Handle>::update(const RankBuffers<Handle>& buffers, const Blocks& sends, const Blocks& receives,
                                 const Outcome& before, const std::string& elements) {
    State& state = *state_;
    if (state.freed) return state.not_ready();
    if (!state.shared) return {Code::state, "an exchange that was made of a plan cannot be updated"};
    Outcome own = before;
    if (own.fine() && running()) own = {Code::state, state.here("update: the exchange is running")};
    return outcome_of([&] {
        MadeExchange<Handle> made;
        made.buffers = buffers;
        made.sends = sends;
        made.elements = elements;
        if (state.sources_known) made.receives = receives;
        own = state.make(made, own);
        if (!own.fine()) throw Failure(own.code, own.detail);
        state.drop(state.now);
        state.now = std::move(made);
        state.started = false;
    });
}

template <class Handle>
Outcome Exchange<Handle>::free() {
    if (state_->freed) return state_->not_ready();
    if (running()) return {Code::state, state_->here("free: the exchange is running")};
    return state_->close();
}

template <class Handle>
bool Exchange<Handle>::running() const {
    return state_->now.executor && state_->now.executor->running();
}

template <class Handle>
const ExchangeTimes& Exchange<Handle>::times() const {
    return state_->now.times;
}

template <class Handle>
const std::string& Exchange<Handle>::method() const {
    return state_->now.summary.method;
}

template <class Handle>
std::string Exchange<Handle>::sync() const {
    return format_sync(state_->now.summary.sync, state_->now.summary.every);
}

template <class Handle>
std::int64_t Exchange<Handle>::phases() const {
    return state_->now.summary.phases;
}

template <class Handle>
const StageChoice& Exchange<Handle>::stages() const {
    return state_->now.summary.choice;
}

template <class Handle>
const Blocks& Exchange<Handle>::receives() const {
    return state_->now.receives;
}

template <class Handle>
double Exchange<Handle>::nap() const {
    return state_->collectives.nap();
}

template <class Handle>
RankExecutor<Handle>* Exchange<Handle>::executor() {
    return state_->now.executor.get();
}

template class Exchange<int>;
template class Exchange<void*>;

}  // namespace conset
