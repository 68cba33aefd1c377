#include "conset/flit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <queue>
#include <type_traits>
#include <utility>

#include "conset/flit_gate.hpp"
#include "conset/flit_router.hpp"
#include "conset/flit_worms.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

// Where a port leads: the router behind it, and the first of the lanes there, counted in that router.
struct Far {
    std::uint32_t router = 0, lane = 0;
};

// A node as a source: what it is sending, and on which lane.
struct Source {
    std::int32_t message = -1, worm = -1, worm_left = 0;
    std::int64_t message_left = 0;  // flits that are in no worm yet
    std::uint32_t lane = 0, next_lane = 0;
    std::array<std::uint8_t, 64> credits{};
};

// Sets of routers or nodes that have something to do.
class Busy {
public:
    explicit Busy(std::uint32_t count) : words_((count + 63) / 64, 0) {}
    void add(std::uint32_t k) { words_[k >> 6U] |= std::uint64_t{1} << (k & 63U); }
    void remove(std::uint32_t k) { words_[k >> 6U] &= ~(std::uint64_t{1} << (k & 63U)); }
    bool any() const {
        return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
    }
    // Adds what is in `other`, and empties it.
    void take(Busy& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= std::exchange(other.words_[w], 0);
    }
    template <class Visit>  // visit(k); may remove k
    void each(Visit&& visit) {
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
                visit(static_cast<std::uint32_t>(w * 64) + lowest_bit(rest));
    }

private:
    std::vector<std::uint64_t> words_;
};

// Events of the next cycles: what is put in for cycle t comes out at t; at most three cycles ahead.
class Coming {
public:
    void put(std::int64_t cycle, std::uint32_t what) { slots_[cycle & 3].push_back(what); }
    std::vector<std::uint32_t>& at(std::int64_t cycle) { return slots_[cycle & 3]; }
    bool empty(std::int64_t cycle) const { return slots_[cycle & 3].empty(); }

private:
    std::array<std::vector<std::uint32_t>, 4> slots_;
};

template <class Shape>
class Simulation {
public:
    Simulation(const FlitNetwork& network, const FlitWorkload& workload, const FlitExecution& execution,
               const FlitWatch& watch)
        : shape_(network.ports, network.lanes),
          fifo_(std::bit_ceil(static_cast<std::uint32_t>(network.buffer) + 1)),
          workload_(workload),
          watch_(watch),
          nodes_(static_cast<std::uint32_t>(workload.routes.network.nodes())),
          gate_(workload, execution, static_cast<std::int32_t>(nodes_)),
          worms_(network, workload.routes),
          routers_(nodes_, Router(shape_, static_cast<std::uint8_t>(network.buffer))),
          queues_(static_cast<std::size_t>(nodes_) * shape_.ports() * shape_.lanes() * fifo_),
          ahead_(static_cast<std::size_t>(nodes_) * shape_.ports()),
          behind_(ahead_.size()),
          sources_(nodes_),
          busy_(nodes_),
          sending_(nodes_),
          reached_{Busy(nodes_), Busy(nodes_), Busy(nodes_), Busy(nodes_)},
          watched_(std::max<std::int64_t>(0, watch.last - watch.first)) {
        join(network);
        for (auto& source : sources_) source.credits.fill(static_cast<std::uint8_t>(network.buffer));
        times_.start.assign(workload.routes.size(), -1);
        times_.end.assign(workload.routes.size(), -1);
        if (workload.worm_flits > 0) parts_left_.assign(workload.routes.size(), 0);
        for (std::uint32_t node = 0; node < nodes_; ++node) sending_.add(node);
    }

    FlitTimes run() {
        while (watched_ > 0 && (watch_.limit == 0 || now_ < watch_.limit)) {
            if ((times_.cycles++ & 1023) == 0) should_stop(false);
            step();
            if (!advance()) {
                times_.stuck = find_circle();
                break;
            }
        }
        times_.stopped = now_;
        return std::move(times_);
    }

private:
    using Router = FlitRouter<Shape>;
    using Mask = typename Shape::Mask;

    void join(const FlitNetwork& network) {
        for (std::size_t l = 0; l < network.link_source.size(); ++l) {
            if (network.out_port[l] < 0) continue;
            const auto from = static_cast<std::uint32_t>(network.link_source[l]);
            const auto to =
                static_cast<std::uint32_t>(workload_.routes.network.link_target(static_cast<std::int32_t>(l)));
            const auto out = static_cast<std::uint32_t>(network.out_port[l]);
            const auto in = static_cast<std::uint32_t>(network.in_port[l]);
            ahead_[from * shape_.ports() + out] = {to, in * shape_.lanes()};
            behind_[to * shape_.ports() + in] = {from, out * shape_.lanes()};
        }
    }

    void wake(std::int32_t node, std::int64_t cycle) {
        if (cycle <= now_ + 1) {
            sending_.add(static_cast<std::uint32_t>(node));
        } else {
            later_.emplace(cycle, node);
        }
    }

    void step() {
        for (; !later_.empty() && later_.top().first <= now_; later_.pop())
            sending_.add(static_cast<std::uint32_t>(later_.top().second));
        auto& room = room_.at(now_);
        for (const std::uint32_t lane : room) {
            ++sources_[lane / shape_.lanes()].credits[lane % shape_.lanes()];
            sending_.add(lane / shape_.lanes());
        }
        room.clear();
        sending_.each([&](std::uint32_t node) { inject(node); });
        auto& delivered = delivered_.at(now_);
        for (const std::uint32_t worm : delivered) deliver(static_cast<std::int32_t>(worm));
        delivered.clear();
        busy_.take(reached_[now_ & 3]);
        busy_.each([&](std::uint32_t router) { visit(router); });
    }

    // On to the next cycle in which something can happen; false where nothing ever will.
    bool advance() {
        ++now_;
        if (watched_ == 0 || busy_.any() || sending_.any()) return true;
        std::int64_t next = std::numeric_limits<std::int64_t>::max();
        if (!later_.empty()) next = later_.top().first;
        for (std::int64_t t = now_ + 2; t >= now_; --t)
            if (reached_[t & 3].any() || !delivered_.empty(t) || !room_.empty(t)) next = std::min(next, t);
        if (next == std::numeric_limits<std::int64_t>::max()) return false;
        now_ = std::max(now_, next);
        return true;
    }

    void inject(std::uint32_t node) {
        Source& source = sources_[node];
        if (source.worm_left == 0 && !begin(node, source)) {
            sending_.remove(node);
            return;
        }
        if (source.credits[source.lane] == 0) {  // the next credit wakes the node
            sending_.remove(node);
            return;
        }
        --source.credits[source.lane];
        --source.worm_left;
        reach(node, now_ + 2).arriving[(now_ + 2) & 3] |= bit<Mask>(node_lane(source.lane));
    }

    // Puts the next worm of a node on a lane; false where none may go or no lane has room.
    bool begin(std::uint32_t node, Source& source) {
        const auto n = static_cast<std::int32_t>(node);
        const std::int32_t m = source.message_left > 0 ? source.message : gate_.head(n);
        if (m < 0) return false;
        if (source.message_left == 0) {
            const std::int64_t opens = gate_.opens(n, now_);
            if (opens != now_) {
                if (opens != FlitGate::never) later_.emplace(opens, n);
                return false;
            }
        }
        const std::uint32_t lanes = shape_.lanes();
        std::uint32_t lane = source.next_lane, tried = 0;
        for (; tried < lanes && source.credits[lane] == 0; ++tried) lane = lane + 1 == lanes ? 0 : lane + 1;
        if (tried == lanes) return false;
        if (source.message_left == 0) start(n, m, source);
        const std::int64_t flits =
            workload_.worm_flits > 0 ? std::min(source.message_left, workload_.worm_flits) : source.message_left;
        source.message_left -= flits;
        if (workload_.worm_flits > 0) ++parts_left_[m];
        source.worm = worms_.add(m, static_cast<std::int32_t>(flits));
        source.worm_left = static_cast<std::int32_t>(flits);
        source.lane = lane;
        source.next_lane = lane + 1 == lanes ? 0 : lane + 1;
        queue_worm(node, node_lane(lane), source.worm);
        return true;
    }

    void start(std::int32_t node, std::int32_t m, Source& source) {
        times_.start[m] = now_;
        source.message = m;
        source.message_left = workload_.flits[m];
        gate_.leave(node);
    }

    // The number, among all lanes of a router, of a lane from its node.
    std::uint32_t node_lane(std::uint32_t lane) const { return (shape_.ports() - 1) * shape_.lanes() + lane; }

    // A router, to be visited at a cycle to come.
    Router& reach(std::uint32_t router, std::int64_t cycle) {
        reached_[cycle & 3].add(router);
        return routers_[router];
    }

    std::int32_t& queue(std::uint32_t router, std::uint32_t lane, std::uint32_t place) {
        const std::size_t index = static_cast<std::size_t>(router) * shape_.ports() * shape_.lanes() + lane;
        return queues_[index * fifo_ + (place & (fifo_ - 1))];
    }

    void queue_worm(std::uint32_t router, std::uint32_t lane, std::int32_t worm) {
        queue(router, lane, routers_[router].last[lane]++) = worm;
    }

    void deliver(std::int32_t worm) {
        const std::int32_t m = worms_[worm].message;
        worms_.remove(worm);
        if (!parts_left_.empty()) {
            --parts_left_[m];
            const Source& source = sources_[workload_.routes.source[m]];
            if (parts_left_[m] > 0 || (source.message == m && source.message_left > 0)) return;
        }
        times_.end[m] = now_;
        if (m >= watch_.first && m < watch_.last) --watched_;
        gate_.deliver(m, now_, [&](std::int32_t node, std::int64_t cycle) { wake(node, cycle); });
    }

    void visit(std::uint32_t r) {
        Router& router = routers_[r];
        arrive(router, r, std::exchange(router.arriving[now_ & 3], 0));
        take_credits(router, std::exchange(router.credited[now_ & 3], 0));
        const Mask able = router.filled & router.open;
        if (router.changed != 0)
            router.match_lanes(shape_, [&](std::uint32_t in, std::uint32_t output, std::uint32_t taken) {
                bind(router, r, in, output, taken);
            });
        if (able != 0)
            router.match_ports(shape_, able,
                               [&](std::uint32_t in, std::uint32_t output) { cross(router, r, in, output); });
        if (router.idle()) busy_.remove(r);
    }

    void arrive(Router& router, std::uint32_t r, Mask lanes) {
        Mask first = lanes & ~router.filled;
        router.filled |= lanes;
        router.flits.add(lanes);
        while (first != 0) {
            const std::uint32_t in = pop_bit(first);
            if (router.left[in] == 0) front(router, r, in);
        }
    }

    void take_credits(Router& router, Mask lanes) {
        Mask first = lanes & router.starved;
        router.starved &= ~lanes;
        router.credits.add(lanes);
        for (first &= ~router.free; first != 0;) router.open |= bit<Mask>(router.holder[pop_bit(first)]);
    }

    // A head has come to the front of its lane: it asks for a lane of its next link.
    void front(Router& router, std::uint32_t r, std::uint32_t in) {
        const std::int32_t worm = queue(r, in, router.first[in]++);
        const auto [output, halves] = worms_.next_output(worm);
        router.worm[in] = worm;
        router.left[in] = worms_[worm].flits;
        router.ask(in, output, halves);
    }

    // The worm in front of a lane gets an output lane: from now on it holds that lane of the next router.
    void bind(Router& router, std::uint32_t r, std::uint32_t in, std::uint32_t output, std::uint32_t taken) {
        if (output + 1 == shape_.ports()) {  // the node itself takes a flit a cycle
            router.open |= bit<Mask>(in);
            return;
        }
        const Far far = ahead_[r * shape_.ports() + output];
        queue_worm(far.router, far.lane + taken - output * shape_.lanes(), router.worm[in]);
        if (router.credits.any(taken)) router.open |= bit<Mask>(in);
    }

    // A flit crosses the switch.
    void cross(Router& router, std::uint32_t r, std::uint32_t in, std::uint32_t output) {
        const std::uint32_t lanes = shape_.lanes(), in_port = in / lanes;
        ++times_.moves;
        router.filled &= ~(Mask{router.flits.drop(in)} << in);
        if (in_port + 1 == shape_.ports()) {
            room_.put(now_ + 2, r * lanes + in - in_port * lanes);
        } else {
            const Far far = behind_[r * shape_.ports() + in_port];
            reach(far.router, now_ + 3).credited[(now_ + 3) & 3] |= bit<Mask>(far.lane + in - in_port * lanes);
        }
        const bool tail = --router.left[in] == 0;
        if (output + 1 != shape_.ports()) {
            const Far far = ahead_[r * shape_.ports() + output];
            const std::uint32_t out = router.out[in];
            reach(far.router, now_ + 3).arriving[(now_ + 3) & 3] |= bit<Mask>(far.lane + out - output * lanes);
            const Mask empty{router.credits.drop(out)};
            router.starved |= empty << out;
            router.open &= ~(empty << in);
        } else if (tail) {
            delivered_.put(now_ + 3, static_cast<std::uint32_t>(router.worm[in]));
        }
        if (!tail) return;
        router.release(in, output);
        if (router.flits.any(in)) front(router, r, in);
    }

    // Who waits for whom, from the first message that is not delivered until one comes twice.
    std::vector<std::int32_t> find_circle() const {
        std::vector<std::int32_t> chain;
        auto m = static_cast<std::int32_t>(std::find(times_.end.begin(), times_.end.end(), -1) - times_.end.begin());
        for (;;) {
            const auto seen = std::find(chain.begin(), chain.end(), m);
            if (seen != chain.end()) return {seen, chain.end()};
            chain.push_back(m);
            m = times_.start[m] < 0 ? gate_.blocker(m, times_.end) : blocking_worm(m);
            if (m < 0) return chain;
        }
    }

    // The message of another worm that holds, or stands in, a lane that message m needs next; -1 where there is none.
    std::int32_t blocking_worm(std::int32_t m) const {
        const std::uint32_t lanes = shape_.lanes();
        for (std::uint32_t r = 0; r < nodes_; ++r) {
            const Router& router = routers_[r];
            for (Mask filled = router.filled; filled != 0;) {
                const std::uint32_t in = pop_bit(filled);
                if (worms_[router.worm[in]].message != m) continue;
                Mask holders = 0;
                for (std::uint32_t o = 0; router.out[in] == Router::none && o < shape_.ports(); ++o)
                    if (((router.asked[o][0] | router.asked[o][1]) >> in & 1U) != 0) holders = router.held[o];
                while (holders != 0) {
                    const std::int32_t other = worms_[router.worm[pop_bit(holders)]].message;
                    if (other != m) return other;
                }
                if (router.out[in] == Router::none || router.out[in] / lanes + 1 == shape_.ports()) continue;
                const Far far = ahead_[r * shape_.ports() + router.out[in] / lanes];
                const std::int32_t other = worms_[routers_[far.router].worm[far.lane + router.out[in] % lanes]].message;
                if (other != m) return other;
            }
        }
        return -1;
    }

    Shape shape_;
    std::uint32_t fifo_;
    const FlitWorkload& workload_;
    FlitWatch watch_;
    std::uint32_t nodes_;
    FlitGate gate_;
    FlitWorms worms_;
    std::vector<Router> routers_;
    std::vector<std::int32_t> queues_;  // of every lane: worms that are to come through
    std::vector<Far> ahead_, behind_;   // of every port of every router: along the link out of it, against the one in
    std::vector<Source> sources_;
    Busy busy_, sending_;
    std::array<Busy, 4> reached_;  // routers that something reaches in each of the next cycles
    Coming room_, delivered_;
    std::priority_queue<std::pair<std::int64_t, std::int32_t>, std::vector<std::pair<std::int64_t, std::int32_t>>,
                        std::greater<>>
        later_;
    std::vector<std::int32_t> parts_left_;
    std::int64_t now_ = 0, watched_;
    FlitTimes times_;
};

}  // namespace

FlitTimes simulate_flit(const FlitNetwork& network, const FlitWorkload& workload, const FlitExecution& execution,
                        const FlitWatch& watch) {
    const auto run = [&]<class Shape>(std::type_identity<Shape>) {
        return Simulation<Shape>(network, workload, execution, watch).run();
    };
    if (network.lanes == 4 && network.ports == 5) return run(std::type_identity<FixedShape<5, 4>>{});
    if (network.lanes == 4 && network.ports == 7) return run(std::type_identity<FixedShape<7, 4>>{});
    return run(std::type_identity<AnyShape>{});
}

}  // namespace conset
