// Profile: how much work the ports, nodes and links of a network do, phase by phase or for a whole pattern.
//
// Prediction and bounds are sums over resources: both live on these four functions. All walk each route at most once:
// time O(transfers + sum of hops), memory O(nodes + links) beside the results.
#pragma once

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

struct Totals {  // one entry per link slot
    Array<std::int64_t> messages, bytes;
};

// Messages and bytes on every link when all transfers are taken together. `size[k]` [B], or a single entry for all.
Totals count_totals(const Routes& routes, View<const std::int64_t> size);

// The slowest link on the way of each transfer [s/B], 0 where it uses none. `per_byte[link]`, or a single entry.
Array<double> slowest_links(const Routes& routes, View<const double> per_byte);

// Upper limits on a batch of phases: messages leaving a node, entering it, and on each link (one entry per slot or a
// single one; empty: no limit, links are not looked at). No limit at ports is the largest integer.
struct RoundLimits {
    std::int64_t send, receive;
    View<const std::int64_t> link;
};

// Entry i is the largest work among the (limit * i + 1)-th transfers of all ports and links, where the transfers of
// each are counted in `order`, by falling work. Whatever the batches, the i-th longest of them (from 0) lasts at least
// this long. `work[k]` [s] belongs to transfer k.
Array<double> rank_rounds(const Routes& routes, View<const std::int32_t> order, View<const double> work,
                          const RoundLimits& limits);

// What a byte and a message cost; rates are inverted, so that 0 is no cost.
struct Work {
    View<const double> step_up_to, step_seconds;  // overhead of a message up to so many bytes [s]
    double out, in, node;                         // [s/B]
    double exchange;                              // what a byte counts in `node` where both directions meet, 0.5 ... 1
    View<const double> link;                      // [s/B] of the whole width, per slot or single; empty: no links
    View<const std::int32_t> width;               // per slot or single
    double tolerance, blocking;
    bool match_all_exchanges =
        false;  // whether exchanges count even where a node does more meanwhile: no schedule does better
};

enum class Resource : std::int32_t { none = -1, out, in, node, link, message };

struct Profile {
    // Per phase: the most work of one resource since its batch began [s], and which: `kind` is a Resource, `index` a
    // node, a link or a transfer.
    Array<double> busy;
    Array<std::int32_t> kind;
    Array<std::int64_t> index;
    // The same per kind of resource at the end of the last batch, five entries.
    Array<double> most;
    Array<std::int64_t> where;
};

// Batches are phases batch_offsets[b] ... batch_offsets[b + 1]; the work of a resource adds up inside a batch. The load
// that slows a link down, and the exchanges at a node, are counted in a phase (`phase_by_phase`) or in a whole batch.
Profile profile_phases(const Routes& routes, View<const std::int64_t> size, View<const std::int64_t> phase_offsets,
                       View<const std::int64_t> batch_offsets, bool phase_by_phase, const Work& work);

}  // namespace conset
