// Items of a negotiation: what each takes on a fixed route, which pairs are exchanges, the order, bounds on slots.
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "conset/network/routes.hpp"
#include "conset/rows.hpp"
#include "conset/scheduling/negotiated.hpp"

namespace conset {

namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 30U;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t entry(View<const std::int32_t> limit, std::size_t slot) {
    return limit.size() == 1 ? limit[0] : limit[slot];
}

}  // namespace

NegotiatedItems::NegotiatedItems(const Network& network, const Connections& messages, View<const std::int32_t> width,
                                 bool exchange)
    : nodes_(network.nodes()), links_(network.link_slots()), exchange_(exchange), width_(width.begin(), width.end()) {
    copy_messages(messages);
    offsets_.push_back(0);
    if (exchange) {
        item_.assign(source_.size(), -1);
        for (const auto& side : {messages.first, messages.second})
            for (const std::int32_t m : side) item_[m] = -2;  // waits for others, or they for it: stays alone
        pair_messages(network);
    } else {
        item_.resize(source_.size());
        for (std::int32_t m = 0; m < static_cast<std::int32_t>(source_.size()); ++m) add_item(network, {&m, 1});
    }
    order_items(messages);
}

NegotiatedItems::NegotiatedItems(const Network& network, const Connections& messages, View<const std::int32_t> width,
                                 const Alternatives& alternatives)
    : nodes_(network.nodes()),
      links_(network.link_slots()),
      width_(width.begin(), width.end()),
      first_(alternatives.items.begin(), alternatives.items.end()),
      message_offsets_(alternatives.offsets.begin(), alternatives.offsets.end()),
      message_(alternatives.message.begin(), alternatives.message.end()),
      first_slot_(alternatives.first_slot.begin(), alternatives.first_slot.end()),
      end_slot_(alternatives.end_slot.begin(), alternatives.end_slot.end()) {
    copy_messages(messages);
    item_.assign(source_.size(), -1);
    offsets_.push_back(0);
    for (std::size_t i = 0; i < items(); ++i) {
        std::int32_t hops = 0;
        for (std::int64_t a = first_[i]; a < first_[i + 1]; ++a) {
            const auto begin = message_.data() + message_offsets_[a], end = message_.data() + message_offsets_[a + 1];
            hops = std::max(hops, add_rows(network, {begin, end}));
        }
        hops_.push_back(hops);
    }
}

NegotiatedItems::NegotiatedItems(const Wiring& wiring, const Connections& messages, View<const std::int32_t> width)
    : nodes_(wiring.nodes),
      links_(static_cast<std::int32_t>(wiring.source.size())),
      free_(true),
      width_(width.begin(), width.end()),
      out_(wiring) {
    copy_messages(messages);
    item_.resize(source_.size());
    std::iota(item_.begin(), item_.end(), 0);
    offsets_.push_back(0);
    for (std::size_t m = 0; m < source_.size(); ++m) {
        if (leaves(m)) {
            const std::int32_t s = source_[m], t = target_[m];
            row_.insert(row_.end(), {s, nodes_ + t, 2 * nodes_ + s, 2 * nodes_ + t});
        }
        offsets_.push_back(static_cast<std::int64_t>(row_.size()));
    }
    for (const std::int32_t l : out_.link) {
        out_source_.push_back(wiring.source[l]);
        out_target_.push_back(wiring.target[l]);
    }
    measure_hops(wiring);
    order_items(messages);
}

void NegotiatedItems::copy_messages(const Connections& messages) {
    source_.assign(messages.source.begin(), messages.source.end());
    target_.assign(messages.target.begin(), messages.target.end());
}

// The k-th message from x to y meets the k-th from y to x, unless both take the same link.
void NegotiatedItems::pair_messages(const Network& network) {
    const auto ends = [&](std::int32_t m) {
        return std::tuple(std::min(source_[m], target_[m]), std::max(source_[m], target_[m]));
    };
    Array<std::int32_t> order(source_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return ends(a) < ends(b); });
    const Routes routes{network, source_, target_, {}, {}};
    Array<std::int32_t> waiting, links;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::int32_t m = order[k];
        if (k > 0 && ends(order[k - 1]) != ends(m)) {
            for (const std::int32_t w : waiting) add_item(network, {&w, 1});
            waiting.clear();
        }
        if (item_[m] == -2 || !leaves(m)) {
            add_item(network, {&m, 1});
            continue;
        }
        const bool meets = !waiting.empty() && source_[waiting.back()] == target_[m];
        if (meets) {
            links.clear();
            for (const std::int32_t one : {m, waiting.back()})
                routes.each_link(one, [&](std::int32_t link) { links.push_back(link); });
            std::sort(links.begin(), links.end());
        }
        if (meets && std::adjacent_find(links.begin(), links.end()) == links.end()) {
            const std::int32_t both[2] = {waiting.back(), m};
            waiting.pop_back();
            add_item(network, both);
        } else {
            waiting.push_back(m);
        }
    }
    for (const std::int32_t w : waiting) add_item(network, {&w, 1});
}

void NegotiatedItems::add_item(const Network& network, View<const std::int32_t> messages) {
    for (const std::int32_t m : messages) item_[m] = static_cast<std::int32_t>(items());
    hops_.push_back(add_rows(network, messages));
}

// What messages that share a slot take of it; the hops of their routes.
std::int32_t NegotiatedItems::add_rows(const Network& network, View<const std::int32_t> messages) {
    const Routes routes{network, source_, target_, {}, {}};
    std::int32_t hops = 0;
    for (const std::int32_t m : messages) {
        if (!leaves(m)) continue;
        if (!exchange_) {
            row_.insert(row_.end(), {source_[m], nodes_ + target_[m]});
        } else if (m == messages[0]) {
            row_.insert(row_.end(), {source_[m], target_[m]});
        }
        routes.each_node(m, [&](std::int32_t node) { row_.push_back(2 * nodes_ + node); });
        routes.each_link(m, [&](std::int32_t link) {
            row_.push_back(3 * nodes_ + link);
            ++hops;
        });
    }
    offsets_.push_back(static_cast<std::int64_t>(row_.size()));
    return hops;
}

void NegotiatedItems::order_items(const Connections& messages) {
    apart_ = messages.apart;
    if (messages.first.empty()) return;
    const std::size_t edges = messages.first.size();
    Array<std::int32_t> waits(items(), 0), ready;
    for (std::size_t k = 0; k < edges; ++k) {
        edge_first_.push_back(item_[messages.first[k]]);
        edge_second_.push_back(item_[messages.second[k]]);
        ++waits[edge_second_[k]];
    }
    order_item_.resize(2 * edges);
    order_edge_.resize(2 * edges);
    // entry 2k: edge k at the item it leaves; 2k + 1: at the one it enters
    order_offsets_ = fill_rows<std::int64_t>(
        items(), 2 * edges, [&](std::size_t e) { return (e % 2 == 0 ? edge_first_ : edge_second_)[e / 2]; },
        [&](std::int64_t at, std::size_t e) {
            order_item_[at] = (e % 2 == 0 ? edge_second_ : edge_first_)[e / 2];
            order_edge_[at] = static_cast<std::int32_t>(e);
        });
    chain_before_.assign(items(), 0);
    chain_after_.assign(items(), 0);
    for (std::size_t i = 0; i < items(); ++i)
        if (waits[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
    for (std::size_t k = 0; k < ready.size(); ++k) {
        const std::int32_t i = ready[k];
        for (std::int64_t at = order_offsets_[i]; at < order_offsets_[i + 1]; ++at) {
            const std::int32_t j = order_item_[at];
            if (order_edge_[at] % 2 != 0) continue;
            chain_before_[j] = std::max(chain_before_[j], chain_before_[i] + 1);
            if (--waits[j] == 0) ready.push_back(j);
        }
    }
    for (std::size_t k = ready.size(); k-- > 0;) {
        const std::int32_t i = ready[k];
        for (std::int64_t at = order_offsets_[i]; at < order_offsets_[i + 1]; ++at)
            if (order_edge_[at] % 2 == 0)
                chain_after_[i] = std::max(chain_after_[i], chain_after_[order_item_[at]] + 1);
    }
}

void NegotiatedItems::measure_hops(const Wiring& wiring) {
    Array<std::int32_t> targets;
    for (std::size_t m = 0; m < source_.size(); ++m)
        if (leaves(m)) targets.push_back(target_[m]);
    to_ = HopTable(wiring, targets);
    hops_.assign(source_.size(), 0);
    for (std::size_t m = 0; m < source_.size(); ++m)
        if (leaves(m)) hops_[m] = to_.to(target_[m])[source_[m]];
}

std::int64_t NegotiatedItems::capacity(std::int32_t row, const SlotLimits& limits, std::size_t slot) const {
    if (row < 2 * nodes_) {
        const auto& limit = row < nodes_ ? limits.send : limits.receive;
        return limit.empty() ? kUnlimited : entry(limit, slot);
    }
    if (row < 3 * nodes_) return limits.channels.empty() ? kUnlimited : entry(limits.channels, slot);
    if (limits.link.empty()) return kUnlimited;
    const std::int64_t width = width_.size() == 1 ? width_[0] : width_[row - 3 * nodes_];
    return std::min(kUnlimited, width * entry(limits.link, slot));
}

Array<std::int64_t> NegotiatedItems::loads() const {
    Array<std::int64_t> load(static_cast<std::size_t>(rows()), 0);
    for (const std::int32_t row : row_) ++load[row];
    return load;
}

std::int32_t NegotiatedItems::least_slots(const SlotLimits& limits) const {
    std::int64_t least = items() > 0 ? 1 : 0;
    const Array<std::int64_t> load = loads();
    for (std::int32_t row = 0; row < rows(); ++row)
        if (load[row] > 0) least = std::max(least, ceil_div(load[row], capacity(row, limits, 0)));
    for (std::size_t i = 0; i < chain_before_.size(); ++i)
        least = std::max<std::int64_t>(least, apart_ * (chain_before_[i] + chain_after_[i]) + 1);
    return std::max(static_cast<std::int32_t>(least), free_ ? least_by_supply(limits) : 0);
}

// Whatever the routes, they take so many links and channels of all that there are.
std::int32_t NegotiatedItems::least_by_supply(const SlotLimits& limits) const {
    std::int64_t hops = 0, routes = 0, width = 0;
    for (std::size_t m = 0; m < source_.size(); ++m) {
        hops += hops_[m];
        routes += leaves(m) ? 1 : 0;
    }
    for (const std::int32_t link : out_.link) width += width_.size() == 1 ? width_[0] : width_[link];
    std::int64_t least = 0;
    if (!limits.link.empty() && hops > 0) least = ceil_div(hops, width * limits.link[0]);
    if (!limits.channels.empty() && routes > 0)
        least = std::max(least, ceil_div(hops + routes, std::int64_t{nodes_} * limits.channels[0]));
    return static_cast<std::int32_t>(least);
}

}  // namespace conset
