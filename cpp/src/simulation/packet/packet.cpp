#include "conset/simulation/packet/packet.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "conset/simulation/fluid.hpp"

namespace conset {

namespace {

constexpr std::int32_t kUnits = 64;  // of a link that have a buffer each; with more, several share one

constexpr std::int32_t kMarked = 1, kRises = 2;  // classes of links; 0: others

// Whether a packet that came over a link of class `crossed` is in the next pool behind one of class `taken`.
bool is_next_pool(std::int32_t crossed, std::int32_t taken) {
    return taken == kMarked || (taken == kRises && crossed == 0);
}

// As many as packets need at most, whichever shortest ways they take: one more than they are in the next pool. Target
// by target: the nodes on ways to it, nearest first, after a link of class 0 and after another.
std::int32_t pools_of_adaptive(const Routes& routes, View<const std::uint8_t> classes) {
    const Network& network = routes.network;
    Array<std::int32_t> messages(routes.size()), nodes, most[2], seen(as_size(network.nodes()), -1);
    std::iota(messages.begin(), messages.end(), 0);
    std::ranges::stable_sort(messages, {}, [&](std::int32_t m) { return routes.target[m]; });
    for (auto& of_nodes : most) of_nodes.assign(as_size(network.nodes()), 0);
    std::int32_t result = 0;
    for (std::size_t k = 0; k < messages.size();) {
        const std::int32_t target = routes.target[messages[k]];
        nodes.clear();
        const auto visit = [&](std::int32_t, std::int32_t node) {
            if (std::exchange(seen[node], target) != target) nodes.push_back(node);
        };
        const std::size_t begin = k;
        for (; k < messages.size() && routes.target[messages[k]] == target; ++k) visit(-1, routes.source[messages[k]]);
        for (std::size_t at = 0; at < nodes.size(); ++at) network.each_next(nodes[at], target, visit);
        std::ranges::sort(nodes, {}, [&](std::int32_t node) { return network.distance(node, target); });
        for (const std::int32_t node : nodes)
            for (std::int32_t crossed : {0, kRises}) {
                std::int32_t& pools = most[crossed / kRises][node];
                pools = 0;
                network.each_next(node, target, [&](std::int32_t link, std::int32_t next) {
                    const std::int32_t taken = classes[link];
                    const std::int32_t further = most[taken == 0 ? 0 : 1][next];
                    pools = std::max(pools, further + (is_next_pool(crossed, taken) ? 1 : 0));
                });
            }
        for (std::size_t at = begin; at < k; ++at) result = std::max(result, most[1][routes.source[messages[at]]]);
    }
    return result + 1;
}

class Packets : public Fluid {
public:
    Packets(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
            const PacketCosts& costs)
        : Fluid(routes, messages, execution),
          costs_(costs),
          way_of_(messages.size(), -1),
          adaptive_(Fluid::ways_.has_value()) {
        Fluid::ways_.reset();  // packets are counted where they go
        if (adaptive_) costs_.pools = pools_of_adaptive(routes, costs.dateline);
        result_.pools = costs_.pools;
        const auto servers = as_size(links_) + 2 * as_size(nodes_);
        servers_.resize(servers);
        for (std::int32_t l = 0; l < links_; ++l) {
            servers_[l].rate = each(costs.rates.link, l);
            servers_[l].free = each(costs.rates.width, l);
        }
        for (std::int32_t node = 0; node < nodes_; ++node) {
            servers_[links_ + node].rate = costs.rates.out;
            servers_[links_ + nodes_ + node].rate = costs.rates.in;
        }
        // a wide link has a buffer for each unit, whose first packets leave side by side
        first_queue_.assign(as_size(links_ + nodes_) + 1, 0);
        for (std::int32_t s = 0; s < links_ + nodes_; ++s)
            first_queue_[s + 1] = first_queue_[s] + units(s) * costs_.pools;
        queues_.resize(as_size(first_queue_.back()) + as_size(nodes_));
        for (std::int32_t s = 0; s < links_ + nodes_; ++s)
            for (std::int32_t q = first_queue_[s]; q < first_queue_[s + 1]; ++q) queues_[q].behind = s;
        waits_behind_.assign(queues_.size(), -1);
        if (adaptive_) {
            waiters_.resize(as_size(links_));
            asked_.assign(queues_.size(), 0);
        }
        result_.blocked.assign(messages.size(), 0);
        longest_.assign(messages.size(), 0);
    }

    Simulated run() {
        release_.begin();
        while (next_instant(moves_.empty() ? kNever : moves_.front().time, 0)) handle();
        if (stuck()) find_cycle();
        finish([&](std::int32_t server) { return servers_[server].busy; });
        return std::move(result_);
    }

    // Hops are passed by packets; by a message of no bytes, which has none, here.
    void depart(std::int32_t m, double at) override {
        const double passes = messages_.bytes[m] == 0 ? hops(m) * each(costs_.hop, m) : 0;
        events_.at(at + each(costs_.latency, m) + passes, EventKind::header, m);
    }

    void stream(std::int32_t m, double at) override { events_.at(at, EventKind::stream, m); }

private:
    struct Packet {
        std::int32_t message = -1, next = -1;  // behind it in its queue
        std::int32_t at = 0;                   // the place of its way that it asks for; adaptive: 0 at its source
        double bytes = 0;
        double eligible = 0, tail = 0;  // when it may leave, and its last byte is there
        double rest = 0;                // [B] of the same message right behind it, in the queue of a source
    };
    struct Queue {
        std::int32_t first = -1, last = -1, behind = -1;  // behind which server; -1: of a source
        double filled = 0;                                // [B] with what is on its way into it
        bool leaving = false;                             // whether its first packet is
    };
    struct Server {
        double rate = kNever, busy = 0, until = 0;  // of a wide link: when the last of its packets ends
        std::int32_t free = 1;                      // units of width
        std::int32_t first = -1, last = -1;         // queues whose first packet asks for it
    };
    struct Way {
        Array<std::int32_t> servers, queues;  // queues[k]: the first behind servers[k]; one fewer; adaptive: one each
        double unsent = 0, undelivered = 0;   // [B]
    };
    struct Move {
        double time;
        std::int32_t queue, server;  // server < 0: the first packet of the queue may leave
    };
    struct Later {
        bool operator()(const Move& a, const Move& b) const { return a.time > b.time; }
    };

    std::int32_t source_queue(std::int32_t node) const { return first_queue_.back() + node; }
    std::int32_t units(std::int32_t s) const { return s < links_ ? std::min(each(costs_.rates.width, s), kUnits) : 1; }
    Way& way(std::int32_t m) { return ways_[way_of_[m]]; }

    // Everything of one time: what ranks do, then what packets do.
    void handle() {
        events_.open(until_);
        do {
            while (events_.has_due()) {
                const auto event = events_.take();
                ++result_.events;
                switch (event.kind) {
                    case EventKind::ended: release_.left(event.which, now_); break;
                    case EventKind::header: release_.arrived(event.which, now_); break;
                    case EventKind::stream: begin(event.which); break;
                    default: release_.handle(event, now_);
                }
            }
            while (!asking_.empty() || has_move()) step();
        } while (events_.has_due());
        events_.close();
    }

    bool has_move() const { return !moves_.empty() && moves_.front().time <= until_; }

    // One round: packets end on links, first packets ask for links, links take them; each by number.
    void step() {
        for (due_.clear(); has_move(); moves_.pop_back()) {
            std::pop_heap(moves_.begin(), moves_.end(), Later());
            due_.push_back(moves_.back());
        }
        result_.events += static_cast<std::int64_t>(due_.size());
        std::sort(due_.begin(), due_.end(), [](const Move& a, const Move& b) { return a.queue < b.queue; });
        for (const Move& move : due_) {
            if (move.server < 0) {
                asking_.push_back(move.queue);
            } else {
                moved(move.queue, move.server);
            }
        }
        // not earlier: its last packet may end on several links at one time
        for (const std::int32_t m : closed_) free_ways_.push_back(std::exchange(way_of_[m], -1));
        closed_.clear();
        std::sort(asking_.begin(), asking_.end());
        for (const std::int32_t q : asking_) ask(q);
        asking_.clear();
        std::sort(open_.begin(), open_.end());
        open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
        for (const std::int32_t server : open_) {
            if (!adaptive_ || server >= links_) {
                serve(server);
            } else if (servers_[server].free > 0) {
                choosing_.insert(choosing_.end(), waiters_[server].begin(), waiters_[server].end());
            }
        }
        open_.clear();
        std::sort(choosing_.begin(), choosing_.end(),
                  [&](std::int32_t a, std::int32_t b) { return asked_[a] < asked_[b]; });
        choosing_.erase(std::unique(choosing_.begin(), choosing_.end()), choosing_.end());
        for (const std::int32_t q : choosing_) choose(q);
        choosing_.clear();
    }

    void begin(std::int32_t m) {
        count_bytes(m);
        if (messages_.bytes[m] == 0) {
            events_.at(now_, EventKind::ended, m);
            return;
        }
        Way& path = open(m);
        path.unsent = path.undelivered = static_cast<double>(messages_.bytes[m]);
        fill_window(m);
    }

    Way& open(std::int32_t m) {
        if (free_ways_.empty()) {
            free_ways_.push_back(static_cast<std::int32_t>(ways_.size()));
            ways_.emplace_back();
        }
        way_of_[m] = free_ways_.back();
        free_ways_.pop_back();
        Way& path = way(m);
        path.servers.assign(1, links_ + routes_.source[m]);
        path.queues.assign(1, first_queue_[links_ + routes_.source[m]]);
        if (adaptive_) return path;
        std::int32_t pool = 0;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            if (!costs_.dateline.empty() && costs_.dateline[link] != 0) pool = std::min(pool + 1, costs_.pools - 1);
            path.servers.push_back(link);
            path.queues.push_back(first_queue_[link] + pool * units(link));
        });
        path.servers.push_back(links_ + nodes_ + routes_.target[m]);
        return path;
    }

    // Packets of m join the queue of its source, as far as its window allows; one at least.
    void fill_window(std::int32_t m) {
        Way& path = way(m);
        double joining = costs_.window == kNever ? path.unsent : 0;
        path.unsent -= joining;
        while (path.unsent > 0) {
            const double bytes = std::min(path.unsent, costs_.packet), flying = path.undelivered - path.unsent;
            if (flying > 0 && flying + bytes > costs_.window) break;
            path.unsent -= bytes;
            joining += bytes;
        }
        if (joining == 0) return;
        const double bytes = std::min(joining, costs_.packet);
        push(source_queue(routes_.source[m]), {m, -1, 0, bytes, now_, now_, joining - bytes});
    }

    void push(std::int32_t q, const Packet& packet) {
        std::int32_t slot;
        if (free_packets_.empty()) {
            slot = static_cast<std::int32_t>(packets_.size());
            packets_.push_back(packet);
        } else {
            slot = free_packets_.back();
            free_packets_.pop_back();
            packets_[slot] = packet;
        }
        Queue& queue = queues_[q];
        queue.filled += packet.bytes;
        (queue.first < 0 ? queue.first : packets_[queue.last].next) = slot;
        queue.last = slot;
        if (queue.first == slot) becomes_first(q);
    }

    void becomes_first(std::int32_t q) {
        const double eligible = packets_[queues_[q].first].eligible;
        if (eligible > until_) {
            later(eligible, q, -1);
        } else {
            asking_.push_back(q);
        }
    }

    // Where the first packet of a queue may go: the next place of its way, or every link that begins a shortest one.
    template <class Visit>  // visit(server)
    void each_server(std::int32_t q, Visit&& visit) const {
        const Packet& packet = packets_[queues_[q].first];
        if (!adaptive_ || packet.at == 0) {
            visit(ways_[way_of_[packet.message]].servers[packet.at]);
            return;
        }
        const std::int32_t before = queues_[q].behind, target = routes_.target[packet.message];
        const std::int32_t node = before < links_ ? routes_.network.link_target(before) : before - links_;
        if (node == target) {
            visit(place_into(packet.message));
        } else {
            routes_.network.each_next(node, target, [&](std::int32_t link, std::int32_t) { visit(link); });
        }
    }

    // The first packet of a queue asks for its next server, or for all that it may take.
    void ask(std::int32_t q) {
        std::int32_t asks = 0;
        each_server(q, [&](std::int32_t s) {
            open_.push_back(s);
            ++asks;
            if (adaptive_ && s < links_) {
                waiters_[s].push_back(q);
                return;
            }
            Server& server = servers_[s];
            (server.first < 0 ? server.first : waits_behind_[server.last]) = q;
            server.last = q;
            waits_behind_[q] = -1;
        });
        if (asks == 0) throw std::logic_error("no route: the graph was not checked to be connected");
        if (adaptive_) asked_[q] = ++asks_;
    }

    // The queue that the first packet of q enters behind a server: of the units' the emptiest, the first of equals.
    std::int32_t queue_behind(std::int32_t q, std::int32_t s) const {
        const Packet& packet = packets_[queues_[q].first];
        std::int32_t best;
        if (!adaptive_ || packet.at == 0) {
            best = ways_[way_of_[packet.message]].queues[packet.at];
        } else {
            const std::int32_t before = queues_[q].behind;
            std::int32_t pool = 0, crossed = kRises;
            if (before < links_) {
                pool = (q - first_queue_[before]) / units(before);
                crossed = costs_.dateline[before];
            }
            best = first_queue_[s] + (pool + (is_next_pool(crossed, costs_.dateline[s]) ? 1 : 0)) * units(s);
        }
        const std::int32_t end = best + units(s);
        for (std::int32_t other = best + 1; other < end; ++other)
            if (queues_[other].filled < queues_[best].filled) best = other;
        return best;
    }

    bool is_last(std::int32_t s) const { return s >= links_ + nodes_; }

    bool has_room(std::int32_t q, std::int32_t s) const {
        if (is_last(s)) return true;
        const double filled = queues_[queue_behind(q, s)].filled;
        return filled == 0 || filled + packets_[queues_[q].first].bytes <= costs_.buffer;
    }

    // Of the links that the first packet of q may take now, that with the most room behind it; of equals the one that
    // `minimal` takes, number (target mod how many there are), or the next.
    void choose(std::int32_t q) {
        ways_on_.clear();
        each_server(q, [&](std::int32_t s) { ways_on_.push_back(s); });
        const std::size_t count = ways_on_.size();
        const std::size_t first = as_size(routes_.target[packets_[queues_[q].first].message]) % count;
        std::int32_t best = -1;
        double least = kNever;
        for (std::size_t k = 0; k < count; ++k) {
            const std::int32_t s = ways_on_[(first + k) % count];
            if (servers_[s].free == 0 || !has_room(q, s)) continue;
            const double filled = queues_[queue_behind(q, s)].filled;
            if (filled >= least) continue;
            least = filled;
            best = s;
        }
        if (best < 0) return;
        for (const std::int32_t s : ways_on_) waiters_[s].erase(std::ranges::find(waiters_[s], q));
        start(q, best);
    }

    // Of the queues that wait for a server, the first whose packet finds room goes.
    void serve(std::int32_t s) {
        Server& server = servers_[s];
        std::int32_t before = -1;
        for (std::int32_t q = server.first; q >= 0 && server.free > 0;) {
            const std::int32_t next = waits_behind_[q];
            if (!has_room(q, s)) {
                before = q;
                q = next;
                continue;
            }
            (before < 0 ? server.first : waits_behind_[before]) = next;
            if (server.last == q) server.last = before;
            start(q, s);
            q = next;
        }
    }

    void start(std::int32_t q, std::int32_t s) {
        Server& server = servers_[s];
        Packet packet = packets_[queues_[q].first];
        const std::int32_t m = packet.message;
        queues_[q].leaving = true;
        --server.free;
        const double time = packet.bytes / server.rate, end = std::max(now_ + time, packet.tail);
        server.busy += units(s) > 1 ? std::clamp(end - server.until, 0.0, time) : time;
        server.until = std::max(server.until, end);
        waited(m, now_ - packet.eligible, s);
        later(end, q, s);
        if (s < links_ && adaptive_) parts_[s] += packet.bytes;
        if (is_last(s)) return;
        const std::int32_t behind = queue_behind(q, s);
        const double hop = s < links_ ? each(costs_.hop, m) : 0;
        packet.eligible = now_ + hop;
        packet.tail = end + hop;
        packet.next = -1;
        packet.rest = 0;
        packet.at = adaptive_ ? 1 : packet.at + 1;
        push(behind, packet);
    }

    // The last byte of the first packet of a queue has passed a server.
    void moved(std::int32_t q, std::int32_t s) {
        Queue& queue = queues_[q];
        const std::int32_t slot = queue.first;
        const Packet packet = packets_[slot];
        if (packet.rest > 0) {
            packets_[slot].bytes = std::min(packet.rest, costs_.packet);
            packets_[slot].rest -= packets_[slot].bytes;
        } else {
            queue.first = packet.next;
            queue.filled = queue.first < 0 ? 0 : queue.filled - packet.bytes;
            free_packets_.push_back(slot);
        }
        queue.leaving = false;
        ++servers_[s].free;
        const std::int32_t m = packet.message;
        const std::int32_t before = queue.behind;
        if (queue.first >= 0) becomes_first(q);
        open_.push_back(s);
        if (before >= 0) open_.push_back(before);
        if (!is_last(s)) return;
        Way& path = way(m);
        path.undelivered -= packet.bytes;
        if (path.undelivered > 0) {
            fill_window(m);
            return;
        }
        closed_.push_back(m);
        events_.at(now_, EventKind::ended, m);
    }

    void later(double time, std::int32_t q, std::int32_t s) {
        moves_.push_back({time, q, s});
        std::push_heap(moves_.begin(), moves_.end(), Later());
    }

    void waited(std::int32_t m, double time, std::int32_t server) {
        result_.blocked[m] += time;
        if (time <= longest_[m]) return;
        longest_[m] = time;
        result_.held_by[m] = server;
    }

    std::int32_t first_server(std::int32_t q) const {
        std::int32_t first = -1;
        each_server(q, [&](std::int32_t s) { first = first < 0 ? s : first; });
        return first;
    }

    // From a message whose packet finds no room to the first of the buffer that is full, until one repeats.
    void find_cycle() {
        trace_waits([&](std::int32_t m) -> std::pair<std::int32_t, std::int32_t> {
            if (way_of_[m] < 0) return waits_at_ends(m);
            for (std::int32_t q = 0; q < static_cast<std::int32_t>(queues_.size()); ++q) {
                if (queues_[q].first < 0) continue;
                const Packet& packet = packets_[queues_[q].first];
                if (packet.message != m || queues_[q].leaving) continue;
                const std::int32_t s = first_server(q);
                return {s, packets_[queues_[queue_behind(q, s)].first].message};
            }
            // all its packets stand behind others
            for (std::int32_t q = 0; q < static_cast<std::int32_t>(queues_.size()); ++q)
                for (std::int32_t slot = queues_[q].first; slot >= 0; slot = packets_[slot].next)
                    if (packets_[slot].message == m) return {first_server(q), packets_[queues_[q].first].message};
            return {-1, -1};
        });
    }

    PacketCosts costs_;
    Array<Server> servers_;
    Array<std::int32_t> first_queue_;   // behind each link and port out
    Array<Queue> queues_;               // behind these, by pool and unit; then those of the sources
    Array<std::int32_t> waits_behind_;  // by queue: the next that waits for the same server
    Array<Packet> packets_;
    Array<std::int32_t> free_packets_, free_ways_, way_of_;
    Array<Way> ways_;
    bool adaptive_;
    std::int64_t asks_ = 0;
    Array<Array<std::int32_t>> waiters_;      // adaptive: by link, the queues whose first packet may take it
    Array<std::int64_t> asked_;               // by queue: the number of its question
    Array<std::int32_t> choosing_, ways_on_;  // of a round; of a queue
    Array<Move> moves_, due_;                 // a heap; those of a round
    // of a round: queues that ask, links that may serve, messages that have arrived
    Array<std::int32_t> asking_, open_, closed_;
    Array<double> longest_;
};

}  // namespace

Simulated simulate_packets(const Routes& routes, const Messages<double>& messages, const Execution<double>& execution,
                           const PacketCosts& costs) {
    return Packets(routes, messages, execution, costs).run();
}

}  // namespace conset
