// Switches of a network in user space: packets of a real program cross it hop by hop, each at its own time.
//
// What queues of the kernel cannot do, these can: lossless links with back-pressure.
//
//   credit  Every input of a node has one FIFO of so many bytes. A packet moves on only when its output is free and the
//           next node has room for all of it. The head of a FIFO blocks what is behind it, so congestion spreads as in
//           a network of wormholes or of InfiniBand. Nothing is ever dropped. Where the buffers of routes form no cycle
//           (a mesh under dimension order, trees), there is no deadlock.
//   fair    Outputs have queues without limit, one for each pair of source and target, served round robin: an ideal
//           network of fair shares.
//
// A packet may leave as soon as its first byte has arrived (virtual cut-through), or when it is complete.
//
// Nothing here reads a clock or a device: a caller injects packets at their time, runs events up to a time, and is
// called back where a packet arrives and where an endpoint has room again. Tests do that without privileges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "conset/array.hpp"

namespace conset::testbed {

using Nanoseconds = std::int64_t;

// One direction of a wire.
struct Link {
    std::int32_t source = 0;
    std::int32_t target = 0;
    double bits_per_s = 0;
};

// Nodes 0 … nodes - 1, of which the first endpoints hold programs; next[node * endpoints + target] is the link that
// leads from a node towards an endpoint, -1 where no route comes by.
struct Network {
    std::int32_t endpoints = 0;
    std::int32_t nodes = 0;
    Array<Link> links;
    Array<std::int32_t> next;
};

enum class Discipline : std::uint8_t { credit, fair };

struct Options {
    Discipline discipline = Discipline::credit;
    std::int64_t buffer_bytes = 12288;  // of every input; of fair queues no limit
    Nanoseconds latency = 0;            // of every hop
    bool store_and_forward = false;
};

// What travels: `wire_bytes` take time on links, `data` is what the target gets.
struct Packet {
    std::int32_t source = 0;
    std::int32_t target = 0;
    std::int64_t wire_bytes = 0;
    std::vector<std::byte> data;
};
using PacketPointer = std::unique_ptr<Packet>;

struct LinkCounters {
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    Nanoseconds busy = 0;
};

struct Callbacks {
    std::function<void(PacketPointer, Nanoseconds)> deliver;
    std::function<void(std::int32_t, Nanoseconds)> room;  // an endpoint may inject again
};

class Switches {
public:
    // Throws std::invalid_argument where the network or an option makes no sense.
    Switches(Network network, Options options, Callbacks callbacks);
    virtual ~Switches() = default;
    Switches(const Switches&) = delete;
    Switches& operator=(const Switches&) = delete;
    Switches(Switches&&) = delete;
    Switches& operator=(Switches&&) = delete;

    // Whether an endpoint may inject: its own FIFO is not full.
    virtual bool has_room(std::int32_t endpoint) const = 0;
    // Takes a packet at its source; throws std::invalid_argument where no route leads to its target, or no buffer holds
    // it.
    void inject(PacketPointer packet, Nanoseconds time);
    bool idle() const { return events_.empty(); }
    // When the next event is; there must be one.
    Nanoseconds next_time() const { return events_.top().time; }
    // Executes all events up to a time, each at its own: a caller who comes late delays packets, but loses no
    // bandwidth.
    void run_until(Nanoseconds time);

    const Array<LinkCounters>& counters() const { return counters_; }
    std::int64_t injected() const { return injected_; }
    std::int64_t delivered() const { return delivered_; }
    // How late events were executed, at most, since it was asked.
    Nanoseconds take_worst_lateness();

protected:
    // A packet at a node: when it may start to leave, and when its last byte is there.
    struct Slot {
        PacketPointer packet;
        std::int64_t bytes = 0;  // of the packet, which may have gone ahead
        Nanoseconds eligible = 0;
        Nanoseconds tail = 0;
        bool sending = false;
    };
    // Ports: a link's number names its output at its source and its input at its target; after the links come
    // injection (an input) and ejection (an output) of every endpoint.
    using Port = std::int32_t;
    enum class EventKind : std::uint8_t { sent, eligible };

    virtual void accept(Port input, Slot slot, Nanoseconds time) = 0;
    virtual void sent(Port output, Nanoseconds time) = 0;
    virtual void eligible(Port input, Nanoseconds time) = 0;

    Port local(std::int32_t endpoint) const { return links() + endpoint; }
    bool is_local(Port port) const { return port >= links(); }
    std::int32_t links() const { return static_cast<std::int32_t>(network_.links.size()); }
    std::int32_t ports() const { return links() + network_.endpoints; }
    std::int32_t node_of_input(Port input) const;
    std::int32_t node_of_output(Port output) const;
    // The output of a node that leads to an endpoint.
    Port output_towards(std::int32_t node, std::int32_t endpoint) const;
    // When a packet has left by an output, if it starts now: not before its own tail has come in.
    Nanoseconds end_of_sending(Port output, const Slot& slot, Nanoseconds time);
    // When the same packet may leave the next node, and when its tail is there.
    Slot arriving(PacketPointer packet, Nanoseconds start, Nanoseconds end) const;
    void schedule(EventKind kind, Port port, Nanoseconds time);
    void deliver(PacketPointer packet, Nanoseconds time);
    void offer_room(std::int32_t endpoint, Nanoseconds time);
    const Network& network() const { return network_; }
    const Options& options() const { return options_; }

private:
    struct Event {
        Nanoseconds time;
        std::int64_t number;  // among equals the first that was scheduled
        EventKind kind;
        Port port;
        bool operator<(const Event& other) const {
            return time != other.time ? time > other.time : number > other.number;
        }
    };

    Network network_;
    Options options_;
    Callbacks callbacks_;
    std::priority_queue<Event> events_;
    std::int64_t scheduled_ = 0, injected_ = 0, delivered_ = 0;
    Nanoseconds worst_lateness_ = 0;
    Array<LinkCounters> counters_;
};

std::unique_ptr<Switches> make_switches(Network network, Options options, Callbacks callbacks);

}  // namespace conset::testbed
