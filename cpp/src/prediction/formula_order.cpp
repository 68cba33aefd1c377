// Transfers that wait for others.
//
// Chains: transfers that follow one another take at least their times alone, added up, and one set-up, as every one
// starts when those before it are delivered. Between two barriers chains begin anew.
//
// Waves: transfers that wait for none of their batch, those that wait for one of these, and on. A rank begins a wave
// when all that it sends and receives in the one before is delivered, but sets up once a phase. Where ranks wait for
// their partners every phase has waves of its own. So a transfer that follows one other of its rank also waits for the
// rest of that wave: where few transfers have an order that is long by up to the rest.
//
// O(transfers log(transfers) + waits).
#include <algorithm>
#include <numeric>
#include <utility>

#include "conset/prediction/formula.hpp"
#include "conset/prediction/formula_costs.hpp"

namespace conset {

namespace {

// Transfers in another order, some of those there are.
class Rearranged {
public:
    Rearranged(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
               const Array<std::int32_t>& order)
        : order_(order),
          source_(of(routes.source)),
          target_(of(routes.target)),
          sender_(of(ranks.sender)),
          receiver_(of(ranks.receiver)),
          size_(size.size() == 1 ? Array<std::int64_t>{size[0]} : of(size)),
          packed_(ranks.packed.empty() ? Array<std::uint8_t>{} : of(ranks.packed)) {
        if (routes.offsets.empty()) return;
        offsets_.push_back(0);
        for (const std::int32_t k : order) {
            routes.each_link(k, [&](std::int32_t link) { links_.push_back(link); });
            offsets_.push_back(static_cast<std::int64_t>(links_.size()));
        }
    }

    Ends time(const Routes& routes, const Ranks& ranks, View<const std::int64_t> cuts,
              const MessageCosts& costs) const {
        return time_ranks({routes.network, source_, target_, offsets_, links_},
                          {sender_, receiver_, ranks.ranks, packed_}, size_, cuts, costs);
    }

private:
    template <class T>
    Array<T> of(View<const T> values) const {
        Array<T> chosen;
        chosen.reserve(order_.size());
        for (const std::int32_t k : order_) chosen.push_back(values[k]);
        return chosen;
    }

    const Array<std::int32_t>& order_;
    Array<std::int32_t> source_, target_, sender_, receiver_;
    Array<std::int64_t> size_, offsets_;
    Array<std::uint8_t> packed_;
    Array<std::int32_t> links_;
};

// By phase; index: the last transfer of a chain, the last rank of a wave.
struct Times {
    Times(std::size_t phases, std::int64_t opened) : end(phases, 0), index(phases, 0), setups(phases, opened) {}

    Array<double> end;
    Array<std::int64_t> index, setups;
};

class Followers {
public:
    Followers(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
              View<const std::int64_t> phase_offsets, bool partners, const MessageCosts& costs, const Waits& waits,
              const Array<double>& alone)
        : routes_(routes),
          ranks_(ranks),
          size_(size),
          offsets_(phase_offsets),
          partners_(partners),
          waits_(waits),
          alone_(alone),
          end_(alone),
          depth_(alone.size(), 0),
          setup_(costs.setup),
          costs_(costs),
          chains_(phase_offsets.size() - 1, 1),
          waves_(phase_offsets.size() - 1, 0) {
        costs_.setup = 0;
    }

    // Phases low ... high - 1.
    void add_batch(std::int64_t low, std::int64_t high) {
        add_chains(low, high);
        const auto begin = depth_.begin() + offsets_[low], end = depth_.begin() + offsets_[high];
        if (waits_.posted.empty() && std::any_of(begin, end, [](auto depth) { return depth > 0; }))
            add_waves(low, high);
    }

    void take_into(Formula& found) const {
        found.take_later(chains_.end, Busy::chain, chains_.index, chains_.setups);
        found.take_later(waves_.end, Busy::partners, waves_.index, waves_.setups);
    }

private:
    void add_chains(std::int64_t low, std::int64_t high) {
        double latest = 0;
        std::int64_t last = 0;
        for (std::int64_t p = low; p < high; ++p) {
            const std::int64_t first = offsets_[p], stop = offsets_[p + 1];
            for (std::int64_t i = first; i < stop; ++i)
                follow(waits_.posted.empty() ? i : waits_.posted[i], offsets_[low], partners_ ? first : offsets_[low]);
            const auto longest = std::max_element(end_.begin() + first, end_.begin() + stop);
            if (first < stop && *longest >= latest) {
                latest = *longest;
                last = longest - end_.begin();
            }
            chains_.end[p] = latest + (latest > 0 ? setup_ : 0);
            chains_.index[p] = last;
        }
    }

    // Transfer k after those of its batch, which begins at `batch`, that it waits for; waves begin at `wave`.
    void follow(std::int64_t k, std::int64_t batch, std::int64_t wave) {
        for (const std::int32_t before : waits_.before.of(static_cast<std::int32_t>(k))) {
            if (before < batch) continue;
            end_[k] = std::max(end_[k], end_[before] + alone_[k]);
            if (before >= wave) depth_[k] = std::max(depth_[k], depth_[before] + 1);
        }
    }

    void add_waves(std::int64_t low, std::int64_t high) {
        const std::int64_t begin = offsets_[low];
        Array<std::int32_t> order(as_size(offsets_[high] - begin));
        std::iota(order.begin(), order.end(), static_cast<std::int32_t>(begin));
        Array<std::int64_t> wave(order.size(), 0);  // of transfer begin + k; first by phase where these have their own
        for (std::int64_t p = low; p < high; ++p)
            for (std::int64_t k = offsets_[p]; k < offsets_[p + 1]; ++k)
                wave[k - begin] = (partners_ ? p << 32 : 0) + depth_[k];
        std::stable_sort(order.begin(), order.end(),
                         [&](auto one, auto other) { return wave[one - begin] < wave[other - begin]; });
        Array<std::int64_t> cuts{0};
        for (std::size_t i = 0; i < order.size(); ++i) {
            const bool ends = i + 1 == order.size() || wave[order[i + 1] - begin] != wave[order[i] - begin];
            wave[order[i] - begin] = static_cast<std::int64_t>(cuts.size()) - 1;
            if (ends) cuts.push_back(static_cast<std::int64_t>(i) + 1);
        }
        const Ends ends = Rearranged(routes_, ranks_, size_, order).time(routes_, ranks_, cuts, costs_);
        Array<std::int64_t> seen(as_size(ranks_.ranks), -1), opened(seen.size(), 0);  // by rank
        std::int64_t last = 0;
        for (std::int64_t p = low; p < high; ++p) {
            for (std::int64_t k = offsets_[p]; k < offsets_[p + 1]; ++k) {
                last = std::max(last, wave[k - begin]);
                for (const std::int32_t r : {ranks_.sender[k], ranks_.receiver[k]})
                    if (std::exchange(seen[r], p) != p) ++opened[r];
            }
            waves_.index[p] = ends.rank[last];
            waves_.setups[p] = opened[ends.rank[last]];
            waves_.end[p] = ends.end[last] + static_cast<double>(waves_.setups[p]) * setup_;
        }
    }

    const Routes& routes_;
    const Ranks& ranks_;
    View<const std::int64_t> size_, offsets_;
    bool partners_;
    const Waits& waits_;
    const Array<double>& alone_;
    Array<double> end_;
    Array<std::int32_t> depth_;
    double setup_;
    MessageCosts costs_;  // without set-ups, which ranks pay by phase
    Times chains_, waves_;
};

}  // namespace

Formula time_phases(const Routes& routes, const Ranks& ranks, View<const std::int64_t> size,
                    View<const std::int64_t> phase_offsets, View<const std::int64_t> batch_offsets, bool partners,
                    const MessageCosts& costs, const Waits& waits) {
    const bool waiting = !waits.before.items.empty();
    Array<double> alone;
    Formula found =
        time_batches(routes, ranks, size, phase_offsets, batch_offsets, partners, costs, waiting ? &alone : nullptr);
    if (partners) {
        const Ends ends = time_ranks(routes, ranks, size, phase_offsets, costs);
        found.take_later(ends.end, Busy::partners, ends.rank, ends.setups);
    }
    if (!waiting) return found;
    Followers followers(routes, ranks, size, phase_offsets, partners, costs, waits, alone);
    for (std::size_t b = 0; b + 1 < batch_offsets.size(); ++b)
        followers.add_batch(batch_offsets[b], batch_offsets[b + 1]);
    followers.take_into(found);
    return found;
}

}  // namespace conset
