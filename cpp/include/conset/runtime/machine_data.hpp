// A machine without Python: a bare network in words, or a flat file (kind conset/machine@1) that
// `conset machines X -o x.machine` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conset/array.hpp"
#include "conset/network/network.hpp"

namespace conset {

// Limits and costs as the models of the core take them.
struct MachineData {
    std::string name;
    Network network;
    Array<std::int32_t> width;
};

// `crossbar:<ranks>` where the text is empty; a path where it ends in `.machine`. Throws Failure.
MachineData machine_in_words(std::string_view text, std::int32_t ranks);

}  // namespace conset
