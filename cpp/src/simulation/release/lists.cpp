// What is known before the first message goes: lists of ranks, phases, conditions of each message.
#include <algorithm>
#include <cmath>

#include <tuple>

#include "conset/random.hpp"
#include "conset/simulation/release/release.hpp"

namespace conset {

Array<double> delays(View<const std::int32_t> sender, View<const std::int32_t> receiver, double mean) {
    Array<double> delay(sender.size());
    for (std::size_t m = 0; m < delay.size(); ++m) {
        const std::uint64_t pair =
            static_cast<std::uint64_t>(sender[m]) << 32U | static_cast<std::uint32_t>(receiver[m]);
        delay[m] = -std::log1p(-Random(pair).uniform()) * mean;
    }
    return delay;
}

Array<std::int32_t> exchange_partners(View<const std::int32_t> source, View<const std::int32_t> target,
                                      View<const std::int64_t> phase_offsets) {
    Array<std::int32_t> partner(source.size(), -1), order;
    const auto low = [&](std::int32_t m) { return std::min(source[m], target[m]); };
    const auto high = [&](std::int32_t m) { return std::max(source[m], target[m]); };
    for (std::size_t p = 0; p + 1 < phase_offsets.size(); ++p) {
        order.clear();
        for (std::int64_t m = phase_offsets[p]; m < phase_offsets[p + 1]; ++m)
            if (source[m] != target[m]) order.push_back(static_cast<std::int32_t>(m));
        // pairs of nodes together, each direction by index
        std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return std::tuple(low(a), high(a), source[a], a) < std::tuple(low(b), high(b), source[b], b);
        });
        for (std::size_t k = 0; k < order.size();) {
            std::size_t up = k, end = k;
            while (end < order.size() && low(order[end]) == low(order[k]) && high(order[end]) == high(order[k])) ++end;
            while (up < end && source[order[up]] == low(order[k])) ++up;
            for (std::size_t i = k, j = up; i < up && j < end; ++i, ++j) {
                partner[order[i]] = order[j];
                partner[order[j]] = order[i];
            }
            k = end;
        }
    }
    return partner;
}

// By rank, the least rank that sends or receives on its node.
template <class Time>
Array<std::int32_t> first_on_node(const Routes& routes, const Messages<Time>& messages, std::int32_t ranks) {
    Array<std::int32_t> node(static_cast<std::size_t>(ranks), -1);
    std::int32_t last = -1;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        node[messages.sender[m]] = routes.source[m];
        node[messages.receiver[m]] = routes.target[m];
        last = std::max({last, routes.source[m], routes.target[m]});
    }
    Array<std::int32_t> first(static_cast<std::size_t>(last + 1), -1), shared(static_cast<std::size_t>(ranks), 0);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        if (node[rank] < 0) continue;
        if (first[node[rank]] < 0) first[node[rank]] = rank;
        shared[rank] = first[node[rank]];
    }
    return shared;
}

template <class Time>
Release<Time>::Release(const Routes& routes, const Messages<Time>& messages, const Execution<Time>& execution,
                       Events<Time>& events, Carrier<Time>& carrier)
    : routes_(routes),
      messages_(messages),
      execution_(execution),
      events_(events),
      carrier_(carrier),
      ranks_([&] {
          std::int32_t last = -1;
          for (std::size_t m = 0; m < messages.size(); ++m)
              last = std::max({last, messages.sender[m], messages.receiver[m]});
          return last + 1;
      }()),
      left_(messages.size()),
      processors_(static_cast<std::size_t>(ranks_), execution.one_processor, execution.preempts,
                  execution.shared_processor ? first_on_node(routes, messages, ranks_) : Array<std::int32_t>{}) {
    if (!phased()) {
        execution_.policy = Policy::none;
        execution_.exchanges = false;
    }
    times.start.assign(left_, kNeverOf<Time>);
    times.end.assign(left_, kNeverOf<Time>);
    if (execution.detailed) times.sent = times.flowed = times.left = times.end;
    state_.assign(left_, 0);
    if (execution_.startup) ports_.resize(as_size(routes.network.nodes()));
    number_phases();
    if (execution_.exchanges) partner_ = exchange_partners(routes.source, routes.target, messages.phase_offsets);
    const bool conditions = phased() && (!messages_.dep_offsets.empty() || !messages_.time.empty());
    in_lists_ = execution_.in_flight > 0 || enters() || pays() || conditions;
    make_lists();
    list_dependents();
    count_waits();
}

template <class Time>
void Release<Time>::number_phases() {
    if (messages_.phase_offsets.size() <= 2) return;
    phase_.resize(left_);
    for (std::size_t p = 0; p + 1 < messages_.phase_offsets.size(); ++p)
        for (std::int64_t k = messages_.phase_offsets[p]; k < messages_.phase_offsets[p + 1]; ++k)
            phase_[k] = static_cast<std::int32_t>(p);
}

template <class Time>
void Release<Time>::make_lists() {
    const auto ranks = static_cast<std::size_t>(ranks_);
    const auto rows = [&](View<const std::int32_t> rank) {
        return Rows::by(ranks, left_, messages_.order, [&](std::int32_t m) { return rank[m]; });
    };
    if (in_lists_) {
        sends_ = rows(messages_.sender);
        send_at_.assign(sends_.offsets.begin(), sends_.offsets.end() - 1);
        open_.assign(ranks, 0);
    }
    if (enters() || pays() || takes_list()) receives_ = rows(messages_.receiver);
    if (!enters() && !pays()) return;
    entered_sends_ = send_at_;
    entered_receives_.assign(receives_.offsets.begin(), receives_.offsets.end() - 1);
    phase_now_.assign(ranks, -1);
    phase_left_.assign(ranks, 0);
    setting_up_.assign(ranks, 0);
}

template <class Time>
void Release<Time>::list_dependents() {
    if (messages_.dep_offsets.empty()) return;
    dependents_.items.resize(messages_.deps.size());
    std::size_t m = 0;  // whose dependence it is
    dependents_.offsets = fill_rows<std::int64_t>(
        left_, messages_.deps.size(), [&](std::size_t k) { return messages_.deps[k]; },
        [&](std::int64_t at, std::size_t k) {
            while (messages_.dep_offsets[m + 1] <= static_cast<std::int64_t>(k)) ++m;
            dependents_.items[at] = static_cast<std::int32_t>(m);
        });
}

template <class Time>
void Release<Time>::count_waits() {
    const bool grouped = execution_.policy == Policy::barrier;
    if (messages_.dep_offsets.empty() && messages_.time.empty() && !grouped && !enters() && !pays()) return;
    waits_.assign(left_, 0);
    for (std::size_t k = 0; k < left_; ++k) {
        const auto m = static_cast<std::int32_t>(k);
        std::int32_t& waits = waits_[k];
        if (!messages_.dep_offsets.empty())
            waits = static_cast<std::int32_t>(messages_.dep_offsets[k + 1] - messages_.dep_offsets[k]);
        if (!messages_.time.empty() && messages_.time[k] > 0) ++waits;
        if (grouped) ++waits;
        if (enters() || pays()) ++waits;  // its sender
        if (pays() && messages_.sender[m] != messages_.receiver[m]) ++waits;
        if (execution_.policy == Policy::ready && leaves(m)) waits += !partner_.empty() && partner_[k] >= 0 ? 2 : 1;
    }
}

template class Release<double>;
template class Release<std::int64_t>;

}  // namespace conset
