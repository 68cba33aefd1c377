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

bool holds(const RankConnections& part, std::int64_t phase, Key key) {
    for (auto k = as_size(part.offsets[phase]); k < as_size(part.offsets[phase + 1]); ++k)
        if (key_of(part, k) == key) return true;
    return false;
}

}  // namespace

ConnectionTable::ConnectionTable(const RankConnections& part) : phase_offsets_(part.offsets) {
    Array<Key> keys;
    for (std::size_t k = 0; k < part.peer.size(); ++k) keys.push_back(key_of(part, k));
    sort_unique(keys);
    for (const auto& [send, peer] : keys) {
        peer_.push_back(peer);
        receives_ += send ? 0 : 1;
    }
    for (std::size_t k = 0; k < part.peer.size(); ++k) phase_numbers_.push_back(find(part.peer[k], part.send[k] != 0));
    for (std::size_t phase = 0; phase < part.phase_context.size(); ++phase) {
        const auto context = as_size(part.phase_context[phase]);
        if (context >= context_numbers_.size()) context_numbers_.resize(context + 1);
        const auto numbers = of_phase(static_cast<std::int64_t>(phase));
        context_numbers_[context].insert(context_numbers_[context].end(), numbers.begin(), numbers.end());
    }
    for (Array<int>& numbers : context_numbers_) sort_unique(numbers);
}

int ConnectionTable::find(int peer, bool send) const {
    const auto begin = peer_.begin() + (send ? receives_ : 0), end = send ? peer_.end() : peer_.begin() + receives_;
    const auto found = std::lower_bound(begin, end, peer);
    return found == end || *found != peer ? -1 : static_cast<int>(found - peer_.begin());
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
    std::string text = phase_words(part, block, phase) + ": no connection from " +
                       rank_words(part, send ? part.rank : peer) + " to " + rank_words(part, send ? peer : part.rank);
    const auto schedule = part.block_schedule[block];
    const std::int64_t first = first_phase(part, block), end = part.schedule_phases[schedule + 1];
    for (std::int64_t other = first; other < end; ++other)
        if (holds(part, other, {send, peer})) return text + "; phase " + std::to_string(other - first) + " has it";
    return text;
}

}  // namespace conset
