// Spread: what links carry in expectation, where nodes choose among next links of equal cost by a hash or spread every
// message over them.
//
// Idea. The expectation of a load is linear: what is bound for one node moves on together, from the farthest node to
// the nearest, and divides at each over the wires of its next links in equal parts. By a hash that is the chance of
// each link, as choices at different nodes are independent; where messages are spread it is what they do. With
// `valiant` one part in so many of what every node sends goes to each node that may be drawn, and from there on.
//
// Complexity: per destination of a batch O(links out of the nodes that its routes may visit), at most all links;
// `valiant`: all links for every node that may be drawn and every destination, unless a batch has the sums per source
// and per target of the one before. Memory O(nodes + links + transfers of a batch).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

class Spread {
public:
    explicit Spread(const Network& network);

    void add(std::int32_t source, std::int32_t target, double bytes) {
        if (source != target) demands_.push_back({target, source, {bytes, 1}});
    }

    template <class Visit>  // visit(link, bytes, messages) for every link that may carry what was added; which is then
                            // forgotten
    void settle(Visit&& visit) {
        resolve();
        for (const std::int32_t link : used_) visit(link, on_[link].bytes, on_[link].messages);
    }

    // Calls `visit(link, share)` for every link that a message may take: its chance, or the part of its bytes.
    template <class Visit>
    void each_share(std::int32_t source, std::int32_t target, Visit&& visit) {
        add(source, target, 1);
        settle([&](std::int32_t link, double share, double) { visit(link, share); });
    }

private:
    struct Amount {
        double bytes = 0, messages = 0;
        bool operator==(const Amount&) const = default;
        Amount operator*(double share) const { return {bytes * share, messages * share}; }
        void operator+=(const Amount& other) {
            bytes += other.bytes;
            messages += other.messages;
        }
    };
    struct Demand {
        std::int32_t target, source;
        Amount amount;
        bool operator==(const Demand&) const = default;
    };

    void resolve();
    void resolve_in_two_legs();
    void put(std::int32_t node, std::int32_t to, const Amount& amount);
    void flow(std::int32_t to);
    Array<Demand> sums_by(bool target) const;

    const Network& network_;
    Array<Demand> demands_;
    Array<Amount> at_, on_;  // by node on the way to one destination; by link
    Array<std::int32_t> used_;
    Array<Array<std::int32_t>> layers_;  // nodes by distance to the destination
    Array<Demand> sent_, received_;      // of the last batch in two legs, whose result `on_` is
};

struct ExpectedLoads {  // one entry per phase
    Array<std::int32_t> send, receive;
    Array<double> link, channels;  // the largest expected load of a link, per unit of width; of a node
};

// `width[link]` for every link slot, or a single entry for all of them.
ExpectedLoads expect_loads(const Routes& routes, View<const std::int64_t> phase_offsets,
                           View<const std::int32_t> width);

struct ExpectedTotals {  // one entry per link slot
    Array<double> messages, bytes;
};

// Messages and bytes on every link when all transfers are taken together. `size[k]` [B], or a single entry for all.
ExpectedTotals expect_totals(const Routes& routes, View<const std::int64_t> size);

}  // namespace conset
