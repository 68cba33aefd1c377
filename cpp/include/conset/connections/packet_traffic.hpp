// The packets of an open program's connections: what is in hand, what is spooled, and how a rank waits.
//
// Nothing but `wait` waits. While a rank waits it goes on with what is spooled, sends packets that are not full, says
// what it has read where that could not be said before, and answers ranks whose deadline has passed. Only for the
// sources of OpenProgram.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conset/connections/connection_table.hpp"
#include "conset/connections/open_program.hpp"
#include "conset/connections/packet_ends.hpp"
#include "conset/connections/wait_chains.hpp"
#include "conset/runtime/collectives.hpp"

namespace conset {

// A block in the background; one of the addresses is null.
struct SpooledBlock {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;  // that are left
    std::int64_t element_bytes = 0;
};

template <class Handle>
struct TrafficConnection {
    // One of them, while the connection is open.
    std::unique_ptr<PacketSender<Handle>> sender;
    std::unique_ptr<PacketReceiver<Handle>> receiver;

    // Of the phase.
    bool active = false;
    bool busy = false;          // an operator or producer of the application runs
    bool ended = false;         // its last packet was sent, or read
    std::int64_t bytes = 0;     // of elements in packets that were sent, or read
    std::int64_t unread = 0;    // of these, when the phase ended
    std::int64_t total = 0;     // elements, as the source's last packet says
    std::int64_t produced = 0;  // bytes in the packet in hand before a producer was called
    std::deque<SpooledBlock> spool;
    std::string spool_failure;  // of what was spooled to receive
};

template <class Handle>
struct PacketTraffic {
    PacketTraffic(const MpiWorld<Handle>& world, RankConnections connections_of_rank, const Packets& size);

    // `block 'halo', phase 1: rank 3 (node 5)`
    std::string here() const;
    [[noreturn]] void fail(Code code, const std::string& what) const { throw Failure(code, here() + " " + what); }
    // Throws: elements of another size than the connection's.
    void require_size(int number, std::int64_t element_bytes) const;

    // To send: waits until elements may be written; sends what is in hand, `total` is -1 but in the last packet.
    void take_room(int number);
    void open_packet(int number);
    void send_packet(int number, std::int64_t total);
    // To receive: whether a packet is in hand, or there is a next one; waits until elements may be read, where
    // `missing_bytes` are still asked for; gives back what was read.
    bool find_packet(int number);
    void take_elements(int number, std::int64_t element_bytes, std::int64_t missing_bytes);
    void release_packet(int number);

    // Waits until done() is true, which it may become by itself or by what goes on in the background.
    template <class Done>
    void wait(WaitKind kind, int peer, Done done);
    // Goes on with what is spooled, and waits until nothing is on this connection.
    void wait_for_spool(int number);

    // Sends packets that are not full.
    void flush();
    // Goes on with what is spooled.
    void advance();

    RankConnections part;
    ConnectionTable table;
    CheckedMpi<Handle> mpi;
    WaitChains<Handle> chains;
    Packets packets;
    double timeout_s = 0, nap_s = 0;
    std::function<void()> interrupt;
    std::vector<TrafficConnection<Handle>> connections;  // by number
    std::vector<PacketWindow> windows;

    bool in_phase = false, failed = false;
    int block = 0, phase = 0;
    std::int64_t global_phase = 0;
    Array<int> spooling;    // connections with spooled blocks
    Array<int> unreported;  // receivers that could not say what they have read
    Wait waiting;
    std::int64_t packets_sent = 0, elements_sent = 0;

private:
    struct Look {
        std::chrono::steady_clock::time_point since, interrupted;  // the last move; the last look for an interrupt
        std::int64_t moved = -1, looks = 0;
        Polling polling;
    };
    void pause(Look& look) const;
    void look_around(Look& look);
    [[noreturn]] void give_up(const std::string& waits);
    [[noreturn]] void fail_beyond(int number, std::int64_t element_bytes, std::int64_t missing_bytes) const;
    void report(int number);
    void advance_send(int number);
    void advance_receive(int number);
    bool ready_to_read(int number, const SpooledBlock& next);

    Array<int> in_hand_;  // senders that have a packet
    std::int64_t waits_ = 0, moved_ = 0;
};

template <class Handle>
template <class Done>
void PacketTraffic<Handle>::wait(WaitKind kind, int peer, Done done) {
    if (done()) return;
    struct Ended {
        Wait* waiting;
        ~Ended() { waiting->kind = WaitKind::none; }
    } const ended{&waiting};
    waiting = {part.rank, kind, peer, 0, ++waits_};
    Look look{{}, {}, -1, 0, Polling(nap_s)};
    for (;;) {
        advance();
        flush();
        if (done()) return;
        look_around(look);
    }
}

extern template struct PacketTraffic<int>;
extern template struct PacketTraffic<void*>;

}  // namespace conset
