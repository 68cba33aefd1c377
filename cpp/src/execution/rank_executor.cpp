#include "conset/execution/rank_executor.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace conset {

namespace {

constexpr int kPollsPerCheck = 16;  // looks before the first nap, and from one look at the clock to the next
constexpr int kShortestNap = 8;     // the first nap is that part of the longest

}  // namespace

template <class Handle>
RankExecutor<Handle>::RankExecutor(const MpiWorld<Handle>& world, RankPlan plan, RankItems items,
                                   const RankBuffers<Handle>& buffers)
    : world_(world),
      plan_(std::move(plan)),
      items_(std::move(items)),
      buffers_(buffers),
      memory_(plan_, items_, buffers.send, buffers.receive),
      status_(std::make_unique<std::byte[]>(world.mpi.status_bytes)),
      steps_(make_steps(plan_)) {
    sends_.run_end = make_runs(plan_, steps_, true);
    receives_.run_end = make_runs(plan_, steps_, false);
    sends_.ended.resize(plan_.sends.size());
    receives_.ended.resize(plan_.receives.size());
    if (!detects()) return;
    const Array<std::int32_t>& peer = plan_.receives.peer;
    next_of_peer_.resize(peer.size());
    next_from_.assign(peer.empty() ? 0 : as_size(*std::max_element(peer.begin(), peer.end())) + 1, peer.size());
    for (std::size_t k = peer.size(); k-- > 0;) next_of_peer_[k] = std::exchange(next_from_[peer[k]], k);
}

template <class Handle>
RankExecutor<Handle>::RankExecutor(const MpiWorld<Handle>& world, RankCollective collective,
                                   const RankBuffers<Handle>& buffers)
    : world_(world),
      collective_(std::move(collective)),
      buffers_(buffers),
      memory_(plan_, items_, buffers.send, buffers.receive),
      status_(std::make_unique<std::byte[]>(world.mpi.status_bytes)) {}

template <class Handle>
RankExecutor<Handle>::~RankExecutor() {
    if (running()) memory_.abandon();
}

template <class Handle>
bool RankExecutor<Handle>::fine(const char* call, int code) {
    if (code == 0) return true;
    failure_ = {call, code};
    return false;
}

template <class Handle>
std::pair<int, Handle> RankExecutor<Handle>::shape_of(const RankOperations& operations, const Array<Handle>& types,
                                                      Handle one, std::size_t k) const {
    if (operations.count.empty() || operations.in_work(k))
        return {static_cast<int>(operations.bytes[k]), world_.mpi.byte};
    return {operations.count[k], types.empty() ? one : types[k]};
}

template <class Handle>
bool RankExecutor<Handle>::make_requests(Requests& requests, const RankOperations& operations, bool sends) {
    const auto& [mpi, comm] = world_;
    const auto& calls = mpi.calls;
    requests.handles.reserve(operations.size());
    for (std::size_t k = 0; k < operations.size(); ++k) {
        const auto [count, type] = sends ? shape_of(operations, buffers_.send_types, buffers_.send_type, k)
                                         : shape_of(operations, buffers_.receive_types, buffers_.receive_type, k);
        const int peer = operations.peer[k];
        Handle request{};
        const bool made =
            sends ? fine("MPI_Send_init",
                         calls.send_init(memory_.send_address(k), count, type, peer, kData, comm, &request))
                  : fine("MPI_Recv_init",
                         calls.recv_init(memory_.receive_address(k), count, type, peer, kData, comm, &request));
        if (!made) return false;
        requests.handles.push_back(request);
    }
    return true;
}

template <class Handle>
std::size_t RankExecutor<Handle>::Signals::from(std::size_t k) const {
    return as_size(std::lower_bound(operation.begin(), operation.end(), k) - operation.begin());
}

template <class Handle>
bool RankExecutor<Handle>::make_signals(Signals& signals, const RankOperations& operations, bool sends) {
    const auto& [mpi, comm] = world_;
    const auto& calls = mpi.calls;
    const Handle byte = mpi.byte;
    std::byte* nothing = status_.get();  // no byte of it is sent
    for (std::size_t k = 0; k < operations.size(); ++k) {
        const bool needed = sends ? plan_.signals.any(k) : !plan_.signalled.empty() && plan_.signalled[k] != 0;
        if (plan_.sync != SyncKind::ready && !needed) continue;
        const std::int32_t peer = operations.peer[k];
        Handle request{};
        const bool made = sends
                              ? fine("MPI_Send_init", calls.send_init(nothing, 0, byte, peer, kSignal, comm, &request))
                              : fine("MPI_Recv_init", calls.recv_init(nothing, 0, byte, peer, kSignal, comm, &request));
        if (!made) return false;
        signals.operation.push_back(k);
        signals.handles.push_back(request);
    }
    return true;
}

template <class Handle>
bool RankExecutor<Handle>::prepare() {
    if (detects())
        receives_.handles.resize(plan_.receives.size());
    else if (!make_requests(receives_, plan_.receives, false))
        return false;
    if (!make_requests(sends_, plan_.sends, true)) return false;
    return make_signals(signals_out_, plan_.receives, true) && make_signals(signals_in_, plan_.sends, false);
}

template <class Handle>
void RankExecutor<Handle>::release() {
    if (detects()) receives_.handles.clear();  // which MPI has freed as they ended
    for (Array<Handle>* handles : {&sends_.handles, &receives_.handles, &signals_in_.handles, &signals_out_.handles}) {
        for (Handle& request : *handles)
            if (request != freed_) fine("MPI_Request_free", world_.mpi.calls.request_free(&request));
        handles->clear();
    }
}

template <class Handle>
std::string RankExecutor<Handle>::describe(const MpiFailure& failure) const {
    std::array<char, 4096> text{};  // more than the MPI_MAX_ERROR_STRING of any library
    int length = 0;
    world_.mpi.calls.error_string(failure.code, text.data(), &length);
    return std::string(failure.call) + ": " + text.data();
}

template <class Handle>
bool RankExecutor<Handle>::test(Handle& request, bool& ended) {
    int flag = 0;
    const Handle before = request;
    if (!fine("MPI_Test", world_.mpi.calls.test(&request, &flag, status_.get()))) {
        if (request != before) freed_ = request;
        return false;
    }
    ended = flag != 0;
    seen_ += ended ? 1 : 0;
    return true;
}

template <class Handle>
bool RankExecutor<Handle>::startall(Array<Handle>& requests, std::size_t begin, std::size_t end) {
    if (begin == end) return true;
    return fine("MPI_Startall", world_.mpi.calls.startall(static_cast<int>(end - begin), requests.data() + begin));
}

template <class Handle>
ExchangeState RankExecutor<Handle>::start() {
    if (collective_) {
        const auto& [send_counts, send_starts, receive_counts, receive_starts] = *collective_;
        if (!fine("MPI_Ialltoallv",
                  world_.mpi.calls.ialltoallv(buffers_.send, send_counts.data(), send_starts.data(), buffers_.send_type,
                                              buffers_.receive, receive_counts.data(), receive_starts.data(),
                                              buffers_.receive_type, world_.comm, &barrier_)))
            return ExchangeState::failed;
        stage_ = Stage::collective;
        return progress();
    }
    memory_.begin();
    if (steps_.empty()) {
        memory_.finish();
        return ExchangeState::ended;
    }
    step_ = next_send_ = next_need_ = next_signal_ = next_receive_ = next_end_ = next_noticed_ = 0;
    next_given_ = may_give_ = next_reason_ = 0;
    if (detects()) {
        undetected_ = plan_.receives.size();
        for (std::size_t k = undetected_; k-- > 0;) next_from_[plan_.receives.peer[k]] = k;
    }
    open_.clear();
    std::fill(sends_.ended.begin(), sends_.ended.end(), std::uint8_t{0});
    std::fill(receives_.ended.begin(), receives_.ended.end(), std::uint8_t{0});
    stage_ = Stage::enter;
    return progress();
}

template <class Handle>
ExchangeState RankExecutor<Handle>::progress() {
    for (;;) {
        ExchangeState state = ExchangeState::ended;
        if (undetected_ > 0 && !detect()) return ExchangeState::failed;
        if (next_given_ < may_give_ && !give_signals()) return ExchangeState::failed;
        switch (stage_) {
            case Stage::idle: return ExchangeState::ended;
            case Stage::enter: state = enter(); break;
            case Stage::barrier: state = pass_barrier(); break;
            case Stage::send: state = start_sends(); break;
            case Stage::receives: state = end_receives(); break;
            case Stage::sends: state = end_sends(); break;
            case Stage::signals: state = end_signals(); break;
            case Stage::collective: state = end_collective(); break;
        }
        if (state != ExchangeState::ended) return state;
    }
}

template <class Handle>
ExchangeState RankExecutor<Handle>::wait(double seconds, double nap_s) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    std::uint64_t seen = seen_;
    double nap = 0;
    for (int looks = 0;;) {
        const ExchangeState state = progress();
        if (state != ExchangeState::waiting) return state;
        if (seen_ != seen) {
            seen = seen_;
            looks = 0;
        }
        ++looks;
        if (nap_s == 0) {
            if (looks % kPollsPerCheck == 0) sched_yield();
        } else if (looks <= kPollsPerCheck) {
            sched_yield();
            nap = nap_s / kShortestNap;
        } else {
            std::this_thread::sleep_for(std::chrono::duration<double>(nap));
            nap = std::min(nap_s, 2 * nap);
        }
        if (looks % kPollsPerCheck == 0 && std::chrono::duration<double>(Clock::now() - began).count() > seconds)
            return ExchangeState::waiting;
    }
}

template <class Handle>
ExchangeState RankExecutor<Handle>::enter() {
    const RankStep& step = steps_[step_];
    for (std::size_t k = step.receive_begin, end = k; k < step.receive_end && !detects(); k = end) {
        end = receives_.run_end[k];
        if (!startall(receives_.handles, k, end)) return ExchangeState::failed;
    }
    for (std::size_t k = step.send_begin, end = k; k < step.send_end && !signals_in_.handles.empty(); k = end) {
        end = sends_.run_end[k];  // a peer's signals stand for its messages in their order
        if (!startall(signals_in_.handles, signals_in_.from(k), signals_in_.from(end))) return ExchangeState::failed;
    }
    if (plan_.sync == SyncKind::barrier && step_ > 0) {
        if (!fine("MPI_Ibarrier", world_.mpi.calls.ibarrier(world_.comm, &barrier_))) return ExchangeState::failed;
        stage_ = Stage::barrier;
        return ExchangeState::ended;
    }
    return begin_sends();
}

template <class Handle>
ExchangeState RankExecutor<Handle>::begin_sends() {
    may_give_ = signals_out_.from(steps_[step_].receive_end);
    stage_ = Stage::send;
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::pass_barrier() {
    bool ended = false;
    if (!test(barrier_, ended)) return ExchangeState::failed;
    return ended ? begin_sends() : ExchangeState::waiting;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::end_collective() {
    bool ended = false;
    if (!test(barrier_, ended)) return ExchangeState::failed;
    if (!ended) return ExchangeState::waiting;
    stage_ = Stage::idle;
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::take_in(int source) {
    const auto& [mpi, comm] = world_;
    int found = 0;
    ahead_ = false;
    if (!fine("MPI_Iprobe", mpi.calls.iprobe(source, kData, comm, &found, status_.get()))) return ExchangeState::failed;
    if (found == 0) return ExchangeState::waiting;
    std::memcpy(&source, status_.get() + mpi.source_at, sizeof source);
    std::size_t& next = next_from_[source];
    ahead_ = next == plan_.receives.size();
    if (ahead_) return ExchangeState::waiting;
    const std::size_t k = std::exchange(next, next_of_peer_[next]);
    const auto [count, type] = shape_of(plan_.receives, buffers_.receive_types, buffers_.receive_type, k);
    --undetected_;
    return fine("MPI_Irecv",
                mpi.calls.irecv(memory_.receive_address(k), count, type, source, kData, comm, &receives_.handles[k]))
               ? ExchangeState::ended
               : ExchangeState::failed;
}

// A rank that is ahead hides what others send, so that they are then asked one by one.
template <class Handle>
bool RankExecutor<Handle>::detect() {
    auto state = ExchangeState::ended;
    while (undetected_ > 0 && state == ExchangeState::ended) state = take_in(world_.mpi.any_source);
    if (!ahead_) return state != ExchangeState::failed;
    for (std::size_t peer = 0; peer < next_from_.size() && state != ExchangeState::failed; ++peer)
        for (state = ExchangeState::ended; state == ExchangeState::ended && next_from_[peer] < plan_.receives.size();)
            state = take_in(static_cast<int>(peer));
    return state != ExchangeState::failed;
}

template <class Handle>
bool RankExecutor<Handle>::give_signals() {
    const std::size_t begin = next_given_;
    auto state = ExchangeState::ended;
    for (; next_given_ < may_give_; ++next_given_) {
        state = needs_ended(plan_.signals, signals_out_.operation[next_given_], next_reason_);
        if (state != ExchangeState::ended) break;
    }
    return state != ExchangeState::failed && startall(signals_out_.handles, begin, next_given_);
}

template <class Handle>
ExchangeState RankExecutor<Handle>::needs_ended(const RankNeeds& needs, std::size_t k, std::size_t& next) {
    if (needs.offsets.empty()) return ExchangeState::ended;
    const std::size_t receives = plan_.receives.size();
    for (const std::size_t end = as_size(needs.offsets[k + 1]); next < end; ++next) {
        const std::size_t operation = as_size(needs.operations[next]);
        auto state = ExchangeState::waiting;  // as long as it has not started
        if (operation < receives)
            state = operation < steps_[step_].receive_end ? receive_ended(operation) : state;
        else if (operation - receives < next_send_)
            state = send_ended(operation - receives);
        if (state != ExchangeState::ended) return state;
    }
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::receive_ended(std::size_t k) {
    if (receives_.ended[k] != 0) return ExchangeState::ended;
    if (detects() && next_from_[plan_.receives.peer[k]] <= k) return ExchangeState::waiting;  // not detected
    bool ended = false;
    if (!test(receives_.handles[k], ended)) return ExchangeState::failed;
    if (!ended) return ExchangeState::waiting;
    receives_.ended[k] = 1;
    memory_.after_receive(k);
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::send_ended(std::size_t k) {
    if (sends_.ended[k] != 0) return ExchangeState::ended;
    bool ended = false;
    if (!test(sends_.handles[k], ended)) return ExchangeState::failed;
    if (!ended) return ExchangeState::waiting;
    sends_.ended[k] = 1;
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::has_place(std::size_t gathered) {
    if (plan_.in_flight == 0) return ExchangeState::ended;
    if (open_.size() + gathered < as_size(plan_.in_flight)) return ExchangeState::ended;
    for (auto each = open_.begin(); each != open_.end(); ++each) {
        const ExchangeState state = send_ended(*each);
        if (state == ExchangeState::ended) open_.erase(each);
        if (state != ExchangeState::waiting) return state;
    }
    return ExchangeState::waiting;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::may_start(std::size_t k, std::size_t gathered) {
    if (next_signal_ < signals_in_.operation.size() && signals_in_.operation[next_signal_] == k) {
        bool ended = false;
        if (!test(signals_in_.handles[next_signal_], ended)) return ExchangeState::failed;
        if (!ended) return ExchangeState::waiting;
        ++next_signal_;
    }
    if (const auto state = needs_ended(plan_.needs, k, next_need_); state != ExchangeState::ended) return state;
    return has_place(gathered);
}

template <class Handle>
ExchangeState RankExecutor<Handle>::start_sends() {
    const std::size_t step_end = steps_[step_].send_end;
    while (next_send_ < step_end) {
        const std::size_t begin = next_send_, run_end = sends_.run_end[begin];
        std::size_t end = begin;
        auto state = ExchangeState::ended;
        for (; end < run_end; ++end) {
            state = may_start(end, end - begin);
            if (state != ExchangeState::ended) break;
        }
        if (state == ExchangeState::failed) return state;
        memory_.before_sends(begin, end);
        if (!startall(sends_.handles, begin, end)) return ExchangeState::failed;
        if (plan_.in_flight != 0)
            for (std::size_t k = begin; k < end; ++k) open_.push_back(k);
        next_send_ = end;
        if (end == begin) return ExchangeState::waiting;
    }
    stage_ = Stage::receives;
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::end_receives() {
    for (const std::size_t end = steps_[step_].receive_end; next_receive_ < end; ++next_receive_)
        if (const auto state = receive_ended(next_receive_); state != ExchangeState::ended) return state;
    stage_ = Stage::sends;
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::end_sends() {
    for (const std::size_t end = steps_[step_].send_end; next_end_ < end; ++next_end_)
        if (const auto state = send_ended(next_end_); state != ExchangeState::ended) return state;
    open_.clear();
    if (step_ + 1 < steps_.size()) {
        ++step_;
        stage_ = Stage::enter;
    } else {
        memory_.finish();
        stage_ = signals_out_.handles.empty() ? Stage::idle : Stage::signals;
    }
    return ExchangeState::ended;
}

template <class Handle>
ExchangeState RankExecutor<Handle>::end_signals() {
    for (; next_noticed_ < signals_out_.handles.size(); ++next_noticed_) {
        bool ended = false;
        if (!test(signals_out_.handles[next_noticed_], ended)) return ExchangeState::failed;
        if (!ended) return ExchangeState::waiting;
    }
    stage_ = Stage::idle;
    return ExchangeState::ended;
}

// MPI says of a request that is not started, or was seen to end, that it has ended.
template <class Handle>
MissingPeers RankExecutor<Handle>::missing() {
    MissingPeers missing;
    missing.collective = stage_ == Stage::collective;
    if (!running() || missing.collective) return missing;
    missing.barrier = stage_ == Stage::barrier;
    const RankStep& step = steps_[missing.barrier ? step_ - 1 : step_];
    missing.step = step.number;
    if (missing.barrier) return missing;
    for (std::size_t k = step.receive_begin; k < step.receive_end; ++k)
        if (receive_ended(k) != ExchangeState::ended) missing.data.push_back(plan_.receives.peer[k]);
    for (std::size_t k = step.send_begin; k < next_send_; ++k)
        if (send_ended(k) != ExchangeState::ended) missing.taken.push_back(plan_.sends.peer[k]);
    const auto look = [&](Signals& signals, std::size_t begin, std::size_t end, const Array<std::int32_t>& peer,
                          Array<std::int32_t>& found) {
        for (std::size_t n = begin; n < end; ++n)
            if (bool ended = false; !test(signals.handles[n], ended) || !ended)
                found.push_back(peer[signals.operation[n]]);
    };
    look(signals_in_, next_signal_, signals_in_.from(step.send_end), plan_.sends.peer, missing.signals);
    if (stage_ == Stage::signals)
        look(signals_out_, next_noticed_, signals_out_.handles.size(), plan_.receives.peer, missing.noticed);
    return missing;
}

template <class Handle>
std::string RankExecutor<Handle>::describe(const MissingPeers& missing) const {
    if (missing.collective) return "MPI_Ialltoallv has not ended";
    std::string text = step_name(plan_, missing.step);
    const char* between = ": ";
    const auto add = [&](const char* what, const Array<std::int32_t>& peers) {
        Array<std::int32_t> named;  // each once
        for (const std::int32_t peer : peers) {
            if (std::find(named.begin(), named.end(), peer) != named.end()) continue;
            text += (named.empty() ? std::string(between) + what + " " : ", ") + std::to_string(peer);
            named.push_back(peer);
            between = "; ";
        }
    };
    add("no data from", missing.data);
    add("no signal from", missing.signals);
    add("data not taken by", missing.taken);
    add("signal not taken by", missing.noticed);
    if (missing.barrier) text += std::string(between) + "other ranks not at the barrier";
    return text;
}

template class RankExecutor<int>;
template class RankExecutor<void*>;

}  // namespace conset
