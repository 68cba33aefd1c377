// The methods that `auto` tries, with what bounds them, and the contentions worth a try.
#pragma once

#include <cstdint>
#include <string_view>

#include "conset/array.hpp"
#include "conset/compilation/trial.hpp"

namespace conset {

// What the choice of candidates looks at in a pattern and a machine.
struct Situation {
    std::int64_t ranks = 0, messages = 0;
    bool equal_sizes = true;
    bool half_duplex = false, channels = false;  // of the machine: nodes, limited channels
    bool routes_known = true, has_links = false;
    Array<std::int32_t> sides{};  // of a box; empty: it is none
    std::int64_t tolerance = 1;   // messages that a link carries without harm
};

struct Candidate {
    // What pattern or machine must have for a gain over the others.
    enum class When : std::uint8_t { always, no_power_of_two, complete, half_duplex, unequal, channels };

    std::string_view method;
    std::int64_t messages = 0;  // most messages it is tried on, per unit of effort; 0: any number
    When when = When::always;
    bool any_link = false;  // it keeps any limit of links
    bool box = false;       // its phases grow fewer up to a quarter of the longest side of a box, and no further
    // Most messages for which the first unit of effort searches beyond a construction; below 0: any number.
    std::int64_t searched = -1;

    bool applies(const Situation& situation, std::int64_t effort) const;
    std::int64_t effort(const Situation& situation, std::int64_t effort) const {
        return searched < 0 || situation.messages <= searched ? effort : effort - 1;
    }
    // Limits of links worth a try, 0: its own. All methods that keep any: their own, what links carry without harm, and
    // of patterns up to `kSmall` messages powers of two, until ports need as many phases as links. A complete exchange
    // on a box needs no more than a quarter of the longest side for that. `crowding`: the most messages of a link over
    // the most of a port.
    Array<std::int32_t> contentions(const Situation& situation, double crowding) const;
};

// All of them, cheap ones first: pex and pex-gen make the phases of lp, scott those of bounded at contention 1.
View<const Candidate> candidates();

}  // namespace conset
