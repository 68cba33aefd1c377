// The connections in a plan file (kind conset/plan@1; docs/flat-files.md): one rank's part of a program that is opened.
#pragma once

#include <string>

#include "conset/connections/rank_connections.hpp"

namespace conset {

// Throws Failure: Code::file, or Code::mismatch where the plan has another number of ranks.
RankConnections read_connections(const std::string& path, std::int32_t rank, std::int32_t ranks);

// What of a rank's part breaks a rule, in words that name it, the rule and the number; empty where all is sound.
// Whoever makes a part, of a file or of Python's arrays, asks before a program is opened with it.
std::string fault_of(const RankConnections& part);

}  // namespace conset
