#include "conset/connections/phase_switch.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "conset/runtime/agreement.hpp"
#include "conset/runtime/host.hpp"

namespace conset {

namespace {

// Adds the time of a scope.
class Stopwatch {
public:
    explicit Stopwatch(double& sum) : sum_(&sum), began_(std::chrono::steady_clock::now()) {}
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() { *sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

private:
    double* sum_;
    std::chrono::steady_clock::time_point began_;
};

}  // namespace

template <class Handle>
PhaseSwitch<Handle>::~PhaseSwitch() {
    for (const int number : open_) {
        auto& connection = traffic_->connections[as_size(number)];
        if (connection.sender) connection.sender->forget();
        if (connection.receiver) connection.receiver->forget();
    }
}

template <class Handle>
SwitchTimes PhaseSwitch<Handle>::times() const {
    SwitchTimes times = times_;
    times.packets = traffic_->packets_sent;
    times.elements = traffic_->elements_sent;
    return times;
}

template <class Handle>
void PhaseSwitch<Handle>::instantiate(int block, int phase, std::int64_t global) {
    auto& traffic = *traffic_;
    const int context = traffic.part.phase_context[global];
    std::tie(traffic.block, traffic.phase, traffic.global_phase) = std::tuple(block, phase, global);
    if (!started()) {
        start();
        set_up(context);
    } else if (context != context_) {
        change(context);
    }
    for (const int number : traffic.table.of_phase(global)) {
        auto& connection = traffic.connections[as_size(number)];
        connection.active = true;
        connection.ended = false;
        connection.bytes = connection.unread = connection.total = 0;
        traffic.windows[as_size(number)].element_bytes = 0;
    }
    traffic.in_phase = true;
}

// All ranks agree on packets, and on whether they share cores.
template <class Handle>
void PhaseSwitch<Handle>::start() {
    auto& traffic = *traffic_;
    Collectives<Handle> collectives(traffic.mpi.world());
    collectives.set_deadline(traffic.timeout_s, phase_words(traffic.part, traffic.block, traffic.phase));
    Digest digest;
    digest.add(static_cast<std::uint64_t>(traffic.packets.bytes));
    digest.add(static_cast<std::uint64_t>(traffic.packets.credits));
    const std::string given = "packets of " + std::to_string(traffic.packets.bytes) + " B and " +
                              std::to_string(traffic.packets.credits) + " credits, rank 0 has others";
    traffic.failed = true;  // where it throws
    const Outcome outcome = agree(collectives, {}, digest.value(), given.c_str());
    if (outcome.fine()) traffic.nap_s = ranks_per_core(collectives.all_gather(host_place())) > 1 ? kLongestNap : 0;
    traffic.failed = false;
    if (!outcome.fine()) throw Failure(outcome.code, outcome.detail);
}

template <class Handle>
void PhaseSwitch<Handle>::change(int context) {
    wait_until_read();
    pass_barrier();
    set_up(context);
    ++times_.switches;
}

template <class Handle>
void PhaseSwitch<Handle>::wait_until_read() {
    const Stopwatch stopwatch(times_.drain_s);
    auto& traffic = *traffic_;
    for (const int number : open_) {
        auto& sender = traffic.connections[as_size(number)].sender;
        if (sender) traffic.wait(WaitKind::read, traffic.table.peer(number), [&] { return sender->read(); });
    }
}

template <class Handle>
void PhaseSwitch<Handle>::pass_barrier() {
    const Stopwatch stopwatch(times_.synchronization_s);
    auto& traffic = *traffic_;
    Handle request = traffic.mpi.barrier();
    traffic.wait(WaitKind::all, -1, [&] { return traffic.mpi.ended(request); });
}

template <class Handle>
void PhaseSwitch<Handle>::set_up(int context) {
    const Stopwatch stopwatch(times_.setup_s);
    traffic_->failed = true;  // where it throws: some connections are open, and others are not
    const auto wanted = traffic_->table.of_context(context);
    Array<int> closing, opening;
    std::set_difference(open_.begin(), open_.end(), wanted.begin(), wanted.end(), std::back_inserter(closing));
    std::set_difference(wanted.begin(), wanted.end(), open_.begin(), open_.end(), std::back_inserter(opening));
    for (const int number : closing) close(number);
    open_.assign(wanted.begin(), wanted.end());
    for (const int number : opening) open(number);
    join_own();
    context_ = context;
    traffic_->failed = false;
}

template <class Handle>
PacketPlaces PhaseSwitch<Handle>::places() {
    if (unused_.empty()) return PacketPlaces(traffic_->packets);
    PacketPlaces last = std::move(unused_.back());
    unused_.pop_back();
    return last;
}

template <class Handle>
void PhaseSwitch<Handle>::open(int number) {
    auto& traffic = *traffic_;
    auto& connection = traffic.connections[as_size(number)];
    const int peer = traffic.table.peer(number), copy = traffic.table.copy(number);
    PacketWindow& window = traffic.windows[as_size(number)];
    if (traffic.table.sends(number))
        connection.sender =
            std::make_unique<PacketSender<Handle>>(traffic.mpi, traffic.packets, peer, copy, places(), window);
    else
        connection.receiver =
            std::make_unique<PacketReceiver<Handle>>(traffic.mpi, traffic.packets, peer, copy, places(), window);
}

template <class Handle>
void PhaseSwitch<Handle>::close(int number) {
    auto& connection = traffic_->connections[as_size(number)];
    if (connection.sender)
        unused_.push_back(connection.sender->close());
    else
        unused_.push_back(connection.receiver->close());
    connection.sender.reset();
    connection.receiver.reset();
}

// The two ends of a connection of this rank with itself know each other.
template <class Handle>
void PhaseSwitch<Handle>::join_own() const {
    auto& traffic = *traffic_;
    const int to = traffic.table.find(traffic.part.rank, true), from = traffic.table.find(traffic.part.rank, false);
    if (to < 0 || from < 0) return;
    auto& sender = traffic.connections[as_size(to)].sender;
    auto& receiver = traffic.connections[as_size(from)].receiver;
    if (!sender || !receiver) return;
    sender->join(*receiver);
    receiver->join(*sender);
}

template <class Handle>
void PhaseSwitch<Handle>::end_phase() {
    auto& traffic = *traffic_;
    Array<int> pending;
    for (const int number : traffic.table.of_phase(traffic.global_phase)) pending.push_back(number);
    const Array<int> all = pending;
    {
        const Stopwatch stopwatch(times_.drain_s);
        traffic.wait(WaitKind::end, -1, [&] { return end_all(pending); });
    }
    std::string wrong;
    for (const int number : all) {
        auto& connection = traffic.connections[as_size(number)];
        if (wrong.empty()) wrong = connection.spool_failure.empty() ? unread(number) : connection.spool_failure;
        connection.spool_failure.clear();
        connection.active = false;
        traffic.windows[as_size(number)].room = traffic.windows[as_size(number)].element_bytes = 0;
    }
    traffic.in_phase = false;
    ++times_.phases;
    if (!wrong.empty()) throw Failure(Code::mismatch, wrong);
}

// Whether none is left; else the rank waits for the first that is.
template <class Handle>
bool PhaseSwitch<Handle>::end_all(Array<int>& pending) {
    auto& traffic = *traffic_;
    pending.erase(std::remove_if(pending.begin(), pending.end(), [&](int number) { return end(number); }),
                  pending.end());
    if (pending.empty()) return true;
    traffic.waiting.peer = traffic.table.peer(pending[0]);
    traffic.waiting.kind = traffic.table.sends(pending[0]) ? WaitKind::credit : WaitKind::end;
    return false;
}

template <class Handle>
bool PhaseSwitch<Handle>::end(int number) {
    auto& connection = traffic_->connections[as_size(number)];
    if (!connection.spool.empty()) return false;
    return traffic_->table.sends(number) ? end_send(number) : end_receive(number);
}

template <class Handle>
bool PhaseSwitch<Handle>::end_send(int number) {
    auto& connection = traffic_->connections[as_size(number)];
    auto& sender = *connection.sender;
    if (!connection.ended) {
        if (!sender.in_hand()) {
            if (!sender.may_open()) return false;
            traffic_->open_packet(number);
        }
        const std::int64_t one = traffic_->windows[as_size(number)].element_bytes;
        const std::int64_t elements = one == 0 ? 0 : (connection.bytes + sender.filled()) / one;
        traffic_->send_packet(number, elements);
        traffic_->elements_sent += elements;
        connection.ended = true;
    }
    return sender.left();
}

// Reads to the end, also what nobody has asked for: its sender would wait for ever.
template <class Handle>
bool PhaseSwitch<Handle>::end_receive(int number) {
    auto& connection = traffic_->connections[as_size(number)];
    const PacketWindow& window = traffic_->windows[as_size(number)];
    while (!connection.ended) {
        if (!traffic_->find_packet(number)) return false;
        connection.unread += window.room;
        traffic_->release_packet(number);
    }
    return true;
}

template <class Handle>
std::string PhaseSwitch<Handle>::unread(int number) const {
    const auto& connection = traffic_->connections[as_size(number)];
    const std::int64_t one = traffic_->windows[as_size(number)].element_bytes;
    if (traffic_->table.sends(number) || connection.unread == 0) return {};
    return traffic_->here() + " has received " + std::to_string((connection.bytes - connection.unread) / one) + " of " +
           std::to_string(connection.total) + " elements of " +
           rank_words(traffic_->part, traffic_->table.peer(number)) + " when the phase ends";
}

template <class Handle>
void PhaseSwitch<Handle>::close() {
    auto& traffic = *traffic_;
    const bool sound = !traffic.failed && !traffic.mpi.failed();
    if (sound) {
        wait_until_read();
        traffic.wait(WaitKind::all, -1, [&] { return traffic.unreported.empty(); });
    }
    for (const int number : open_) {
        auto& connection = traffic.connections[as_size(number)];
        if (sound) {
            close(number);
        } else {
            if (connection.sender) connection.sender->abandon();
            if (connection.receiver) connection.receiver->abandon();
        }
    }
    open_.clear();
    traffic.chains.close();
    unused_.clear();
}

template class PhaseSwitch<int>;
template class PhaseSwitch<void*>;

}  // namespace conset
