// One run of the wormhole model: its events, and what they change. The life of a message stands in wormhole.hpp.
//
//   wormhole.cpp            the clock, posting, signals
//   wormhole_headers.cpp    headers and the streams behind them
//   wormhole_receivers.cpp  receives, system buffers, requests and grants
//   wormhole_circle.cpp     who waits for whom when nothing happens any more
#pragma once

#include <deque>
#include <functional>
#include <tuple>
#include <utility>

#include "conset/wormhole.hpp"
#include "conset/wormhole_channels.hpp"
#include "conset/wormhole_lists.hpp"
#include "conset/wormhole_paths.hpp"
#include "conset/wormhole_processors.hpp"
#include "conset/wormhole_streams.hpp"

namespace conset {

class WormholeRun {
public:
    WormholeRun(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                const Execution& execution, const WormholeCosts& costs, bool record);

    WormholeResult run();

private:
    enum Kind : std::uint8_t { kEnded, kGate, kSignal, kReceived, kSent, kHeader, kArrived, kStream, kIdle };
    // What more there is to say: of kGate a task of the lists, of kSignal a `Signal`, of kArrived what comes after.
    using Event = std::tuple<double, Kind, std::int32_t, std::uint8_t>;
    using Now = std::tuple<Kind, std::int32_t, std::uint8_t>;
    enum Signal : std::uint8_t {
        kReadyArrives,
        kReadyTaken,
        kRequestArrives,
        kRequestTaken,
        kGrantArrives,
        kGrantTaken
    };
    // What a receiver knows of a message.
    enum Mark : std::uint8_t {
        kHasReceive = 1,  // a receive is there for it
        kAtEnd = 2,       // its header waits for a receive, or for room
        kTakenIn = 4,     // its bytes flow into the buffer, or have
        kBuffered = 8,    // all of them have
        kRequests = 16,   // its sender has asked
    };
    struct Receiver {
        std::size_t next = 0;             // of its list, the first without a receive
        std::int64_t open = 0;            // receives there, not delivered
        double room = 0, filled = 0;      // [B]
        std::deque<std::int32_t> queue;   // headers that wait for room
        std::vector<std::int32_t> early;  // of phases not entered yet
    };

    bool takes_list() const { return execution_.receive_list && costs_.ejection > 0; }
    bool has_protocol() const { return costs_.eager >= 0; }
    bool leaves(std::int32_t m) const { return routes_.leaves(static_cast<std::size_t>(m)); }
    std::int32_t partner_of(std::int32_t m) const { return partner_.empty() ? -1 : partner_[m]; }
    std::vector<double> capacities() const;

    // wormhole.cpp
    void at(double time, Kind kind, std::int32_t which, std::uint8_t what = 0);
    void handle(double until);
    void happen(Kind kind, std::int32_t which, std::uint8_t what);
    void obey(double now);
    double send_on(std::int32_t rank, double seconds);
    double send_work(std::int32_t m);
    void signal(std::int32_t m, Signal what);
    void overhead(std::int32_t m);
    void finish();

    // wormhole_headers.cpp
    void sent(std::int32_t m);
    void ask(std::int32_t m);
    void granted(std::int32_t m);
    void hop(std::int32_t m);
    void waited(std::int32_t m);
    void stream(std::int32_t m);
    void weigh(std::int32_t m, double weight);
    void weigh_exchange(std::int32_t m);
    void hold(std::int32_t rank, bool held);
    void ended(std::int32_t m);
    void release(std::int32_t m);

    // wormhole_receivers.cpp
    void open_receivers();
    void receive(std::int32_t m, Kind then);
    bool has_receive(std::int32_t m);
    void post_receives(std::int32_t rank);
    void entered(std::int32_t rank);
    void receive_posted(std::int32_t m);
    bool needs_request(std::int32_t m) const;
    void requested(std::int32_t m);
    void arrive(std::int32_t m);
    void fill_room(std::int32_t rank);
    void deliver(std::int32_t m);
    void received(std::int32_t m);
    double receive_work(std::int32_t m) const;

    // wormhole_circle.cpp
    void find_circle();
    std::pair<std::int32_t, std::int32_t> waits_for(std::int32_t m) const;
    std::pair<std::int32_t, std::int32_t> waits_at_end(std::int32_t m) const;

    const Routes& routes_;
    std::span<const std::int64_t> bytes_;
    Messages messages_;
    Execution execution_;
    WormholeCosts costs_;
    std::int32_t links_, nodes_;
    std::vector<std::int32_t> partner_;
    WormholeLists lists_;
    Streams streams_;
    Paths paths_;
    Channels channels_;
    Processors processors_;
    bool record_;
    WormholeResult result_;
    double now_ = 0, until_ = -1;
    std::vector<Event> pending_;
    std::deque<std::pair<double, std::int32_t>> hops_;  // headers under way where all hops take the same: in order
    std::vector<Now> batch_;
    std::vector<double> longest_;
    std::vector<std::int32_t> paid_phase_, slot_;  // slot_: of its stream
    std::vector<Receiver> receivers_;
    std::vector<std::uint8_t> marks_;                   // by message
    std::vector<std::vector<std::int32_t>> streaming_;  // into each rank, where its sends hold them
    std::vector<Streams::Use> uses_;
};

}  // namespace conset
