#include "conset/connections/packet_traffic.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

namespace conset {

namespace {

constexpr int kLooksPerYield = 16;
constexpr int kLooksPerClock = 32;                           // from one look at the clock to the next
constexpr double kInterruptEvery = 0.05;                     // [s]
constexpr double kShortestGrace = 0.2, kLongestGrace = 2.0;  // [s] for a rank's answer

void remove(Array<int>& numbers, int number) {
    numbers.erase(std::remove(numbers.begin(), numbers.end(), number), numbers.end());
}

void add_once(Array<int>& numbers, int number) {
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
}

}  // namespace

template <class Handle>
PacketTraffic<Handle>::PacketTraffic(const MpiWorld<Handle>& world, RankConnections connections_of_rank,
                                     const Packets& size)
    : part(std::move(connections_of_rank)),
      table(part),
      mpi(world, part.rank),
      chains(mpi, part.ranks),
      packets(size),
      connections(as_size(table.size())),
      windows(as_size(table.size())) {
    waiting.rank = part.rank;
    for (int number = 0; number < table.size(); ++number) windows[as_size(number)].send = table.sends(number) ? 1 : 0;
}

template <class Handle>
std::string PacketTraffic<Handle>::here() const {
    return phase_words(part, block, phase) + ": " + rank_words(part, part.rank);
}

template <class Handle>
void PacketTraffic<Handle>::require_size(int number, std::int64_t element_bytes) const {
    const std::int64_t declared = windows[as_size(number)].element_bytes;
    if (declared == 0 || declared == element_bytes) return;
    const std::string peer = rank_words(part, table.peer(number));
    const std::string given = std::to_string(element_bytes) + " B", other = std::to_string(declared) + " B";
    if (table.sends(number))
        fail(Code::mismatch, "sends an element of " + given + " to " + peer + ", its first was of " + other);
    fail(Code::mismatch, "receives an element of " + given + ", " + peer + " sends elements of " + other);
}

// A packet holds whole elements, where one fits.
template <class Handle>
void PacketTraffic<Handle>::open_packet(int number) {
    const std::int64_t one = windows[as_size(number)].element_bytes;
    const std::int64_t capacity = one == 0 || one > packets.bytes ? packets.bytes : packets.bytes / one * one;
    connections[as_size(number)].sender->open(capacity);
    in_hand_.push_back(number);
}

template <class Handle>
void PacketTraffic<Handle>::send_packet(int number, std::int64_t total) {
    auto& connection = connections[as_size(number)];
    const std::int64_t bytes = connection.busy ? connection.produced : connection.sender->filled();
    connection.sender->send({bytes, windows[as_size(number)].element_bytes, total, global_phase});
    connection.bytes += bytes;
    remove(in_hand_, number);
    ++packets_sent;
    ++moved_;
}

template <class Handle>
void PacketTraffic<Handle>::take_room(int number) {
    auto& connection = connections[as_size(number)];
    if (connection.sender->in_hand()) return;
    wait(WaitKind::credit, table.peer(number), [&] { return connection.sender->may_open(); });
    open_packet(number);
}

template <class Handle>
bool PacketTraffic<Handle>::find_packet(int number) {
    auto& connection = connections[as_size(number)];
    if (connection.receiver->in_hand()) return true;
    if (!connection.receiver->look()) return false;
    const PacketHeader& header = connection.receiver->header();
    if (header.phase != global_phase) {
        failed = true;
        fail(Code::mismatch, "hears of " + rank_words(part, table.peer(number)) + " in " +
                                 phase_words(part, header.phase) + ": ranks open different phases");
    }
    if (header.element_bytes > 0) windows[as_size(number)].element_bytes = header.element_bytes;
    ++moved_;
    return true;
}

template <class Handle>
void PacketTraffic<Handle>::release_packet(int number) {
    auto& connection = connections[as_size(number)];
    const PacketHeader header = connection.receiver->header();
    connection.bytes += header.bytes;
    if (header.total >= 0) {
        connection.ended = true;
        connection.total = header.total;
    }
    connection.receiver->release();
    report(number);
}

template <class Handle>
void PacketTraffic<Handle>::report(int number) {
    auto& connection = connections[as_size(number)];
    if (connection.receiver->report(connection.ended))
        remove(unreported, number);
    else
        add_once(unreported, number);
}

template <class Handle>
void PacketTraffic<Handle>::take_elements(int number, std::int64_t element_bytes, std::int64_t missing_bytes) {
    for (;;) {
        if (connections[as_size(number)].ended) fail_beyond(number, element_bytes, missing_bytes);
        wait(WaitKind::element, table.peer(number), [&] { return find_packet(number); });
        require_size(number, element_bytes);
        if (windows[as_size(number)].room > 0) return;
        release_packet(number);
    }
}

template <class Handle>
void PacketTraffic<Handle>::fail_beyond(int number, std::int64_t element_bytes, std::int64_t missing_bytes) const {
    const auto& connection = connections[as_size(number)];
    // both are below 2^63
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(connection.bytes) + static_cast<std::uint64_t>(missing_bytes);
    const std::uint64_t wanted = bytes / static_cast<std::uint64_t>(element_bytes);
    fail(Code::mismatch, "receives " + std::to_string(wanted) + " elements of " + rank_words(part, table.peer(number)) +
                             ", which has sent " + std::to_string(connection.total));
}

template <class Handle>
void PacketTraffic<Handle>::wait_for_spool(int number) {
    auto& connection = connections[as_size(number)];
    if (!spooling.empty()) advance();
    wait(table.sends(number) ? WaitKind::credit : WaitKind::element, table.peer(number),
         [&] { return connection.spool.empty(); });
    if (connection.spool_failure.empty()) return;
    throw Failure(Code::mismatch, std::exchange(connection.spool_failure, {}));
}

template <class Handle>
void PacketTraffic<Handle>::flush() {
    for (std::size_t k = in_hand_.size(); k-- > 0;) {  // what is sent leaves the list
        const int number = in_hand_[k];
        const auto& connection = connections[as_size(number)];
        if ((connection.busy ? connection.produced : connection.sender->filled()) > 0) send_packet(number, -1);
    }
}

template <class Handle>
void PacketTraffic<Handle>::advance() {
    for (std::size_t k = unreported.size(); k-- > 0;) report(unreported[k]);
    for (std::size_t k = spooling.size(); k-- > 0;) {
        const int number = spooling[k];
        if (table.sends(number))
            advance_send(number);
        else
            advance_receive(number);
        if (connections[as_size(number)].spool.empty()) remove(spooling, number);
    }
}

template <class Handle>
void PacketTraffic<Handle>::advance_send(int number) {
    auto& connection = connections[as_size(number)];
    PacketWindow& window = windows[as_size(number)];
    while (!connection.spool.empty()) {
        if (!connection.sender->in_hand()) {
            if (!connection.sender->may_open()) return;
            open_packet(number);
        }
        SpooledBlock& next = connection.spool.front();
        const std::int64_t bytes = std::min(next.bytes, window.room);
        std::memcpy(window.at, next.from, as_size(bytes));
        window.advance(bytes);
        next.from += bytes;
        next.bytes -= bytes;
        if (next.bytes == 0) connection.spool.pop_front();
        if (window.room == 0) send_packet(number, -1);
    }
}

// Whether a packet of the elements that are spooled is in hand. What is wrong is for who waits for them.
template <class Handle>
bool PacketTraffic<Handle>::ready_to_read(int number, const SpooledBlock& next) {
    auto& connection = connections[as_size(number)];
    try {
        if (connection.ended) fail_beyond(number, next.element_bytes, next.bytes);
        if (!find_packet(number)) return false;
        require_size(number, next.element_bytes);
        return true;
    } catch (const Failure& failure) {
        if (failed || mpi.failed()) throw;
        connection.spool_failure = failure.what();
        connection.spool.clear();
        return false;
    }
}

template <class Handle>
void PacketTraffic<Handle>::advance_receive(int number) {
    auto& connection = connections[as_size(number)];
    PacketWindow& window = windows[as_size(number)];
    while (!connection.spool.empty() && ready_to_read(number, connection.spool.front())) {
        SpooledBlock& next = connection.spool.front();
        const std::int64_t bytes = std::min(next.bytes, window.room);
        std::memcpy(next.to, window.at, as_size(bytes));
        window.advance(bytes);
        next.to += bytes;
        next.bytes -= bytes;
        if (next.bytes == 0) connection.spool.pop_front();
        if (window.room == 0) release_packet(number);
    }
}

template <class Handle>
void PacketTraffic<Handle>::pause(Look& look) const {
    ++look.looks;
    if (nap_s > 0)
        look.polling.pause();
    else if (look.looks % kLooksPerYield == 0)
        sched_yield();
}

template <class Handle>
void PacketTraffic<Handle>::look_around(Look& look) {
    pause(look);
    if (look.looks % kLooksPerClock != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (look.moved < 0) look.interrupted = now;
    if (moved_ != look.moved) {
        look.moved = moved_;
        look.since = now;
        look.polling.found();
    }
    chains.answer(waiting);
    if (interrupt && std::chrono::duration<double>(now - look.interrupted).count() > kInterruptEvery) {
        failed = true;  // where it throws
        interrupt();
        failed = false;
        look.interrupted = now;
    }
    if (timeout_s == 0) return;
    if (const std::string told = chains.told(waiting); !told.empty()) give_up(told);
    if (std::chrono::duration<double>(now - look.since).count() <= timeout_s) return;
    give_up(chains.diagnose(waiting, std::clamp(timeout_s, kShortestGrace, kLongestGrace), [&] { pause(look); }));
}

template <class Handle>
void PacketTraffic<Handle>::give_up(const std::string& waits) {
    failed = true;
    std::array<char, 32> after{};
    static_cast<void>(std::snprintf(after.data(), after.size(), "%.3g s", timeout_s));
    throw Failure(Code::timeout, here() + ": nothing has moved for " + after.data() + ": " + waits);
}

template struct PacketTraffic<int>;
template struct PacketTraffic<void*>;

}  // namespace conset
