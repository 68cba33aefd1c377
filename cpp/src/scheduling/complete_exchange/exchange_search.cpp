#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_ejection.hpp"
#include "conset/scheduling/occupancy.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

Occupancy empty_occupancy(const Array<std::int32_t>& capacity) {
    Occupancy occupancy;
    for (const std::int32_t most : capacity) occupancy.add_row(most);
    return occupancy;
}

// Calls visit(resource) for the ports and links of a message: sends, then receives, then links.
template <class Visit>
void each_resource(const Network& network, std::int32_t message, Visit&& visit) {
    const std::int32_t nodes = network.nodes(), s = message / (nodes - 1), rest = message % (nodes - 1),
                       t = rest + (rest >= s);
    visit(s);
    visit(nodes + t);
    network.walk(s, t, [&](std::int32_t link, std::int32_t) { visit(2 * nodes + link); });
}

}  // namespace

ExchangeSearch::ExchangeSearch(const Network& network, std::int32_t contention, const ExchangeItems& items)
    : items_(items) {
    const auto resources = static_cast<std::size_t>(2 * network.nodes() + network.link_slots());
    Array<std::int32_t> row_of(resources, -1);
    row_offsets_.reserve(items.message.size() + 1);
    row_offsets_.push_back(0);
    for (const std::int32_t message : items.message) {
        each_resource(network, message, [&](std::int32_t resource) {
            if (row_of[resource] < 0) {
                row_of[resource] = static_cast<std::int32_t>(capacity_.size());
                capacity_.push_back(resource < 2 * network.nodes() ? 1 : contention);
            }
            rows_.push_back(row_of[resource]);
        });
        row_offsets_.push_back(static_cast<std::int64_t>(rows_.size()));
    }
}

// The earliest phase any alternative fits in, tried from `first` on cyclically.
template <class Occupied>
std::int32_t ExchangeSearch::place(Occupied& occupied, std::int32_t item, std::int64_t first,
                                   std::int64_t& chosen) const {
    const std::int64_t begin = items_.offsets[item], count = items_.offsets[item + 1] - begin;
    std::int32_t best = -1;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t alternative = begin + (first - begin + k) % count;
        const std::int32_t phase = occupied.find(rows(alternative), 0);
        if (best >= 0 && phase >= best) continue;
        best = phase;
        chosen = alternative;
        if (best == 0) break;
    }
    for (const std::int32_t row : rows(chosen)) occupied.take(row, best);
    return best;
}

ExchangePacking ExchangeSearch::fill(View<const std::int32_t> start) const {
    ExchangePacking packing{Array<std::int32_t>(static_cast<std::size_t>(items()), -1), {}};
    packing.chosen.assign(items_.offsets.begin(), items_.offsets.end() - 1);
    Occupancy occupied = empty_occupancy(capacity_);
    Array<std::int32_t> order;
    for (std::int32_t i = 0; i < items(); ++i) {
        const auto taken = rows(packing.chosen[i]);
        const bool kept = start[i] >= 0 && std::none_of(taken.begin(), taken.end(),
                                                        [&](std::int32_t row) { return occupied.full(row, start[i]); });
        if (!kept) {
            order.push_back(i);
            continue;
        }
        for (const std::int32_t row : taken) occupied.take(row, start[i]);
        packing.phase[i] = start[i];
    }
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return rows(packing.chosen[a]).size() > rows(packing.chosen[b]).size();
    });
    for (const std::int32_t i : order) packing.phase[i] = place(occupied, i, packing.chosen[i], packing.chosen[i]);
    return packing;
}

ExchangePacking ExchangeSearch::peel(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    ExchangePacking packing{Array<std::int32_t>(static_cast<std::size_t>(items()), -1), {}};
    packing.chosen.assign(items_.offsets.begin(), items_.offsets.end() - 1);
    Array<std::int32_t> remaining(capacity_.size(), 0), used(capacity_.size(), 0),
        left(static_cast<std::size_t>(items()));
    std::iota(left.begin(), left.end(), 0);
    std::shuffle(left.begin(), left.end(), random);
    for (std::int64_t offset : packing.chosen)
        for (const std::int32_t row : rows(offset)) ++remaining[row];
    Array<std::pair<std::int64_t, std::int32_t>> order;
    for (std::int32_t phase = 0; !left.empty(); ++phase) {
        order.clear();
        for (const std::int32_t i : left) {
            std::int32_t most = 0;
            const auto taken = rows(packing.chosen[i]);
            for (const std::int32_t row : taken)
                most = std::max(most, (remaining[row] + capacity_[row] - 1) / capacity_[row]);
            order.emplace_back(-(std::int64_t{most} * 4096 + static_cast<std::int64_t>(taken.size())), i);
        }
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::fill(used.begin(), used.end(), 0);
        for (const auto& [key, i] : order) {
            const auto taken = rows(packing.chosen[i]);
            if (std::any_of(taken.begin(), taken.end(), [&](std::int32_t row) { return used[row] == capacity_[row]; }))
                continue;
            for (const std::int32_t row : taken) {
                ++used[row];
                --remaining[row];
            }
            packing.phase[i] = phase;
        }
        std::erase_if(left, [&](std::int32_t i) { return packing.phase[i] >= 0; });
    }
    return packing;
}

ExchangePacking ExchangeSearch::reorder(ExchangePacking packing, std::int32_t target, std::int64_t rounds,
                                        std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Array<std::int32_t> order(packing.phase.size()), key, size, next;
    for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int32_t phases = 1 + *std::max_element(packing.phase.begin(), packing.phase.end());
        if (phases <= target || stop_asked()) break;
        key.resize(static_cast<std::size_t>(phases));
        std::iota(key.begin(), key.end(), 0);
        size.assign(key.size(), 0);
        for (const std::int32_t p : packing.phase) ++size[p];
        if (round > 0 && random() % 8 == 0)
            std::shuffle(key.begin(), key.end(), random);
        else
            std::reverse(key.begin(), key.end());
        if (random() % 4 == 0)
            std::stable_sort(key.begin(), key.end(), [&](std::int32_t a, std::int32_t b) { return size[a] > size[b]; });
        next.assign(key.size(), 0);
        std::int32_t sum = 0;
        for (const std::int32_t p : key) next[p] = std::exchange(sum, sum + size[p]);
        for (std::size_t i = 0; i < order.size(); ++i) order[next[packing.phase[i]]++] = static_cast<std::int32_t>(i);
        Occupancy occupied = empty_occupancy(capacity_);
        for (const std::int32_t i : order) packing.phase[i] = place(occupied, i, packing.chosen[i], packing.chosen[i]);
    }
    return packing;
}

ExchangePacking ExchangeSearch::eject(ExchangePacking packing, std::int32_t target, std::int64_t moves,
                                      std::uint64_t seed) const {
    return Ejection(*this, std::move(packing), seed).run(target, moves);
}

}  // namespace conset
