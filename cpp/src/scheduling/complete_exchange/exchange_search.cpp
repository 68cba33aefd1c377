#include "conset/scheduling/complete_exchange/exchange_search.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

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

ExchangeSearch::ExchangeSearch(const Network& network, std::int32_t contention) {
    const std::int32_t messages = network.nodes() * (network.nodes() - 1);
    const auto resources = static_cast<std::size_t>(2 * network.nodes() + network.link_slots());
    Array<std::int32_t> row_of(resources, -1);
    row_offsets_.reserve(as_size(messages) + 1);
    row_offsets_.push_back(0);
    for (std::int32_t message = 0; message < messages; ++message) {
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

// The earliest phase a message fits in, which it takes.
template <class Occupied>
std::int32_t ExchangeSearch::place(Occupied& occupied, std::int32_t message) const {
    const std::int32_t phase = occupied.find(rows(message), 0);
    for (const std::int32_t row : rows(message)) occupied.take(row, phase);
    return phase;
}

Array<std::int32_t> ExchangeSearch::fill(View<const std::int32_t> start) const {
    Array<std::int32_t> phase(messages(), -1), order;
    Occupancy occupied = empty_occupancy(capacity_);
    for (std::int32_t m = 0; as_size(m) < messages(); ++m) {
        const auto taken = rows(m);
        const bool kept = start[m] >= 0 && std::none_of(taken.begin(), taken.end(),
                                                        [&](std::int32_t row) { return occupied.full(row, start[m]); });
        if (!kept) {
            order.push_back(m);
            continue;
        }
        for (const std::int32_t row : taken) occupied.take(row, start[m]);
        phase[m] = start[m];
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return rows(a).size() > rows(b).size(); });
    for (const std::int32_t m : order) phase[m] = place(occupied, m);
    return phase;
}

Array<std::int32_t> ExchangeSearch::peel(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Array<std::int32_t> phase_of(messages(), -1), left(messages());
    Array<std::int32_t> remaining(capacity_.size(), 0), used(capacity_.size(), 0);
    std::iota(left.begin(), left.end(), 0);
    std::shuffle(left.begin(), left.end(), random);
    for (const std::int32_t row : rows_) ++remaining[row];
    Array<std::pair<std::int64_t, std::int32_t>> order;
    for (std::int32_t phase = 0; !left.empty(); ++phase) {
        order.clear();
        for (const std::int32_t m : left) {
            std::int32_t most = 0;
            const auto taken = rows(m);
            for (const std::int32_t row : taken)
                most = std::max(most, (remaining[row] + capacity_[row] - 1) / capacity_[row]);
            order.emplace_back(-(std::int64_t{most} * 4096 + static_cast<std::int64_t>(taken.size())), m);
        }
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::fill(used.begin(), used.end(), 0);
        for (const auto& [key, m] : order) {
            const auto taken = rows(m);
            if (std::any_of(taken.begin(), taken.end(), [&](std::int32_t row) { return used[row] == capacity_[row]; }))
                continue;
            for (const std::int32_t row : taken) {
                ++used[row];
                --remaining[row];
            }
            phase_of[m] = phase;
        }
        std::erase_if(left, [&](std::int32_t m) { return phase_of[m] >= 0; });
    }
    return phase_of;
}

Array<std::int32_t> ExchangeSearch::reorder(Array<std::int32_t> phase, std::int32_t target, std::int64_t rounds,
                                            std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Array<std::int32_t> order(phase.size()), key, size, next;
    for (std::int64_t round = 0; round < rounds; ++round) {
        const std::int32_t phases = 1 + *std::max_element(phase.begin(), phase.end());
        if (phases <= target || stop_asked()) break;
        key.resize(static_cast<std::size_t>(phases));
        std::iota(key.begin(), key.end(), 0);
        size.assign(key.size(), 0);
        for (const std::int32_t p : phase) ++size[p];
        if (round > 0 && random() % 8 == 0)
            std::shuffle(key.begin(), key.end(), random);
        else
            std::reverse(key.begin(), key.end());
        if (random() % 4 == 0)
            std::stable_sort(key.begin(), key.end(), [&](std::int32_t a, std::int32_t b) { return size[a] > size[b]; });
        next.assign(key.size(), 0);
        std::int32_t sum = 0;
        for (const std::int32_t p : key) next[p] = std::exchange(sum, sum + size[p]);
        for (std::size_t m = 0; m < order.size(); ++m) order[next[phase[m]]++] = static_cast<std::int32_t>(m);
        Occupancy occupied = empty_occupancy(capacity_);
        for (const std::int32_t m : order) phase[m] = place(occupied, m);
    }
    return phase;
}

}  // namespace conset
