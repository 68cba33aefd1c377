// Numbers of a rank's connections, and what is said of them.
//
// A number stands for a direction, a peer and a place among the connections that a phase has with this peer in this
// direction (its copy, from 0 on), in all phases: receives first, by peer and copy, then sends.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "conset/array.hpp"
#include "conset/connections/rank_connections.hpp"

namespace conset {

class ConnectionTable {
public:
    explicit ConnectionTable(const RankConnections& part);

    int size() const { return static_cast<int>(ends_.size()); }
    // Those below are receives.
    int receives() const { return receives_; }
    bool sends(int number) const { return number >= receives_; }
    int peer(int number) const { return ends_[number].first; }
    int copy(int number) const { return ends_[number].second; }
    // -1: there is none in any phase.
    int find(int peer, bool send, int copy = 0) const;
    // By global phase; by context, ascending.
    View<const int> of_phase(std::int64_t phase) const;
    View<const int> of_context(int context) const;

private:
    Array<std::pair<int, int>> ends_;  // peer and copy
    int receives_ = 0;
    Array<std::int64_t> phase_offsets_;
    Array<int> phase_numbers_;
    Array<Array<int>> context_numbers_;
};

// `block 'halo', phase 1`
std::string phase_words(const RankConnections& part, int block, int phase);
// The same of a global phase, in the first block that has it.
std::string phase_words(const RankConnections& part, std::int64_t global_phase);
// `rank 3 (node 5)`
std::string rank_words(const RankConnections& part, int rank);
// `block 'halo', phase 1: no connection from rank 3 (node 3) to rank 5 (node 7); phase 2 has it`
std::string missing_connection(const RankConnections& part, int block, int phase, int peer, bool send);
// `block 'halo', phase 1: no connection 4 at rank 3 (node 3); phase 2 has it`
std::string missing_connection(const RankConnections& part, int block, int phase, int id);
// `block 'halo', phase 1: connections 4, 5 from rank 3 (node 3) to rank 5 (node 7): one is chosen by its id`
std::string several_connections(const RankConnections& part, int block, int phase, int peer, bool send);

}  // namespace conset
