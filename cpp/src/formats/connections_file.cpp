#include "conset/formats/connections_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "conset/connections/checked_mpi.hpp"
#include "conset/formats/flat_file.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

// The rules, one after the other; thrown as words.
class Check {
public:
    explicit Check(const RankConnections& part) : part_(part) {}

    void blocks() const;
    void phases() const;
    void connections() const;

private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw Failure(Code::file, "rank " + std::to_string(part_.rank) + ": " + what);
    }
    void require(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) const {
        if (value < low || value > high)
            refuse(std::string(what) + " = " + std::to_string(value) + ": must be from " + std::to_string(low) +
                   " to " + std::to_string(high));
    }
    void require_size(std::string_view what, std::size_t size, std::size_t required) const {
        if (size != required)
            refuse(std::string(what) + ": " + std::to_string(required) + " entries required, it has " +
                   std::to_string(size));
    }
    void sorted(std::int64_t begin, std::int64_t end) const;
    void posted(std::int64_t begin, std::int64_t end) const;

    const RankConnections& part_;
};

void Check::blocks() const {
    const std::size_t count = part_.names.size();
    if (count == 0) refuse("a program has at least 1 block, given 0");
    require_size("block_repeat", part_.repeat.size(), count);
    require_size("block_turns", part_.turns.size(), count);
    require_size("block_schedule", part_.block_schedule.size(), count);
    const std::int64_t schedules = static_cast<std::int64_t>(part_.schedule_phases.size()) - 1;
    for (std::size_t b = 0; b < count; ++b) {
        require("block_repeat", part_.repeat[b], 1, kMost);
        require("block_turns", part_.turns[b], 0, 1);
        require("block_schedule", part_.block_schedule[b], 0, schedules - 1);
    }
}

void Check::phases() const {
    const auto phases = static_cast<std::int64_t>(part_.phase_context.size());
    if (part_.schedule_phases.empty()) refuse("schedule_phases: at least 1 entry required, given 0");
    require("phases", phases, 0, kMostInt);
    std::int64_t low = 0;
    require("schedule_phases", part_.schedule_phases.front(), 0, 0);
    for (const std::int64_t begin : part_.schedule_phases) {
        require("schedule_phases", begin, low, phases);
        low = begin;
    }
    require("schedule_phases", low, phases, phases);
    for (const std::int32_t context : part_.phase_context) require("phase_context", context, 0, phases - 1);
    require_size("node", part_.node.size(), as_size(part_.ranks));
    for (const std::int32_t node : part_.node) require("node", node, 0, kMostInt);
}

void Check::connections() const {
    const std::size_t count = part_.peer.size();
    require_size("connections_send", part_.send.size(), count);
    require_size("connections_id", part_.id.size(), count);
    require_size("connections_bytes", part_.bytes.size(), count);
    require_size("connections_order", part_.order.size(), count);
    require_size("connections_bandwidth", part_.bandwidth.size(), count);
    require_size("connections_latency", part_.latency.size(), count);
    require_size("offsets of phases", part_.offsets.size(), part_.phase_context.size() + 1);
    require("offsets of phases", part_.offsets.front(), 0, 0);
    require("offsets of phases", part_.offsets.back(), static_cast<std::int64_t>(count),
            static_cast<std::int64_t>(count));
    for (std::size_t g = 0; g + 1 < part_.offsets.size(); ++g) {
        require("offsets of phases", part_.offsets[g + 1], part_.offsets[g], static_cast<std::int64_t>(count));
        sorted(part_.offsets[g], part_.offsets[g + 1]);
        posted(part_.offsets[g], part_.offsets[g + 1]);
    }
    std::int64_t left = kMost;  // they all add up
    for (std::size_t k = 0; k < count; ++k) {
        require("connections_bytes", part_.bytes[k], 0, left);
        left -= part_.bytes[k];
        if (!(part_.bandwidth[k] > 0))
            refuse("connections_bandwidth = " + std::to_string(part_.bandwidth[k]) + ": must be above 0");
        if (!(part_.latency[k] >= 0 && std::isfinite(part_.latency[k])))
            refuse("connections_latency = " + std::to_string(part_.latency[k]) + ": must be at least 0, and finite");
    }
}

// Of one phase: receives before sends, peers rising, identifiers of one peer and direction too.
void Check::sorted(std::int64_t begin, std::int64_t end) const {
    std::int64_t copies = 0;
    for (std::int64_t k = begin; k < end; ++k) {
        require("connections_send", part_.send[k], 0, 1);
        require("connections_peer", part_.peer[k], 0, part_.ranks - 1);
        if (part_.peer[k] == part_.rank) refuse("connections_peer: to or from itself");
        require("connections_id", part_.id[k], 0, kMostInt);
        if (k == begin) continue;
        const bool turned = part_.send[k] != part_.send[k - 1], same = !turned && part_.peer[k] == part_.peer[k - 1];
        copies = same ? copies + 1 : 0;
        require("connections of one pair in a phase", copies, 0, kMostCopies - 1);
        if (turned)
            require("connections_send", part_.send[k], part_.send[k - 1], 1);
        else if (same)
            require("connections_id", part_.id[k], std::int64_t{part_.id[k - 1]} + 1, kMostInt);
        else
            require("connections_peer", part_.peer[k], part_.peer[k - 1], part_.ranks - 1);
    }
}

// Of one phase: every position once.
void Check::posted(std::int64_t begin, std::int64_t end) const {
    Array<std::uint8_t> seen(as_size(end - begin));
    for (std::int64_t k = begin; k < end; ++k) {
        require("connections_order", part_.order[k], 0, end - begin - 1);
        if (seen[part_.order[k]]++ != 0)
            refuse("connections_order = " + std::to_string(part_.order[k]) + ": must be there once in a phase");
    }
}

class ConnectionsReader {
public:
    ConnectionsReader(const std::string& path, std::int32_t rank, std::int32_t ranks)
        : path_(path), file_(path, "conset/plan@1") {
        part_.rank = rank;
        part_.ranks = ranks;
    }

    RankConnections read();

private:
    [[noreturn]] void refuse(const std::string& what) const { throw Failure(Code::file, path_ + ": " + what); }
    void require_entries(const std::string& name, std::int64_t count) const {
        if (file_.entries(name) != count)
            refuse("'" + name + "': " + std::to_string(count) + " entries required, it has " +
                   std::to_string(file_.entries(name)));
    }
    void read_blocks();
    void read_rank();

    const std::string& path_;
    RankConnections part_;
    FlatFile file_;
};

void ConnectionsReader::read_blocks() {
    const std::int64_t blocks = file_.integer("blocks");
    require_entries("block_repeat", blocks);
    part_.repeat = file_.array<std::int64_t>("block_repeat");
    part_.turns = file_.array<std::uint8_t>("block_turns");
    part_.block_schedule = file_.array<std::int32_t>("block_schedule");
    part_.schedule_phases = file_.array<std::int64_t>("schedule_phases");
    part_.phase_context = file_.array<std::int32_t>("phase_context");
    const std::string names = file_.text("block_names");
    for (std::size_t begin = 0; begin <= names.size();) {
        const std::size_t end = std::min(names.find('\n', begin), names.size());
        part_.names.push_back(names.substr(begin, end - begin));
        begin = end + 1;
    }
    if (static_cast<std::int64_t>(part_.names.size()) != blocks)
        refuse("'block_names' has " + std::to_string(part_.names.size()) + " lines, 'blocks' is " +
               std::to_string(blocks) + ": must agree");
}

// This rank's entries, their offsets by phase made of their phases.
void ConnectionsReader::read_rank() {
    require_entries("node", part_.ranks);
    require_entries("connections_offsets", std::int64_t{part_.ranks} + 1);
    part_.node = file_.array<std::int32_t>("node");
    const auto ends = file_.array<std::int64_t>("connections_offsets", part_.rank, std::int64_t{part_.rank} + 2);
    const std::int64_t begin = ends[0], end = ends[1], entries = file_.entries("connections_phase");
    if (begin < 0 || end < begin || end > entries)
        refuse("rank " + std::to_string(part_.rank) + ": connections_offsets from " + std::to_string(begin) + " to " +
               std::to_string(end) + ": must rise, from 0 to " + std::to_string(entries));
    const auto phase = file_.array<std::int32_t>("connections_phase", begin, end);
    part_.peer = file_.array<std::int32_t>("connections_peer", begin, end);
    part_.send = file_.array<std::uint8_t>("connections_send", begin, end);
    part_.id = file_.array<std::int32_t>("connections_id", begin, end);
    part_.bytes = file_.array<std::int64_t>("connections_bytes", begin, end);
    part_.order = file_.array<std::int32_t>("connections_order", begin, end);
    part_.bandwidth = file_.array<double>("connections_bandwidth", begin, end);
    part_.latency = file_.array<double>("connections_latency", begin, end);
    const auto phases = static_cast<std::int64_t>(part_.phase_context.size());
    part_.offsets.assign(part_.phase_context.size() + 1, 0);
    std::int32_t last = 0;
    for (const std::int32_t g : phase) {
        if (g < last || g >= phases)
            refuse("rank " + std::to_string(part_.rank) + ": connections_phase = " + std::to_string(g) +
                   ": must be from " + std::to_string(last) + " to " + std::to_string(phases - 1));
        ++part_.offsets[std::int64_t{g} + 1];
        last = g;
    }
    for (std::size_t g = 1; g < part_.offsets.size(); ++g) part_.offsets[g] += part_.offsets[g - 1];
}

RankConnections ConnectionsReader::read() {
    const std::int64_t ranks = file_.integer("ranks");
    if (ranks != part_.ranks)
        throw Failure(Code::mismatch, path_ + ": is a plan for " + std::to_string(ranks) +
                                          " ranks, the communicator has " + std::to_string(part_.ranks));
    if (!file_.has("blocks"))
        refuse("has no connections: its program forwards messages, or the plan is older than they are");
    read_blocks();
    read_rank();
    const std::string fault = fault_of(part_);
    if (!fault.empty()) refuse(fault);
    return std::move(part_);
}

}  // namespace

std::string fault_of(const RankConnections& part) {
    const Check check(part);
    try {
        check.phases();
        check.blocks();
        check.connections();
    } catch (const Failure& failure) {
        return failure.what();
    }
    return {};
}

RankConnections read_connections(const std::string& path, std::int32_t rank, std::int32_t ranks) {
    return ConnectionsReader(path, rank, ranks).read();
}

}  // namespace conset
