#include "conset/compilation/candidates.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace conset {

namespace {

using When = Candidate::When;

constexpr std::array kCandidates{
    Candidate{.method = "naive"},
    Candidate{.method = "lp"},
    Candidate{.method = "gen"},
    Candidate{.method = "bounded", .when = When::complete, .any_link = true, .box = true, .searched = 4096},
    Candidate{.method = "pex-gen-shift", .messages = kLarge, .when = When::no_power_of_two},
    Candidate{.method = "coloring", .messages = 1 << 21},
    Candidate{.method = "rs-n", .messages = kLarge},
    Candidate{.method = "first-fit", .messages = kLarge, .any_link = true},
    Candidate{.method = "rs-nl", .messages = 1 << 14, .any_link = true},
    Candidate{.method = "half-duplex", .messages = 2048, .when = When::half_duplex, .any_link = true},
    Candidate{.method = "decreasing", .messages = 4096, .when = When::unequal, .any_link = true, .searched = 0},
    Candidate{.method = "event-list", .messages = 2048, .when = When::unequal},
    Candidate{.method = "birkhoff", .messages = 2048},
    Candidate{.method = "negotiated", .messages = 2048, .any_link = true},
    // unequal sizes are balanced by annealing, which takes seconds
    Candidate{.method = "connections", .messages = 256, .when = When::channels, .any_link = true},
};

constexpr std::int32_t kLeastSwept = 4;  // the contention up to which powers of two are tried whatever the pattern

}  // namespace

View<const Candidate> candidates() { return {kCandidates.data(), kCandidates.size()}; }

bool Candidate::applies(const Situation& situation, std::int64_t effort) const {
    if (messages > 0 && situation.messages > messages * effort) return false;
    switch (when) {
        case When::no_power_of_two: return !std::has_single_bit(static_cast<std::uint64_t>(situation.ranks));
        case When::complete: return situation.messages == situation.ranks * (situation.ranks - 1);
        case When::half_duplex: return situation.half_duplex;
        case When::unequal: return !situation.equal_sizes;
        case When::channels: return situation.channels && situation.equal_sizes;
        case When::always: break;
    }
    return true;
}

Array<std::int32_t> Candidate::contentions(const Situation& situation, double crowding) const {
    if (!situation.routes_known || !situation.has_links || !any_link) return {0};
    Array<std::int32_t> limits;
    const auto add = [&](std::int64_t limit) {
        const auto link = static_cast<std::int32_t>(limit);
        if (std::find(limits.begin(), limits.end(), link) == limits.end()) limits.push_back(link);
    };
    const std::int64_t harmless = situation.tolerance;
    const bool small = situation.messages <= kSmall;
    if (box && !situation.sides.empty()) {
        const std::int64_t most = (*std::max_element(situation.sides.begin(), situation.sides.end()) + 3) / 4;
        add(most);
        if (situation.messages <= kLarge)
            for (std::int64_t power = std::int64_t{1} << std::bit_width(static_cast<std::uint64_t>(most)); power > 0;
                 power /= 2)
                if (power < most) add(power);
        add(std::min(harmless, most));
        if (small) add(kLeastSwept);
        return limits;
    }
    add(0);
    const std::int64_t most = small ? std::max<std::int64_t>(kLeastSwept, static_cast<std::int64_t>(crowding)) : 1;
    if (small)
        for (std::int64_t power = 2; power < 2 * most || power <= kLeastSwept; power *= 2) add(power);
    if (harmless > 1) add(harmless);
    return limits;
}

}  // namespace conset
