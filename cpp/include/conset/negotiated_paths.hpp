// Path search: the cheapest (slot, path) for one item, best first over all slots together.
//
// A* with the hops that are left as heuristic: the price of a node is at least 1, of everything else at least 0. All
// slots share one heap, so that no slot is searched beyond the price that wins. Ties go to the state nearest to the
// target, then at random.
// Complexity: O(states with a price below the winner's * log) time, O(nodes * slots) memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conset/negotiated.hpp"

namespace conset {

class PathSearch {
public:
    PathSearch(const NegotiatedItems& items, std::int32_t slots)
        : items_(items),
          price_(static_cast<std::size_t>(slots) * static_cast<std::size_t>(items.nodes_)),
          mark_(price_.size(), 0),
          came_(price_.size(), 0),
          end_(static_cast<std::size_t>(slots), 0),
          slots_(slots) {}

    // The slot for `message`, whose `path` (positions in the list of links by node) is found with it; `order` (a price
    // for each slot) may be null.
    std::int32_t find(std::size_t message, const Ledger& ledger, const float* order, Random& random,
                      std::vector<std::int32_t>& path);

    std::int64_t steps() const { return steps_; }

private:
    struct Entry {
        std::uint64_t key;
        std::uint32_t state;
        bool operator<(const Entry& other) const { return key > other.key; }  // std heaps have the largest on top
    };

    void offer(float price, std::uint16_t left, std::uint32_t state, Random& random);
    void start(std::size_t message, const Ledger& ledger, const float* order, Random& random);
    void trace(std::uint32_t state, std::vector<std::int32_t>& path) const;

    const NegotiatedItems& items_;
    std::vector<Entry> heap_;
    std::vector<float> price_;         // from the start to each state (slot * nodes + node)
    std::vector<std::uint32_t> mark_;  // 2 * run: seen; 2 * run + 1: done
    std::vector<std::int32_t> came_;   // position in out_link_ of the link into a state
    std::vector<float> end_;           // by slot: what the ports and the target cost
    std::int32_t slots_;
    std::uint32_t run_ = 0, source_ = 0;
    std::int64_t steps_ = 0;
};

}  // namespace conset
