// Stations and servers: queues of channels, whose turn it is, and elements on their way between them.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/simulation/connections/connections.hpp"
#include "conset/simulation/connections/ticks.hpp"

namespace conset {

struct Station {
    std::int32_t server = -1, bit = 0, next = -1, before = -1;
    std::int32_t connection = -1;
    std::int32_t held = 0;     // elements on their way in, waiting, being served
    std::int64_t waiting = 0;  // that could be served; at the sender's end, all that are to be sent
    bool closed = false;       // nobody takes them
};

struct Server {
    std::int64_t service = 0, hop = 0;
    std::size_t word = 0;  // its bits begin here
    std::int32_t stations = 0, turn = 0, serving = -1;
    bool listed = false;
};

// `Ends` is told when a station's element was taken (`taken`), has left the sender's gate (`left`), is in the last
// channel (`there`), and is out (`out`).
template <class Ticks, class Ends>
class Stations {
public:
    Stations(const OpenTables& tables, std::int64_t span, Ends& ends)
        : tables_(tables), ends_(ends), ticks_(span), stations_(tables.next.size()), servers_(tables.service.size()) {
        std::size_t words = 0;
        for (std::size_t s = 0; s < servers_.size(); ++s) {
            const std::int64_t begin = tables.turn_offsets[s], end = tables.turn_offsets[s + 1];
            servers_[s] = {tables.service[s], tables.hop[s], words, static_cast<std::int32_t>(end - begin)};
            for (std::int64_t k = begin; k < end; ++k) {
                Station& station = stations_[tables.turns[k]];
                station.server = static_cast<std::int32_t>(s);
                station.bit = static_cast<std::int32_t>(k - begin);
            }
            words += (static_cast<std::size_t>(end - begin) + 63) / 64;
        }
        ready_.assign(words, 0);
        for (std::size_t k = 0; k < stations_.size(); ++k) {
            stations_[k].next = tables.next[k];
            if (tables.next[k] >= 0) stations_[tables.next[k]].before = static_cast<std::int32_t>(k);
        }
        for (std::size_t c = 0; c < tables.first.size(); ++c) {
            stations_[tables.first[c]].connection = stations_[tables.last[c]].connection = static_cast<std::int32_t>(c);
            stations_[tables.last[c]].closed = true;
        }
    }

    std::int64_t next(std::int64_t now) const { return ticks_.next(now); }
    std::int64_t moves() const { return moves_; }

    // All that ends at `now`.
    void step(std::int64_t now) {
        ticks_.take(now, events_);
        for (const std::int32_t event : events_) {
            if (event >= 0) {
                arrive(event);
            } else {
                finish(~event, now);
            }
        }
    }

    // Every free server that has something to choose from chooses.
    void choose(std::int64_t now) {
        for (const std::int32_t s : listed_) {
            Server& server = servers_[s];
            server.listed = false;
            if (server.serving >= 0) continue;
            const std::int32_t bit = find(server);
            if (bit >= 0) serve(s, tables_.turns[tables_.turn_offsets[s] + bit], now);
        }
        listed_.clear();
    }

    void add(std::int32_t station, std::int64_t elements) {
        stations_[station].waiting += elements;
        refresh(station);
    }

    void set_closed(std::int32_t station, bool closed) {
        stations_[station].closed = closed;
        refresh(station);
    }

    std::int64_t waiting(std::int32_t station) const { return stations_[station].waiting; }

private:
    void refresh(std::int32_t k) {
        const Station& station = stations_[k];
        Server& server = servers_[station.server];
        const std::size_t word = server.word + static_cast<std::size_t>(station.bit) / 64;
        const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(station.bit) % 64);
        const bool can = station.waiting > 0 && !station.closed &&
                         (station.next < 0 || stations_[station.next].held < tables_.queue);
        if (can) {
            ready_[word] |= bit;
            list(station.server);
        } else {
            ready_[word] &= ~bit;
        }
    }

    void list(std::int32_t s) {
        if (servers_[s].listed || servers_[s].serving >= 0) return;
        servers_[s].listed = true;
        listed_.push_back(s);
    }

    // The next station in turn that can be served, by its bit; -1: none.
    std::int32_t find(const Server& server) const {
        const std::size_t words = (static_cast<std::size_t>(server.stations) + 63) / 64;
        const auto turn = static_cast<std::size_t>(server.turn);
        const std::size_t at = turn / 64;
        const std::uint64_t behind = ~std::uint64_t{0} << (turn % 64);
        for (std::size_t k = 0; k <= words; ++k) {
            const std::size_t word = (at + k) % words;
            std::uint64_t bits = ready_[server.word + word];
            if (k == 0) bits &= behind;
            if (k == words) bits &= ~behind;
            if (bits != 0)
                return static_cast<std::int32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        }
        return -1;
    }

    void serve(std::int32_t s, std::int32_t k, std::int64_t now) {
        Server& server = servers_[s];
        Station& station = stations_[k];
        server.serving = k;
        server.turn = station.bit + 1 == server.stations ? 0 : station.bit + 1;
        --station.waiting;
        if (station.next >= 0) ++stations_[station.next].held;
        ++moves_;
        refresh(k);
        if (station.before < 0) ends_.taken(station.connection, now);
        ticks_.push(now + server.service, ~s);
    }

    void finish(std::int32_t s, std::int64_t now) {
        Server& server = servers_[s];
        const std::int32_t k = server.serving;
        const Station station = stations_[k];
        server.serving = -1;
        list(s);
        if (station.before >= 0) {
            --stations_[k].held;
            refresh(station.before);
        } else {
            ends_.left(station.connection, now);
        }
        if (station.next < 0) {
            ends_.out(station.connection, now);
        } else if (server.hop > 0) {
            ticks_.push(now + server.hop, station.next);
        } else {
            arrive(station.next);
        }
    }

    void arrive(std::int32_t k) {
        ++stations_[k].waiting;
        refresh(k);
        if (stations_[k].next < 0) ends_.there(stations_[k].connection);
    }

    const OpenTables& tables_;
    Ends& ends_;
    Ticks ticks_;  // events: ~server: its service ends; station: an element arrives
    Array<Station> stations_;
    Array<Server> servers_;
    Array<std::uint64_t> ready_;
    Array<std::int32_t> listed_, events_;
    std::int64_t moves_ = 0;
};

}  // namespace conset
