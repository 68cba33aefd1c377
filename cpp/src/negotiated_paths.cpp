#include "conset/negotiated_paths.hpp"

#include <algorithm>
#include <bit>

namespace conset {

// Equal prices: fewer hops left first, then any. Prices are not negative: their bits are in their order.
void PathSearch::offer(float price, std::uint16_t left, std::uint32_t state, Random& random) {
    const std::uint64_t bits = std::bit_cast<std::uint32_t>(price + static_cast<float>(left));
    heap_.push_back({bits << 32U | std::uint64_t{left} << 16U | random.next() >> 48U, state});
}

void PathSearch::start(std::size_t message, const Ledger& ledger, const float* order, Random& random) {
    const std::int32_t nodes = items_.nodes_, s = items_.source_[message], t = items_.target_[message];
    const std::size_t rows = static_cast<std::size_t>(items_.rows());
    const auto left = static_cast<std::uint16_t>(items_.hops_[message]);
    heap_.clear();
    source_ = static_cast<std::uint32_t>(s);
    if (++run_ == 1U << 31U) {
        std::fill(mark_.begin(), mark_.end(), 0);
        run_ = 1;
    }
    for (std::int32_t q = 0; q < slots_; ++q) {
        const float* price = ledger.prices() + static_cast<std::size_t>(q) * rows;
        const auto state = static_cast<std::uint32_t>(q * nodes + s);
        price_[state] = price[s] + price[nodes + t] + price[2 * nodes + s] + price[2 * nodes + t] - 1 +
                        (order == nullptr ? 0 : order[q]);
        mark_[state] = 2 * run_;
        offer(price_[state], left, state, random);
    }
    std::make_heap(heap_.begin(), heap_.end());
    steps_ += slots_;
}

std::int32_t PathSearch::find(std::size_t message, const Ledger& ledger, const float* order, Random& random,
                              std::vector<std::int32_t>& path) {
    const std::int32_t nodes = items_.nodes_, t = items_.target_[message];
    const std::size_t rows = static_cast<std::size_t>(items_.rows());
    const std::uint16_t* left =
        items_.distance_.data() + static_cast<std::size_t>(items_.distance_row_[t]) * static_cast<std::size_t>(nodes);
    start(message, ledger, order, random);
    while (true) {
        std::pop_heap(heap_.begin(), heap_.end());
        const std::uint32_t state = heap_.back().state;
        heap_.pop_back();
        if (mark_[state] == 2 * run_ + 1) continue;
        mark_[state] = 2 * run_ + 1;
        const std::uint32_t q = state / static_cast<std::uint32_t>(nodes);
        const auto v = static_cast<std::int32_t>(state - q * static_cast<std::uint32_t>(nodes));
        if (v == t) {
            trace(state, path);
            return static_cast<std::int32_t>(q);
        }
        const float* node_price = ledger.prices() + q * rows + 2 * static_cast<std::size_t>(nodes);
        const float* link_price = node_price + nodes;
        const float here = price_[state];
        for (std::int32_t at = items_.out_offsets_[v]; at < items_.out_offsets_[v + 1]; ++at) {
            const std::int32_t u = items_.out_target_[at];
            const std::uint32_t next = state - static_cast<std::uint32_t>(v) + static_cast<std::uint32_t>(u);
            // What the target costs was paid at the start, except for 1.
            const float there = here + link_price[items_.out_link_[at]] + (u == t ? 1 : node_price[u]);
            if (mark_[next] == 2 * run_ + 1 || (mark_[next] == 2 * run_ && price_[next] <= there)) continue;
            mark_[next] = 2 * run_;
            price_[next] = there;
            came_[next] = at;
            offer(there, left[u], next, random);
            std::push_heap(heap_.begin(), heap_.end());
            ++steps_;
        }
    }
}

void PathSearch::trace(std::uint32_t state, std::vector<std::int32_t>& path) const {
    path.clear();
    const auto nodes = static_cast<std::uint32_t>(items_.nodes_);
    const std::uint32_t slot = state / nodes * nodes;
    while (true) {
        if (state - slot == source_) break;
        path.push_back(came_[state]);
        state = slot + static_cast<std::uint32_t>(items_.out_source_[came_[state]]);
    }
    std::reverse(path.begin(), path.end());
}

}  // namespace conset
