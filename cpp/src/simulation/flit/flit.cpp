#include "conset/simulation/flit/flit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>
#include <utility>

#include "conset/simulation/flit/parts.hpp"
#include "conset/simulation/flit/router.hpp"
#include "conset/simulation/flit/stuck.hpp"
#include "conset/simulation/flit/worms.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

template <class Shape>
class Simulation : public Carrier<std::int64_t> {
public:
    Simulation(const FlitNetwork& network, const FlitWorkload& workload, const Execution<std::int64_t>& execution,
               const FlitWatch& watch)
        : shape_(network.ports, network.lanes),
          fifo_(std::bit_ceil(static_cast<std::uint32_t>(network.buffer) + 1)),
          workload_(workload),
          execution_(execution),
          watch_(watch),
          nodes_(static_cast<std::uint32_t>(workload.routes.network.nodes())),
          release_(workload.routes, workload.messages, execution, events_, *this),
          first_(nodes_, -1),
          last_(nodes_, -1),
          behind_in_queue_(workload.routes.size(), -1),
          worms_(network, workload.routes),
          routers_(nodes_, Router(shape_, static_cast<std::uint8_t>(network.buffer))),
          queues_(static_cast<std::size_t>(nodes_) * shape_.ports() * shape_.lanes() * fifo_),
          ahead_(static_cast<std::size_t>(nodes_) * shape_.ports()),
          behind_(ahead_.size()),
          sources_(nodes_),
          busy_(nodes_),
          sending_(nodes_),
          credited_(nodes_),
          first_node_((nodes_ + 63) / 64 * 64),
          sink_(2 * first_node_),
          boxes_(sink_ + 1),
          reached_{FlitBusy(sink_ + 1), FlitBusy(sink_ + 1), FlitBusy(sink_ + 1), FlitBusy(sink_ + 1)},
          watched_(std::max<std::int64_t>(0, watch.last - watch.first)) {
        join(network);
        for (auto& source : sources_) source.credits.fill(static_cast<std::uint8_t>(network.buffer));
        times_.start.assign(workload.routes.size(), -1);
        if (workload.worm_flits > 0) parts_left_.assign(workload.routes.size(), 0);
    }

    FlitTimes run() {
        release_.begin();
        queue_departing();
        bool moving = true;
        while (moving && watched_ > 0 && (watch_.limit == 0 || now_ < watch_.limit)) {
            if ((times_.cycles++ & 1023) == 0) {
                should_stop(false);
                publish_progress(static_cast<std::int64_t>(workload_.routes.size() - release_.undelivered()));
            }
            step();
            moving = advance();
            times_.late = watched_ > 0 && now_ > execution_.until;
            times_.cut = watched_ > 0 && times_.moves > execution_.work;
            if (times_.late || times_.cut) break;
        }
        times_.stopped = now_;
        take(times_.slot, release_.times.start);
        take(times_.sent, release_.times.sent);
        take(times_.left, release_.times.left);
        take(times_.end, release_.times.end);
        if (!moving) times_.cycle = find_cycle(times_, [&](std::int32_t m) { return waits_for(m); });
        return std::move(times_);
    }

    // Its send overhead ends: it stands in its node's queue from then on.
    void depart(std::int32_t m, std::int64_t at) override {
        if (at > now_) {
            events_.at(at, EventKind::header, m);
        } else {
            departing_.push_back(m);
        }
    }

    // What departs in this cycle, in order of index.
    void queue_departing() {
        if (departing_.size() > 1) std::sort(departing_.begin(), departing_.end());
        for (const std::int32_t m : departing_) queue_message(m);
        departing_.clear();
    }

    void queue_message(std::int32_t m) {
        const std::int32_t node = workload_.routes.source[m];
        (first_[node] < 0 ? first_[node] : behind_in_queue_[last_[node]]) = m;
        last_[node] = m;
        sending_.add(static_cast<std::uint32_t>(node));
    }

    void stream(std::int32_t /*m*/, std::int64_t /*at*/) override {}  // nothing asks for a receive

    void delivered(std::int32_t m) override {
        if (m >= watch_.first && m < watch_.last) --watched_;
    }

    std::int32_t hops(std::int32_t m) const override {
        std::int32_t count = 0;
        workload_.routes.each_link(static_cast<std::size_t>(m), [&](std::int32_t) { ++count; });
        return count;
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
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            const std::uint32_t port = (node + 1) * shape_.ports() - 1;
            ahead_[port] = {sink_, 0};
            behind_[port] = {first_node_ + node, 0};
        }
    }

    static void take(Array<std::int64_t>& to, Array<std::int64_t>& from) {
        to = std::move(from);
        std::replace(to.begin(), to.end(), kNeverOf<std::int64_t>, std::int64_t{-1});
    }

    // What is due by now.
    void handle_events() {
        events_.open(now_);
        while (events_.has_due()) {
            const auto event = events_.take();
            if (event.kind == EventKind::header) {
                departing_.push_back(event.which);
            } else {
                release_.handle(event, now_);
            }
        }
        events_.close();
        queue_departing();
    }

    FlitWait waits_for(std::int32_t m) const {
        if (times_.start[m] >= 0) return blocking_worm(m, shape_, routers_, ahead_, worms_);
        return {release_.waits_for(m).second, -1};
    }

    void step() {
        if (events_.next() <= now_) handle_events();
        credited_.take(reached_[now_ & 3], first_node_);
        credited_.each([&](std::uint32_t node) {
            credited_.remove(node);
            sending_.add(node);
            for (Mask room = std::exchange(boxes_[first_node_ + node].credits[now_ & 3], 0); room != 0;)
                ++sources_[node].credits[pop_bit(room)];
        });
        sending_.each([&](std::uint32_t node) { inject(node); });
        auto& delivered = delivered_.at(now_);
        for (const std::uint32_t worm : delivered) deliver(static_cast<std::int32_t>(worm));
        delivered.clear();
        if (events_.next() <= now_) handle_events();
        queue_departing();
        busy_.take(reached_[now_ & 3]);
        busy_.each([&](std::uint32_t router) { visit(router); });
    }

    // On to the next cycle in which something can happen; false where nothing ever will.
    bool advance() {
        ++now_;
        if (watched_ == 0 || busy_.any() || sending_.any()) return true;
        std::int64_t next = events_.next();
        for (std::int64_t t = now_ + 2; t >= now_; --t)
            if (reached_[t & 3].any_below(sink_) || !delivered_.empty(t)) next = std::min(next, t);
        if (next == kNeverOf<std::int64_t>) return false;
        now_ = std::max(now_, next);
        return true;
    }

    void inject(std::uint32_t node) {
        FlitSource& source = sources_[node];
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
        reach(node, now_ + 2).flits[(now_ + 2) & 3] |= bit<Mask>(node_lane(source.lane));
    }

    // Puts the next worm of a node on a lane; false where none may go or no lane has room.
    bool begin(std::uint32_t node, FlitSource& source) {
        const std::int32_t m = source.message_left > 0 ? source.message : first_[node];
        if (m < 0) return false;
        const std::uint32_t lanes = shape_.lanes();
        std::uint32_t lane = source.next_lane, tried = 0;
        for (; tried < lanes && source.credits[lane] == 0; ++tried) lane = lane + 1 == lanes ? 0 : lane + 1;
        if (tried == lanes) return false;
        if (source.message_left == 0) start(node, m, source);
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

    void start(std::uint32_t node, std::int32_t m, FlitSource& source) {
        times_.start[m] = now_;
        source.message = m;
        source.message_left = workload_.flits[m];
        first_[node] = behind_in_queue_[m];
    }

    // The number, among all lanes of a router, of a lane from its node.
    std::uint32_t node_lane(std::uint32_t lane) const { return (shape_.ports() - 1) * shape_.lanes() + lane; }

    // The mailbox of a router or node, which will be looked into at a cycle to come.
    FlitMailbox<Mask>& reach(std::uint32_t box, std::int64_t cycle) {
        reached_[cycle & 3].add(box);
        return boxes_[box];
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
            const FlitSource& source = sources_[workload_.routes.source[m]];
            if (parts_left_[m] > 0 || (source.message == m && source.message_left > 0)) return;
        }
        release_.left(m, now_);
    }

    void visit(std::uint32_t r) {
        Router& router = routers_[r];
        arrive(router, r, std::exchange(boxes_[r].flits[now_ & 3], 0));
        take_credits(router, std::exchange(boxes_[r].credits[now_ & 3], 0));
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
        const FlitFar far = ahead_[r * shape_.ports() + output];
        queue_worm(far.box, far.lane + taken - output * shape_.lanes(), router.worm[in]);
        if (router.credits.any(taken)) router.open |= bit<Mask>(in);
    }

    // A flit crosses the switch. As good as without branches, which would often be mispredicted: nodes have mailboxes
    // as routers do, and what is delivered falls into one that nobody looks into.
    void cross(Router& router, std::uint32_t r, std::uint32_t in, std::uint32_t output) {
        const std::uint32_t lanes = shape_.lanes(), last = shape_.ports() - 1, in_port = in / lanes;
        ++times_.moves;
        router.filled &= ~(Mask{router.flits.drop(in)} << in);
        const FlitFar back = behind_[r * shape_.ports() + in_port], far = ahead_[r * shape_.ports() + output];
        const std::int64_t credited = now_ + (in_port == last ? 2 : 3), arrives = now_ + 3;
        reach(back.box, credited).credits[credited & 3] |= bit<Mask>(back.lane + in - in_port * lanes);
        const std::uint32_t out = router.out[in];
        reach(far.box, arrives).flits[arrives & 3] |= bit<Mask>(far.lane + out - output * lanes);
        const Mask empty{router.credits.drop(out, output != last ? 1 : 0)};
        router.starved |= empty << out;
        router.open &= ~(empty << in);
        if (--router.left[in] > 0) return;
        if (output == last) delivered_.put(arrives, static_cast<std::uint32_t>(router.worm[in]));
        router.release(in, output);
        if (router.flits.any(in)) front(router, r, in);
    }

    Shape shape_;
    std::uint32_t fifo_;
    const FlitWorkload& workload_;
    Execution<std::int64_t> execution_;
    FlitWatch watch_;
    std::uint32_t nodes_;
    Events<std::int64_t> events_;
    Release<std::int64_t> release_;
    Array<std::int32_t> departing_;
    Array<std::int32_t> first_, last_, behind_in_queue_;  // queues of nodes: first, last, next of a message
    FlitWorms worms_;
    Array<Router> routers_;
    Array<std::int32_t> queues_;  // of every lane: worms that are to come through
    Array<FlitFar> ahead_,
        behind_;  // of every port of every router: along the link out of it, against the one in
    Array<FlitSource> sources_;
    FlitBusy busy_, sending_, credited_;
    // Mailboxes: those of routers, from the first node on those of nodes, and the sink.
    std::uint32_t first_node_, sink_;
    Array<FlitMailbox<Mask>> boxes_;
    std::array<FlitBusy, 4> reached_;  // mailboxes to look into in each of the next cycles
    FlitComing delivered_;
    Array<std::int32_t> parts_left_;
    std::int64_t now_ = 0, watched_;
    FlitTimes times_;
};

}  // namespace

FlitTimes simulate_flit(const FlitNetwork& network, const FlitWorkload& workload,
                        const Execution<std::int64_t>& execution, const FlitWatch& watch) {
    const auto run = [&]<class Shape>(std::type_identity<Shape>) {
        return Simulation<Shape>(network, workload, execution, watch).run();
    };
    if (network.lanes == 4 && network.ports == 5) return run(std::type_identity<FixedShape<5, 4>>{});
    if (network.lanes == 4 && network.ports == 7) return run(std::type_identity<FixedShape<7, 4>>{});
    return run(std::type_identity<AnyShape>{});
}

}  // namespace conset
