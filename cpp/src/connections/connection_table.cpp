#include "conset/connections/connection_table.hpp"

#include <algorithm>
#include <utility>

namespace conset {

namespace {

using Key = std::pair<bool, int>;  // whether this rank sends, the peer

Key key_of(const RankConnections& part, std::size_t entry) { return {part.send[entry] != 0, part.peer[entry]}; }

template <class Values>
void sort_unique(Values& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::int64_t first_phase(const RankConnections& part, int block) {
    return part.schedule_phases[part.block_schedule[block]];
}

std::string between(const RankConnections& part, int peer, bool send) {
    return " from " + rank_words(part, send ? part.rank : peer) + " to " + rank_words(part, send ? peer : part.rank);
}

// The first phase of the block with such an entry of this rank, in words.
template <class Is>
std::string elsewhere(const RankConnections& part, int block, Is is) {
    const std::int64_t first = first_phase(part, block), end = part.schedule_phases[part.block_schedule[block] + 1];
    for (std::int64_t phase = first; phase < end; ++phase)
        for (auto k = as_size(part.offsets[phase]); k < as_size(part.offsets[phase + 1]); ++k)
            if (is(k)) return "; phase " + std::to_string(phase - first) + " has it";
    return {};
}

}  // namespace

ConnectionTable::ConnectionTable(const RankConnections& part) : phase_offsets_(part.offsets) {
    Array<int> copies(part.peer.size());
    for (std::size_t phase = 0; phase < part.phase_context.size(); ++phase)
        for (auto k = as_size(part.offsets[phase]) + 1; k < as_size(part.offsets[phase + 1]); ++k)
            copies[k] = key_of(part, k) == key_of(part, k - 1) ? copies[k - 1] + 1 : 0;
    Array<std::pair<Key, int>> keys;
    for (std::size_t k = 0; k < part.peer.size(); ++k) keys.emplace_back(key_of(part, k), copies[k]);
    sort_unique(keys);
    for (const auto& [key, copy] : keys) {
        ends_.emplace_back(key.second, copy);
        receives_ += key.first ? 0 : 1;
    }
    for (std::size_t k = 0; k < part.peer.size(); ++k)
        phase_numbers_.push_back(find(part.peer[k], part.send[k] != 0, copies[k]));
    for (std::size_t phase = 0; phase < part.phase_context.size(); ++phase) {
        const auto context = as_size(part.phase_context[phase]);
        if (context >= context_numbers_.size()) context_numbers_.resize(context + 1);
        const auto numbers = of_phase(static_cast<std::int64_t>(phase));
        context_numbers_[context].insert(context_numbers_[context].end(), numbers.begin(), numbers.end());
    }
    for (Array<int>& numbers : context_numbers_) sort_unique(numbers);
}

int ConnectionTable::find(int peer, bool send, int copy) const {
    const auto begin = ends_.begin() + (send ? receives_ : 0), end = send ? ends_.end() : ends_.begin() + receives_;
    const std::pair<int, int> wanted(peer, copy);
    const auto found = std::lower_bound(begin, end, wanted);
    return found == end || *found != wanted ? -1 : static_cast<int>(found - ends_.begin());
}

View<const int> ConnectionTable::of_phase(std::int64_t phase) const {
    const auto begin = as_size(phase_offsets_[phase]);
    return {phase_numbers_.data() + begin, as_size(phase_offsets_[phase + 1]) - begin};
}

View<const int> ConnectionTable::of_context(int context) const {
    return {context_numbers_[context].data(), context_numbers_[context].size()};
}

std::string phase_words(const RankConnections& part, int block, int phase) {
    return "block '" + part.names[as_size(block)] + "', phase " + std::to_string(phase);
}

std::string phase_words(const RankConnections& part, std::int64_t global_phase) {
    for (std::size_t block = 0; block < part.names.size(); ++block) {
        const auto schedule = part.block_schedule[block];
        const std::int64_t begin = part.schedule_phases[schedule], end = part.schedule_phases[schedule + 1];
        if (global_phase >= begin && global_phase < end)
            return phase_words(part, static_cast<int>(block), static_cast<int>(global_phase - begin));
    }
    return "phase " + std::to_string(global_phase) + " of all";
}

std::string rank_words(const RankConnections& part, int rank) {
    return "rank " + std::to_string(rank) + " (node " + std::to_string(part.node[rank]) + ")";
}

std::string missing_connection(const RankConnections& part, int block, int phase, int peer, bool send) {
    return phase_words(part, block, phase) + ": no connection" + between(part, peer, send) +
           elsewhere(part, block, [&](std::size_t k) { return key_of(part, k) == Key(send, peer); });
}

std::string missing_connection(const RankConnections& part, int block, int phase, int id) {
    return phase_words(part, block, phase) + ": no connection " + std::to_string(id) + " at " +
           rank_words(part, part.rank) + elsewhere(part, block, [&](std::size_t k) { return part.id[k] == id; });
}

std::string several_connections(const RankConnections& part, int block, int phase, int peer, bool send) {
    std::string ids;
    const std::int64_t global = first_phase(part, block) + phase;
    for (auto k = as_size(part.offsets[global]); k < as_size(part.offsets[global + 1]); ++k)
        if (key_of(part, k) == Key(send, peer)) ids += (ids.empty() ? " " : ", ") + std::to_string(part.id[k]);
    return phase_words(part, block, phase) + ": connections" + ids + between(part, peer, send) +
           ": one is chosen by its id";
}

}  // namespace conset
