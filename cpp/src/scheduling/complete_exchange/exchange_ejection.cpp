#include "conset/scheduling/complete_exchange/exchange_ejection.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "conset/stop.hpp"

namespace conset {

Ejection::Ejection(const ExchangeSearch& search, ExchangePacking packing, std::uint64_t seed)
    : search_(search),
      packing_(std::move(packing)),
      random_(seed),
      mark_(packing_.phase.size(), 0),
      thrown_(packing_.phase.size(), 0) {}

ExchangePacking Ejection::run(std::int32_t target, std::int64_t moves) {
    ExchangePacking best = packing_;
    for (;;) {
        const std::int32_t phases = 1 + *std::max_element(packing_.phase.begin(), packing_.phase.end());
        if (phases <= target || moves <= 0) return best;
        build(phases - 1);
        if (!reduce(moves)) return best;
        best = packing_;
    }
}

// Everything as it stands but the smallest phase, whose items are outside; the last phase takes its number.
void Ejection::build(std::int32_t phases) {
    phases_ = phases;
    Array<std::int32_t> size(static_cast<std::size_t>(phases) + 1, 0);
    for (const std::int32_t p : packing_.phase) ++size[p];
    const auto smallest = static_cast<std::int32_t>(std::min_element(size.begin(), size.end()) - size.begin());
    first_holder_.assign(search_.capacity_.size() + 1, 0);
    for (std::size_t row = 0; row < search_.capacity_.size(); ++row)
        first_holder_[row + 1] = first_holder_[row] + std::int64_t{search_.capacity_[row]} * phases;
    holder_.assign(static_cast<std::size_t>(first_holder_.back()), kNobody);
    tabu_.assign(packing_.phase.size() * static_cast<std::size_t>(phases), 0);
    outside_.clear();
    place_outside_.assign(packing_.phase.size(), kNobody);
    for (std::size_t i = 0; i < packing_.phase.size(); ++i) {
        const auto item = static_cast<std::int32_t>(i);
        const std::int32_t p = packing_.phase[i];
        if (p == smallest) {
            packing_.phase[i] = kNobody;
            place_outside_[i] = static_cast<std::int32_t>(outside_.size());
            outside_.push_back(item);
        } else {
            put(item, packing_.chosen[i], p == phases ? smallest : p);
        }
    }
}

void Ejection::put(std::int32_t item, std::int64_t alternative, std::int32_t phase) {
    packing_.phase[item] = phase;
    packing_.chosen[item] = alternative;
    for (const std::int32_t row : search_.rows(alternative)) {
        std::int32_t* at = holders(row, phase);
        while (*at != kNobody) ++at;
        *at = item;
    }
}

void Ejection::take_out(std::int32_t item, std::int64_t move) {
    const std::int32_t phase = packing_.phase[item];
    for (const std::int32_t row : search_.rows(packing_.chosen[item])) {
        std::int32_t* at = holders(row, phase);
        while (*at != item) ++at;
        *at = kNobody;
    }
    packing_.phase[item] = kNobody;
    place_outside_[item] = static_cast<std::int32_t>(outside_.size());
    outside_.push_back(item);
    tabu_[cell(item, phases_, phase)] =
        static_cast<std::int32_t>(move + 10 + static_cast<std::int64_t>(random_() % 10 + outside_.size()));
    ++thrown_[item];
}

// How many items would have to leave, at most `most + 1`; collects them in found_.
std::int32_t Ejection::blockers(std::int64_t alternative, std::int32_t phase, std::int32_t most) {
    ++evaluation_;
    found_.clear();
    for (const std::int32_t row : search_.rows(alternative)) {
        const std::int32_t* at = holders(row, phase);
        const std::int32_t capacity = search_.capacity_[row];
        std::int32_t victim = at[0];
        bool free = victim == kNobody || mark_[victim] == evaluation_;
        for (std::int32_t k = 1; k < capacity && !free; ++k) {
            free = at[k] == kNobody || mark_[at[k]] == evaluation_;
            if (!free && thrown_[at[k]] < thrown_[victim]) victim = at[k];
        }
        if (free) continue;
        mark_[victim] = evaluation_;
        found_.push_back(victim);
        if (static_cast<std::int32_t>(found_.size()) > most) break;
    }
    return static_cast<std::int32_t>(found_.size());
}

void Ejection::move_in(std::int32_t item, std::int64_t move) {
    std::int32_t least = 6, ties = 0, best_phase = -1;
    std::int64_t best_alternative = -1;
    for (std::int64_t a = search_.items_.offsets[item]; a < search_.items_.offsets[item + 1]; ++a)
        for (std::int32_t p = 0; p < phases_; ++p) {
            if (tabu_[cell(item, phases_, p)] > move) continue;
            const std::int32_t cost = blockers(a, p, least);
            if (cost > least) continue;
            ties = cost < least ? 1 : ties + 1;
            least = cost;
            if (random_() % static_cast<std::uint64_t>(ties) == 0) {
                best_phase = p;
                best_alternative = a;
            }
        }
    if (best_phase < 0) return;
    blockers(best_alternative, best_phase, 1 << 20);
    const Array<std::int32_t> victims(found_);
    for (const std::int32_t victim : victims) take_out(victim, move);
    const std::int32_t at = place_outside_[item], last = outside_.back();
    outside_[at] = last;
    place_outside_[last] = at;
    outside_.pop_back();
    place_outside_[item] = kNobody;
    put(item, best_alternative, best_phase);
}

constexpr std::int64_t kPollInterval = 256;  // moves between polls of the wish to stop

bool Ejection::reduce(std::int64_t& moves) {
    for (std::int64_t move = 1; !outside_.empty(); ++move) {
        if (moves-- <= 0 || (moves % kPollInterval == 0 && stop_asked())) return false;
        move_in(outside_[random_() % outside_.size()], move);
    }
    return true;
}

}  // namespace conset
