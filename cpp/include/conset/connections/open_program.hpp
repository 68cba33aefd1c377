// Connections of a program, opened as a set and used element by element.
//
//     program.instantiate(block, phase);                         // its connections are open
//     const int to = program.connection(3, true), from = program.connection(5, false);
//     program.send(to, &x, 1, sizeof(x));                        // on several connections, in any order
//     program.receive(from, &y, 1, sizeof(y));
//     program.phase_end();
//
// Elements travel in packets. At most `credits` packets of a connection are anywhere: being filled, under way, or not
// yet read; a sender that has used them up waits until its receiver has read one. A packet leaves when it is full, and
// one that is not, at the latest when its rank has to wait for anything, calls `progress`, or ends the phase. So a
// program ends whose receives follow, on every rank, some interleaving of the senders' ends. Others wait in a cycle:
// with a deadline they end with Code::timeout, and the cycle in words.
//
// Phase: the first send of a phase declares the size of its connection's elements. `phase_end` sends to every target
// how many elements there were, waits for what every source says of its own, and until this rank's packets have left
// it; elements that were not read are an error then. It does not wait for targets to read: the next phase of the same
// context begins at once, and its packets follow those of this one under the same credits. Switch: `instantiate` of a
// phase of another context waits until the packets of all open connections are read (drain, as is the time of
// `phase_end`), for all ranks (synchronization), then closes the connections that the new context lacks and opens those
// that it adds (set-up). The first `instantiate` opens a context too and is no switch.
//
// Memory: credits * (bytes + 32) at either end of a connection, from set-up on; a closed connection's is used again by
// the next that opens, and given back by `close`. A connection of a rank with itself is a queue of packets in memory
// under the same rules.
//
// Spooling: blocks are queued at their connection, and packets filled or read whenever a call fills or reads a packet,
// waits, or makes progress. The memory is the program's until `spool_wait` or `phase_end` has returned. What is sent or
// received on that connection afterwards comes after it.
//
// Errors are Failure. After Code::argument and Code::state all is as before; after Code::mismatch of `phase_end` the
// phase has ended; after Code::timeout and Code::mpi, where ranks open different phases, and where memory has not
// sufficed for connections, only `close` is of use. Not for two threads at once. The destructor calls nothing of MPI,
// which may be over by then.
//
// Cost: an element that fits the packet in hand is a comparison and a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

#include "conset/connections/rank_connections.hpp"
#include "conset/execution/mpi_calls.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

struct Packets {
    std::int64_t bytes = 4096;  // of elements in one packet; 1 to 2^30
    std::int32_t credits = 4;   // packets of a connection that may be filled, under way or unread; 1 to 2^20
};

// Sums of this rank.
struct SwitchTimes {
    std::int64_t phases = 0;    // that have ended
    std::int64_t switches = 0;  // from one context to another
    double drain_s = 0, synchronization_s = 0, setup_s = 0;
    std::int64_t packets = 0, elements = 0;  // that were sent, end marks without elements included
};

// What is left of the packet in hand: room to write, or elements to read. An element that leaves some of it needs no
// more than a copy; what fills or empties a packet is for OpenProgram.
struct PacketWindow {
    std::byte* at = nullptr;
    std::int64_t room = 0;  // [B]; 0: no packet in hand, or no phase
    std::int64_t element_bytes = 0;
    std::int32_t send = 0;  // 1: to write

    // Whether elements fit and leave some of it.
    bool fits(std::int64_t count, std::int64_t bytes_of_one, std::int32_t sends) const {
        return count > 0 && count < room && bytes_of_one == element_bytes && sends == send &&
               count * bytes_of_one < room;
    }
    void advance(std::int64_t bytes) {
        at += bytes;
        room -= bytes;
    }
};

// Consumes a run of elements that has arrived; writes a run of elements that are to be sent.
using Operator = void (*)(const void* elements, std::int64_t count, void* state);
using Producer = void (*)(void* elements, std::int64_t count, void* state);

template <class Handle>
class OpenProgram {
public:
    // Nobody else sends on the world's communicator. Local. `timeout_s` 0: no deadline. Throws Failure
    // (Code::argument): packets, deadline.
    OpenProgram(const MpiWorld<Handle>& world, RankConnections part, Packets packets, double timeout_s);
    OpenProgram(const OpenProgram&) = delete;
    OpenProgram& operator=(const OpenProgram&) = delete;
    ~OpenProgram();

    // Throws Failure (Code::state) after the first `instantiate`; all ranks must agree by then (Code::mismatch).
    void set_packets(Packets packets);
    void set_timeout(double seconds);
    // Called about 20 times a second while this rank waits; what it throws ends the wait, and the program as a timeout
    // does.
    void set_interrupt(std::function<void()> check);

    const RankConnections& part() const;
    // Of a block; throws Failure (Code::argument) where there is none.
    std::int64_t phases(int block) const;
    // The global phase; throws Failure (Code::argument).
    std::int64_t global_phase(int block, int phase) const;

    // Collective where the context changes, and the first time. Phases are those of the block's schedule, from 0 on.
    void instantiate(int block, int phase);
    bool in_phase() const;
    // After Code::timeout, Code::mpi, an interrupt, too little memory for connections: messages may be left on the
    // communicator, which must not be freed.
    bool failed() const;
    // A number for this pair, the same in all phases. Throws Failure (Code::argument) where the phase that is open does
    // not hold the connection, Code::state where none is.
    int connection(int peer, bool send) const;
    int connection(int id) const;

    void send(int connection, const std::byte* data, std::int64_t count, std::int64_t element_bytes) {
        if (connection >= 0 && connection < connections_) {
            PacketWindow& window = windows_[connection];
            if (window.fits(count, element_bytes, 1)) {
                std::memcpy(window.at, data, static_cast<std::size_t>(count * element_bytes));
                return window.advance(count * element_bytes);
            }
        }
        send_slowly(connection, data, count, element_bytes);
    }
    void receive(int connection, std::byte* data, std::int64_t count, std::int64_t element_bytes) {
        if (connection >= 0 && connection < connections_) {
            PacketWindow& window = windows_[connection];
            if (window.fits(count, element_bytes, 0)) {
                std::memcpy(data, window.at, static_cast<std::size_t>(count * element_bytes));
                return window.advance(count * element_bytes);
            }
        }
        receive_slowly(connection, data, count, element_bytes);
    }
    // Systolic: elements where they lie in a packet, in runs of at least one, in order. `apply` and `produce` may use
    // other connections, not this one. An element fits a packet.
    void receive_apply(int connection, std::int64_t count, std::int64_t element_bytes, Operator apply, void* state);
    void send_computed(int connection, std::int64_t count, std::int64_t element_bytes, Producer produce, void* state);

    void spool_send(int connection, const std::byte* data, std::int64_t count, std::int64_t element_bytes);
    void spool_receive(int connection, std::byte* data, std::int64_t count, std::int64_t element_bytes);
    // Until all that is spooled on the connection has left, or arrived.
    void spool_wait(int connection);

    // Goes on with what is spooled without waiting, and sends packets that are not full; false: nothing is spooled.
    bool progress();

    void phase_end();
    SwitchTimes times() const;
    // Frees requests and memory. Collective. Throws Failure (Code::state) in a phase, where nothing has failed before,
    // and in an operator or producer.
    void close();

    // Of a number from `connection`; for callers that copy elements themselves. It lives as long as the program.
    PacketWindow* window(int connection) { return windows_ + connection; }

private:
    struct State;
    void send_slowly(int connection, const std::byte* data, std::int64_t count, std::int64_t element_bytes);
    void receive_slowly(int connection, std::byte* data, std::int64_t count, std::int64_t element_bytes);

    std::unique_ptr<State> state_;
    PacketWindow* windows_ = nullptr;  // of `state_`, by connection
    int connections_ = 0;
};

extern template class OpenProgram<int>;
extern template class OpenProgram<void*>;

}  // namespace conset
