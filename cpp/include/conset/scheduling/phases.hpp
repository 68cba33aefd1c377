// Phases: messages grouped by the phase a method gave them.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

struct Phases {
    Array<std::int64_t> offsets;  // phase p holds message[offsets[p]] ... message[offsets[p + 1] - 1]
    Array<std::int32_t> message;  // rising inside a phase
};

// `phase[message]`, from 0, in any numbering: empty phases vanish. Time and memory O(messages + largest phase).
Phases group_phases(View<const std::int32_t> phase);

}  // namespace conset
