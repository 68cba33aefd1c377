// Negotiated assignment: items into slots under capacities, over fixed routes or over routes chosen with the slot.
//
// The method is described in conset/methods/negotiated.py. Every item always stands somewhere; where too many meet the
// price of the place rises, and keeps part of the rise, until they agree.
// Complexity: a sweep costs O(rows * slots) for each item that stands on an overused cell (fixed routes), or a
// best-first search over nodes * slots (free routes); memory O((rows + nodes + links) * slots). Reference: McMurchie,
// Ebeling, PathFinder, doi:10.1145/201310.201328.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "conset/array.hpp"
#include "conset/network/network.hpp"
#include "conset/random.hpp"
#include "conset/scheduling/connections.hpp"
#include "conset/scheduling/negotiated_ledger.hpp"

namespace conset {

// How much a slot may hold of each class: one entry for each slot or one for all; empty: no limit. `link` counts per
// unit of width.
struct SlotLimits {
    View<const std::int32_t> send, receive, link, channels;
};

// Price of overuse: `start`, times `growth` after every sweep, at most `most`; what stays of it is `history`.
struct Pressure {
    double start, growth, history, most;
};

// Items with alternatives: item i is one of the alternatives items[i] ... items[i + 1] - 1, and alternative a is the
// messages message[offsets[a]] ..., all in one slot from first_slot[a] to end_slot[a] - 1.
struct Alternatives {
    View<const std::int64_t> items, offsets;
    View<const std::int32_t> message, first_slot, end_slot;
};

// What is to be assigned: a message, with `exchange` a message and the one that comes back, or one of alternatives.
class NegotiatedItems {
public:
    // Fixed routes. `exchange`: a node is busy with one item of a slot, whatever it sends and receives.
    NegotiatedItems(const Network& network, const Connections& messages, View<const std::int32_t> width, bool exchange);
    // Fixed routes, one alternative of each item.
    NegotiatedItems(const Network& network, const Connections& messages, View<const std::int32_t> width,
                    const Alternatives& alternatives);
    // Free routes over `wiring`; no exchanges.
    NegotiatedItems(const Wiring& wiring, const Connections& messages, View<const std::int32_t> width);

    std::size_t messages() const { return source_.size(); }
    std::size_t items() const { return (first_.empty() ? offsets_ : first_).size() - 1; }
    bool free() const { return free_; }
    bool has_alternatives() const { return !first_.empty(); }

    // The links of a path found by a search.
    Array<std::int32_t> links_of(View<const std::int32_t> path) const {
        Array<std::int32_t> links;
        for (const std::int32_t at : path) links.push_back(out_.link[at]);
        return links;
    }

    // No assignment needs fewer slots when all are alike (each limit has one entry or none).
    std::int32_t least_slots(const SlotLimits& limits) const;

private:
    friend class Negotiation;
    friend class PathSearch;

    void copy_messages(const Connections& messages);
    void pair_messages(const Network& network);
    void add_item(const Network& network, View<const std::int32_t> messages);
    std::int32_t add_rows(const Network& network, View<const std::int32_t> messages);
    void order_items(const Connections& messages);
    void measure_hops(const Wiring& wiring);
    std::int64_t capacity(std::int32_t row, const SlotLimits& limits, std::size_t slot) const;
    Array<std::int64_t> loads() const;
    std::int32_t least_by_supply(const SlotLimits& limits) const;

    // Rows: send port v, receive port nodes + v, channels 2 nodes + v, link 3 nodes + l.
    std::int32_t rows() const { return 3 * nodes_ + links_; }
    bool leaves(std::integral auto message) const { return source_[message] != target_[message]; }

    std::int32_t nodes_ = 0, links_ = 0;
    bool exchange_ = false, free_ = false;
    Array<std::int32_t> source_, target_, width_;
    // The alternative i of an item is its own number where it has no other.
    std::int64_t first(std::size_t item) const {
        return first_.empty() ? static_cast<std::int64_t>(item) : first_[item];
    }

    Array<std::int32_t> item_;     // of each message; -1 with alternatives
    Array<std::int64_t> offsets_;  // rows of alternative a: row_[offsets_[a]] ... (free: send and receive port only)
    Array<std::int32_t> row_;
    // With alternatives: those of each item, the messages of each, and the slots it may take.
    Array<std::int64_t> first_, message_offsets_;
    Array<std::int32_t> message_, first_slot_, end_slot_;
    Array<std::int32_t> hops_;  // of each item, all its routes together
    // Order: pairs of items in compressed rows, and the longest chains that end and start at each item.
    Array<std::int64_t> order_offsets_;
    Array<std::int32_t> order_item_, order_edge_;  // neighbour; 2 * edge + (0: it comes later, 1: earlier)
    Array<std::int32_t> edge_first_, edge_second_, chain_before_, chain_after_;
    std::int32_t apart_ = 1;  // slots from the first of a pair to the second at least
    // Free routes: links out of each node, and hops to each target.
    OutLinks out_;
    Array<std::int32_t> out_source_, out_target_;
    HopTable to_;
};

class PathSearch;

// One try at a number of slots. The same arguments give the same assignment.
class Negotiation {
public:
    // `items` must outlive it. Of `slots`, a multiple of `planes`, so many in a row share the limits of ports.
    Negotiation(const NegotiatedItems& items, std::int32_t slots, const SlotLimits& limits, const Pressure& pressure,
                std::uint64_t seed, std::int32_t planes = 1);
    ~Negotiation();
    Negotiation(Negotiation&&) noexcept;
    Negotiation& operator=(Negotiation&&) = delete;
    Negotiation(const Negotiation&) = delete;
    Negotiation& operator=(const Negotiation&) = delete;

    // Called once: at most `sweeps` sweeps and about `work` steps, or until a stop is asked for. The excess that is
    // left: 0 is an assignment within all limits.
    std::int64_t run(std::int64_t sweeps, std::int64_t work);

    std::int64_t sweeps() const { return sweeps_; }
    std::int64_t work() const { return work_; }    // prices read, or states searched
    Array<std::int32_t> slot_of_messages() const;  // -1: of an alternative that was not taken
    RoutePaths paths() const;                      // free routes

private:
    std::size_t cell(std::int32_t row, std::int32_t slot) const {
        return static_cast<std::size_t>(row) * row_step_ + static_cast<std::size_t>(slot) * slot_step_;
    }
    // Calls visit(cell) for all that an item in `slot` takes of a row: a port counts in all slots that share it.
    template <class Visit>
    void each_cell(std::int32_t row, std::int32_t slot, Visit&& visit) {
        const bool shared = planes_ > 1 && (items_.free_ ? row : old_row_[row]) < 2 * items_.nodes_;
        if (!shared) return visit(cell(row, slot));
        for (std::int32_t k = 0; k < planes_; ++k) visit(cell(row, slot - slot % planes_ + k));
    }
    View<const std::int32_t> rows_of(std::size_t item) const;
    View<const std::int32_t> rows_of_alternative(std::int64_t alternative) const {
        return {row_.data() + offsets_[alternative], row_.data() + offsets_[alternative + 1]};
    }
    float first_weight() const;
    float step() const;
    void keep_rows_that_can_fill(const SlotLimits& limits);
    void open_cells(const SlotLimits& limits);
    void price_all();
    bool sweep(std::int64_t work);
    std::int64_t excess() const;
    bool broken(std::size_t edge) const;
    void remember();
    bool troubled(std::size_t item) const;
    void collect();
    void replace(std::size_t item);
    void note_rows(std::size_t item);
    const float* order_prices(std::size_t item);
    void take_cheapest_slot(std::size_t item, const float* order);
    float add_prices(std::int64_t alternative, const float* order, float* total);

    const NegotiatedItems& items_;
    std::int32_t slots_, planes_;
    Pressure pressure_;
    Random random_;
    std::size_t row_step_ = 0, slot_step_ = 0;
    // Fixed routes: the rows that can fill, by alternative and as numbered in the items; items by row; what is taken.
    Array<std::int64_t> offsets_, users_offsets_, row_seen_, taken_alternative_;
    Array<std::int32_t> row_, old_row_, users_;
    // Free routes: rows and path of each item.
    Array<Array<std::int32_t>> taken_, path_;
    std::unique_ptr<PathSearch> search_;
    std::unique_ptr<Ledger> ledger_;
    std::array<bool, 4> limited_{};  // send, receive, channels, link
    Array<std::int32_t> slot_;       // of each item, -1: nowhere
    Array<std::int32_t> todo_;       // items of this sweep
    Array<bool> queued_, slot_troubled_;
    Array<float> total_, edge_price_, order_price_;
    double force_;
    std::int64_t sweeps_ = 0, work_ = 0;
};

}  // namespace conset
