#include "conset/scheduling/negotiated_paths.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

namespace conset {

void PathSearch::start(std::size_t message, const Ledger& ledger, const float* order, Random& random) {
    const std::int32_t nodes = items_.nodes_, s = items_.source_[message], t = items_.target_[message];
    const auto rows = static_cast<std::size_t>(items_.rows());
    const auto left = static_cast<std::uint16_t>(items_.hops_[message]);
    mask_ = static_cast<std::uint32_t>(random.next()) & ((1U << state_bits_) - 1);
    heap_.clear();
    if (++run_ == 1U << 31U) {
        for (State& state : states_) state.mark = 0;
        run_ = 1;
    }
    for (std::int32_t q = 0; q < slots_; ++q) {
        const float* price = ledger.prices() + static_cast<std::size_t>(q) * rows;
        const auto at = static_cast<std::uint32_t>(q * nodes + s);
        states_[at].price = price[s] + price[nodes + t] + price[2 * nodes + s] + price[2 * nodes + t] - 1 +
                            (order == nullptr ? 0 : order[q]);
        states_[at].mark = 2 * run_;
        heap_.push_back(key(states_[at].price, left, at));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    steps_ += slots_;
}

std::int32_t PathSearch::find(std::size_t message, const Ledger& ledger, const float* order, Random& random,
                              Array<std::int32_t>& path) {
    const auto nodes = static_cast<std::uint32_t>(items_.nodes_);
    const std::int32_t t = items_.target_[message];
    const auto rows = static_cast<std::size_t>(items_.rows());
    const std::uint16_t* left = items_.to_.to(t);
    start(message, ledger, order, random);
    float arrived = std::numeric_limits<float>::max();  // the least price of a path found so far
    while (!heap_.empty()) {
        const std::uint32_t at = (static_cast<std::uint32_t>(heap_.front()) & ((1U << state_bits_) - 1)) ^ mask_;
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
        if (states_[at].mark == 2 * run_ + 1) continue;
        states_[at].mark = 2 * run_ + 1;
        const std::uint32_t q = at / nodes;
        const auto v = static_cast<std::int32_t>(at - q * nodes);
        if (v == t) return trace(at, items_.source_[message], path);
        const float* node_price = ledger.prices() + q * rows + 2 * static_cast<std::size_t>(nodes);
        const float* link_price = node_price + nodes;
        const float here = states_[at].price;
        for (std::int32_t k = items_.out_.offsets[v]; k < items_.out_.offsets[v + 1]; ++k) {
            const std::int32_t u = items_.out_target_[k];
            // What the target costs was paid at the start, except for 1.
            const float there = here + link_price[items_.out_.link[k]] + (u == t ? 1 : node_price[u]);
            if (there + static_cast<float>(left[u]) >= arrived) continue;
            const std::uint32_t next = q * nodes + static_cast<std::uint32_t>(u);
            State& state = states_[next];
            if (state.mark == 2 * run_ + 1 || (state.mark == 2 * run_ && state.price <= there)) continue;
            state = {there, 2 * run_, k};
            if (u == t) arrived = there;
            heap_.push_back(key(there, left[u], next));
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
            ++steps_;
        }
    }
    throw std::logic_error("no route: the graph was not checked to be connected");
}

// Back along the links; the slot of the path.
std::int32_t PathSearch::trace(std::uint32_t state, std::int32_t source, Array<std::int32_t>& path) const {
    const auto nodes = static_cast<std::uint32_t>(items_.nodes_);
    const std::uint32_t slot = state / nodes;
    path.clear();
    for (auto v = static_cast<std::int32_t>(state - slot * nodes); v != source; v = items_.out_source_[path.back()])
        path.push_back(states_[slot * nodes + static_cast<std::uint32_t>(v)].came);
    std::reverse(path.begin(), path.end());
    return static_cast<std::int32_t>(slot);
}

}  // namespace conset
