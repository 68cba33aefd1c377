#include "conset/simulation/connections/connections.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "conset/rows.hpp"
#include "conset/simulation/connections/stations.hpp"
#include "conset/simulation/connections/ticks.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

// When the elements of a connection that are under way came to the head of the sender's gate.
class UnderWay {
public:
    explicit UnderWay(std::size_t most) : since_(std::bit_ceil(most)) {}
    void put(std::int64_t tick) { since_[in_++ & (since_.size() - 1)] = tick; }
    std::int64_t take() { return since_[out_++ & (since_.size() - 1)]; }

private:
    Array<std::int64_t> since_;
    std::size_t in_ = 0, out_ = 0;
};

struct Connection {
    explicit Connection(std::size_t most) : under_way(most) {}
    std::int64_t head = 0;                // since when its next element is at the head of the gate
    std::size_t sending = 0, taking = 0;  // of its transfers
    UnderWay under_way;
};

struct Transfer {
    std::int64_t deps = 0, to_send = 0, to_take = 0;
    bool ready = false, receives = false, there = false, announced = false;
};

struct Rank {
    std::size_t sends = 0, receives = 0;  // of its lists, taken from
    std::int64_t open_sends = 0, open_receives = 0;
    Array<std::int32_t> arrived;  // any order: those that wait for a receive
    bool touched = false;
};

enum class Step : std::uint8_t { release, send, offer, receive, copied, deliver };
using Control = std::pair<Step, std::int32_t>;

template <class Ticks>
class OpenPhase {
public:
    OpenPhase(const OpenTables& tables, const OpenTransfers& transfers, std::int64_t span)
        : tables_(tables),
          given_(transfers),
          stations_(tables, span, *this),
          transfers_(transfers.connection.size()),
          ranks_(as_size(transfers.ranks)),
          sends_(Rows::by(ranks_.size(), size(), {}, [&](std::int32_t t) { return transfers.sender[t]; })),
          receives_(Rows::by(ranks_.size(), size(), {}, [&](std::int32_t t) { return transfers.receiver[t]; })),
          carried_(Rows::by(tables.first.size(), size(), {}, [&](std::int32_t t) { return transfers.connection[t]; })),
          waiting_for_(size()),
          left_(size()) {
        for (auto* times : {&times_.slot, &times_.sent, &times_.begun, &times_.left, &times_.end, &times_.latency})
            times->assign(size(), -1);
        times_.receiving.assign(size(), 0);
        for (std::int32_t c = 0; as_size(c) < tables.first.size(); ++c) {
            std::int64_t room = 2, elements = 1;
            for (std::int32_t k = tables.first[c]; k >= 0; k = tables.next[k]) room += tables.queue;
            for (const std::int32_t t : carried_.of(c)) elements = std::min(room, elements + transfers.elements[t]);
            connections_.emplace_back(as_size(elements));
        }
        for (std::size_t t = 0; t < size(); ++t) {
            transfers_[t].to_send = transfers_[t].to_take = transfers.elements[t];
            transfers_[t].deps = transfers.dep_offsets[t + 1] - transfers.dep_offsets[t];
            for (std::int64_t k = transfers.dep_offsets[t]; k < transfers.dep_offsets[t + 1]; ++k)
                waiting_for_[transfers.deps[k]].push_back(static_cast<std::int32_t>(t));
            if (transfers.release[t] > 0) {
                ++transfers_[t].deps;
                controls_.push(transfers.release[t], {Step::release, static_cast<std::int32_t>(t)});
            }
        }
    }

    OpenTimes run() {
        for (std::int32_t r = 0; r < given_.ranks; ++r) touch(r);
        for (std::int32_t t = 0; !given_.in_order && as_size(t) < size(); ++t)
            if (transfers_[t].deps == 0) begin(t);
        settle();
        for (std::size_t rounds = 0; left_ > 0; ++rounds) {
            if ((rounds & 4095) == 0) {
                should_stop(false);
                publish_progress(given_.delivered + static_cast<std::int64_t>(size() - left_));
            }
            stations_.choose(now_);
            const std::int64_t elements = stations_.next(now_);
            const std::int64_t next = std::min(elements, controls_.next());
            if (next == kNoTick) break;
            now_ = next;
            times_.late = now_ > given_.until;
            times_.cut = stations_.moves() > given_.work;
            if (times_.late || times_.cut) break;
            if (elements == next) stations_.step(now_);
            if (controls_.next() == next) control();
            settle();
        }
        times_.moves = stations_.moves();
        return std::move(times_);
    }

    // An element of a connection begins to leave the sender's gate.
    void taken(std::int32_t c, std::int64_t now) {
        Connection& connection = connections_[c];
        const std::int32_t t = sending(c);
        if (times_.begun[t] < 0) times_.begun[t] = now;
        connection.under_way.put(connection.head);
    }

    void left(std::int32_t c, std::int64_t now) {
        Connection& connection = connections_[c];
        const std::int32_t t = sending(c);
        connection.head = now;
        if (--transfers_[t].to_send == 0) {
            ++connection.sending;
            sent(t);
            activate(c);
        } else if (given_.pace[t] > 0) {
            const std::int64_t number = given_.elements[t] - transfers_[t].to_send;
            connection.head = std::max(now, times_.sent[t] + number * given_.pace[t]);
        }
    }

    void there(std::int32_t c) {
        if (given_.any) announce(taking(c));
    }

    void out(std::int32_t c, std::int64_t now) {
        Connection& connection = connections_[c];
        const std::int32_t t = taking(c);
        times_.latency[t] = std::max(times_.latency[t], now - connection.under_way.take());
        if (--transfers_[t].to_take > 0) return;
        ++connection.taking;
        stations_.set_closed(tables_.last[c], true);
        if (connection.taking < carried_.of(c).size()) {
            const std::int32_t following = taking(c);
            if (transfers_[following].receives) stations_.set_closed(tables_.last[c], false);
            if (given_.any && stations_.waiting(tables_.last[c]) > 0) announce(following);
        }
        after(t);
    }

private:
    std::size_t size() const { return transfers_.size(); }
    std::int32_t sending(std::int32_t c) const { return carried_.of(c)[connections_[c].sending]; }
    std::int32_t taking(std::int32_t c) const { return carried_.of(c)[connections_[c].taking]; }

    void touch(std::int32_t rank) {
        if (ranks_[rank].touched) return;
        ranks_[rank].touched = true;
        touched_.push_back(rank);
    }

    void settle() {
        while (!touched_.empty()) {
            const std::int32_t rank = touched_.back();
            touched_.pop_back();
            ranks_[rank].touched = false;
            fill_sends(rank);
            fill_receives(rank);
        }
    }

    void fill_sends(std::int32_t rank) {
        Rank& own = ranks_[rank];
        const auto list = sends_.of(rank);
        while (given_.in_order && own.sends < list.size() && transfers_[list[own.sends]].deps == 0 &&
               (given_.in_flight == 0 || own.open_sends < given_.in_flight))
            begin(list[own.sends++]);
    }

    void fill_receives(std::int32_t rank) {
        Rank& own = ranks_[rank];
        const auto list = receives_.of(rank);
        const bool by_list = !given_.any || given_.receives == 0;
        while (given_.receives == 0 || own.open_receives < given_.receives) {
            std::int32_t t = -1;
            if (by_list) {
                if (own.receives == list.size()) return;
                t = list[own.receives++];
            } else {
                if (own.arrived.empty()) return;
                t = own.arrived.front();
                own.arrived.erase(own.arrived.begin());
            }
            ++own.open_receives;
            times_.receiving[t] = 1;
            at(given_.receive_cost[t], {Step::receive, t});
        }
    }

    // A send takes its slot: its end is set up.
    void begin(std::int32_t t) {
        times_.slot[t] = now_;
        ++ranks_[given_.sender[t]].open_sends;
        at(given_.send_cost[t], {Step::send, t});
    }

    void at(std::int64_t delay, Control what) {
        if (delay > 0) {
            controls_.push(now_ + delay, what);
        } else {
            take(what);
        }
    }

    void control() {
        controls_.take(now_, due_);
        for (const Control& what : Array<Control>(due_)) take(what);
    }

    void take(const Control& what) {
        const std::int32_t t = what.second;
        switch (what.first) {
            case Step::release: released(t); break;
            case Step::send: send(t); break;
            case Step::offer: stations_.add(tables_.first[given_.connection[t]], 1); break;
            case Step::receive: receive(t); break;
            case Step::copied: copied(t); break;
            case Step::deliver: deliver(t); break;
        }
    }

    void released(std::int32_t t) {
        if (--transfers_[t].deps > 0) return;
        if (given_.in_order) {
            touch(given_.sender[t]);
        } else {
            begin(t);
        }
    }

    void send(std::int32_t t) {
        times_.sent[t] = now_;
        transfers_[t].ready = true;
        const std::int32_t c = given_.connection[t];
        if (c < 0) {
            at(given_.copy[t], {Step::copied, t});
        } else if (sending(c) == t) {
            activate(c);
        }
    }

    // The elements of the next transfer come to the gate.
    void activate(std::int32_t c) {
        if (connections_[c].sending == carried_.of(c).size()) return;
        const std::int32_t t = sending(c);
        if (!transfers_[t].ready) return;
        times_.sent[t] = std::max(times_.sent[t], now_);
        connections_[c].head = now_;
        if (given_.pace[t] == 0) {
            stations_.add(tables_.first[c], given_.elements[t]);
            return;
        }
        stations_.add(tables_.first[c], 1);
        for (std::int64_t n = 1; n < given_.elements[t]; ++n)
            controls_.push(now_ + n * given_.pace[t], {Step::offer, t});
    }

    void sent(std::int32_t t) {
        times_.left[t] = now_;
        --ranks_[given_.sender[t]].open_sends;
        touch(given_.sender[t]);
    }

    void copied(std::int32_t t) {
        times_.begun[t] = times_.sent[t];
        times_.latency[t] = 0;
        sent(t);
        transfers_[t].there = true;
        if (given_.any) announce(t);
        if (transfers_[t].receives) after(t);
    }

    void receive(std::int32_t t) {
        transfers_[t].receives = true;
        const std::int32_t c = given_.connection[t];
        if (c < 0) {
            if (transfers_[t].there) after(t);
        } else if (taking(c) == t) {
            stations_.set_closed(tables_.last[c], false);
        }
    }

    // Its first element has arrived: it may have a receive, in this order, those of one time in list order.
    void announce(std::int32_t t) {
        if (transfers_[t].announced || given_.receives == 0) return;
        transfers_[t].announced = true;
        Rank& own = ranks_[given_.receiver[t]];
        const auto same = std::find_if(own.arrived.begin(), own.arrived.end(),
                                       [&](std::int32_t other) { return announced_at(other) == now_ && other > t; });
        if (announced_.empty()) announced_.assign(size(), -1);
        announced_[t] = now_;
        own.arrived.insert(same, t);
        touch(given_.receiver[t]);
    }

    std::int64_t announced_at(std::int32_t t) const { return announced_.empty() ? -1 : announced_[t]; }

    void after(std::int32_t t) { at(given_.after[t], {Step::deliver, t}); }

    void deliver(std::int32_t t) {
        times_.end[t] = now_;
        --left_;
        --ranks_[given_.receiver[t]].open_receives;
        touch(given_.receiver[t]);
        for (const std::int32_t other : waiting_for_[t]) released(other);
    }

    const OpenTables& tables_;
    const OpenTransfers& given_;
    Stations<Ticks, OpenPhase> stations_;
    Array<Transfer> transfers_;
    Array<Rank> ranks_;
    Array<Connection> connections_;
    Rows sends_, receives_, carried_;
    Array<Array<std::int32_t>> waiting_for_;
    Array<std::int32_t> touched_;
    Array<std::int64_t> announced_;
    TickHeap<Control> controls_;
    Array<Control> due_;
    OpenTimes times_;
    std::int64_t now_ = 0;
    std::size_t left_;
};

}  // namespace

OpenTimes simulate_connections(const OpenTables& tables, const OpenTransfers& transfers) {
    std::int64_t span = 1;
    for (std::size_t s = 0; s < tables.service.size(); ++s)
        span = std::max({span, tables.service[s] + 1, tables.hop[s] + 1});
    if (span <= TickWheel::kMost) return OpenPhase<TickWheel>(tables, transfers, span).run();
    return OpenPhase<TickHeap<std::int32_t>>(tables, transfers, span).run();
}

}  // namespace conset
