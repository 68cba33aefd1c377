// Connections of plan files: a rank's part comes out as it was written, and what the core relies on is refused before a
// program is opened with it.
#include "conset/formats/connections_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conset/runtime/outcome.hpp"
#include "written.hpp"

namespace conset {
namespace {

// Entries of a flat file by name: type, number of entries and their bytes.
struct Entry {
    std::string type;
    std::size_t count;
    std::string bytes;
};
using Entries = std::map<std::string, Entry>;

template <class T>
Entry entry(const std::string& type, const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return {type, values.size(), bytes};
}
Entry i4(const std::vector<std::int32_t>& values) { return entry("i4", values); }
Entry i8(const std::vector<std::int64_t>& values) { return entry("i8", values); }
Entry u1(const std::vector<std::uint8_t>& values) { return entry("u1", values); }
Entry f8(const std::vector<double>& values) { return entry("f8", values); }
Entry text(const std::string& words) { return {"text", words.size(), words}; }

// Three ranks, two blocks of two schedules. Phase 0: 0 -> 1, 1 -> 0, 0 -> 2; phase 1: 1 -> 2; phase 2: 2 -> 0.
Entries sound() {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    return {{"ranks", i8({3})},
            {"blocks", i8({2})},
            {"block_names", text("halo\nback and forth")},
            {"block_repeat", i8({1, 1000000000000})},
            {"block_turns", u1({0, 1})},
            {"block_schedule", i4({0, 1})},
            {"schedule_phases", i8({0, 1, 3})},
            {"phase_context", i4({0, 1, 0})},
            {"node", i4({5, 3, 4})},
            {"connections_offsets", i8({0, 4, 7, 10})},
            {"connections_phase", i4({0, 0, 0, 2, 0, 0, 1, 0, 1, 2})},
            {"connections_peer", i4({1, 1, 2, 2, 0, 0, 2, 0, 1, 0})},
            {"connections_send", u1({0, 1, 1, 0, 0, 1, 1, 0, 0, 1})},
            {"connections_id", i4({2, 0, 1, 4, 0, 2, 3, 1, 3, 4})},
            {"connections_bytes", i8({8, 10, 6, 1, 10, 8, 0, 6, 0, 1})},
            {"connections_order", i4({2, 0, 1, 0, 0, 1, 0, 0, 0, 0})},
            {"connections_bandwidth", f8({1e6, 2e6, kNone, 3e6, 2e6, 1e6, 1, kNone, 1, 3e6})},
            {"connections_latency", f8({1e-6, 2e-6, 0, 3e-6, 2e-6, 1e-6, 1, 0, 1, 3e-6})}};
}

std::string written(const Entries& entries) {
    std::string header = "conset/plan@1\n", data;
    for (const auto& [name, each] : entries) {
        header += name + " " + each.type + " " + std::to_string(each.count) + " " + std::to_string(data.size()) + "\n";
        data += each.bytes;
        data.resize((data.size() + 7) / 8 * 8, '\0');
    }
    header += "end\n";
    header.resize((header.size() + 63) / 64 * 64, '\0');
    return header + data;
}

// The words with which a rank's part of a changed file is refused; empty where it is not.
std::string refusal(const std::string& name, const Entry& changed, std::int32_t rank = 0) {
    Entries entries = sound();
    entries[name] = changed;
    const Written file(written(entries));
    try {
        read_connections(file.path, rank, 3);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, Code::file);
        const std::string words = failure.what();
        EXPECT_EQ(words.find('\n'), std::string::npos);
        EXPECT_EQ(words.find(file.path), 0U);
        return words.substr(file.path.size());
    }
    return {};
}

void expect_refused(const std::string& name, const Entry& changed, const std::string& words, std::int32_t rank = 0) {
    const std::string found = refusal(name, changed, rank);
    EXPECT_NE(found.find(words), std::string::npos) << name << ": '" << found << "', not '" << words << "'";
}

TEST(ConnectionsFile, GivesARanksPart) {
    const Written file(written(sound()));
    const RankConnections part = read_connections(file.path, 0, 3);
    EXPECT_EQ(part.rank, 0);
    EXPECT_EQ(part.ranks, 3);
    EXPECT_EQ(part.names, (std::vector<std::string>{"halo", "back and forth"}));
    EXPECT_EQ(part.repeat, (Array<std::int64_t>{1, 1000000000000}));
    EXPECT_EQ(part.turns, (Array<std::uint8_t>{0, 1}));
    EXPECT_EQ(part.block_schedule, (Array<std::int32_t>{0, 1}));
    EXPECT_EQ(part.schedule_phases, (Array<std::int64_t>{0, 1, 3}));
    EXPECT_EQ(part.phase_context, (Array<std::int32_t>{0, 1, 0}));
    EXPECT_EQ(part.node, (Array<std::int32_t>{5, 3, 4}));
    EXPECT_EQ(part.offsets, (Array<std::int64_t>{0, 3, 3, 4}));
    EXPECT_EQ(part.peer, (Array<std::int32_t>{1, 1, 2, 2}));
    EXPECT_EQ(part.send, (Array<std::uint8_t>{0, 1, 1, 0}));
    EXPECT_EQ(part.id, (Array<std::int32_t>{2, 0, 1, 4}));
    EXPECT_EQ(part.bytes, (Array<std::int64_t>{8, 10, 6, 1}));
    EXPECT_EQ(part.order, (Array<std::int32_t>{2, 0, 1, 0}));
    EXPECT_EQ(part.bandwidth[0], 1e6);
    EXPECT_TRUE(std::isinf(part.bandwidth[2]));
    EXPECT_EQ(part.latency, (Array<double>{1e-6, 2e-6, 0, 3e-6}));
    EXPECT_EQ(read_connections(file.path, 1, 3).offsets, (Array<std::int64_t>{0, 2, 3, 3}));
    EXPECT_EQ(read_connections(file.path, 2, 3).peer, (Array<std::int32_t>{0, 1, 0}));
}

TEST(ConnectionsFile, NamesMayBeEmpty) {
    Entries entries = sound();
    entries["block_names"] = text("\n");
    const Written file(written(entries));
    EXPECT_EQ(read_connections(file.path, 0, 3).names, (std::vector<std::string>{"", ""}));
}

TEST(ConnectionsFile, RefusesAnotherNumberOfRanks) {
    const Written file(written(sound()));
    try {
        read_connections(file.path, 0, 2);
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, Code::mismatch);
        EXPECT_NE(std::string(failure.what()).find("is a plan for 3 ranks, the communicator has 2"), std::string::npos);
    }
}

TEST(ConnectionsFile, RefusesAPlanWithoutConnections) {
    Entries entries = sound();
    entries.erase("blocks");
    const Written file(written(entries));
    EXPECT_THROW(read_connections(file.path, 0, 3), Failure);
    for (const auto& [name, each] : sound()) {
        Entries others = sound();
        others.erase(name);
        const Written without(written(others));
        EXPECT_THROW(read_connections(without.path, 0, 3), Failure) << name;
    }
}

TEST(ConnectionsFile, RefusesBlocks) {
    expect_refused("blocks", i8({3}), "'block_repeat': 3 entries required, it has 2");
    expect_refused("blocks", i8({-1}), "'block_repeat': -1 entries required");
    expect_refused("block_names", text("halo"), "'block_names' has 1 lines, 'blocks' is 2");
    expect_refused("block_repeat", i8({1, 0}), "block_repeat = 0: must be from 1");
    expect_refused("block_turns", u1({0, 2}), "block_turns = 2");
    expect_refused("block_turns", u1({0}), "block_turns: 2 entries required, it has 1");
    expect_refused("block_schedule", i4({0, 2}), "block_schedule = 2: must be from 0 to 1");
    expect_refused("block_schedule", i4({-1, 0}), "block_schedule = -1: must be from 0 to 1");
}

TEST(ConnectionsFile, RefusesPhases) {
    expect_refused("schedule_phases", i8({}), "schedule_phases");
    expect_refused("schedule_phases", i8({1, 1, 3}), "schedule_phases = 1: must be from 0 to 0");
    expect_refused("schedule_phases", i8({0, 4, 3}), "schedule_phases = 4: must be from 0 to 3");
    expect_refused("schedule_phases", i8({0, 2, 1}), "schedule_phases = 1: must be from 2 to 3");
    expect_refused("schedule_phases", i8({0, 1, 2}), "schedule_phases = 2: must be from 3 to 3");
    expect_refused("phase_context", i4({0, 1, 3}), "phase_context = 3: must be from 0 to 2");
    expect_refused("phase_context", i4({0, -1, 0}), "phase_context = -1");
    expect_refused("phase_context", i4({0, 1}), "connections_phase = 2: must be from 0 to 1");
    expect_refused("node", i4({5, 3}), "'node': 3 entries required, it has 2");
    expect_refused("node", i4({5, 3, -4}), "node = -4");
}

TEST(ConnectionsFile, RefusesConnections) {
    expect_refused("connections_offsets", i8({0, 4, 7}), "'connections_offsets': 4 entries required");
    expect_refused("connections_offsets", i8({4, 0, 7, 10}), "connections_offsets from 4 to 0: must rise");
    expect_refused("connections_offsets", i8({-1, 4, 7, 10}), "connections_offsets from -1 to 4");
    expect_refused("connections_offsets", i8({0, 11, 7, 10}), "connections_offsets from 0 to 11");
    expect_refused("connections_offsets", i8({0, std::numeric_limits<std::int64_t>::max(), 7, 10}), "must rise");
    expect_refused("connections_phase", i4({0, 0, 0, 3, 0, 0, 1, 0, 1, 2}), "connections_phase = 3");
    expect_refused("connections_phase", i4({1, 0, 0, 2, 0, 0, 1, 0, 1, 2}), "connections_phase = 0: must be from 1");
    expect_refused("connections_phase", i4({-1, 0, 0, 2, 0, 0, 1, 0, 1, 2}), "connections_phase = -1");
    expect_refused("connections_peer", i4({3, 1, 2, 2, 0, 0, 2, 0, 1, 0}), "connections_peer = 3: must be from 0 to 2");
    expect_refused("connections_peer", i4({0, 1, 2, 2, 0, 0, 2, 0, 1, 0}), "to or from itself");
    expect_refused("connections_peer", i4({1, 2, 1, 2, 0, 0, 2, 0, 1, 0}), "connections_peer = 1: must be from 2 to 2");
    expect_refused("connections_id", i4({2, -1, 1, 4, 0, 2, 3, 1, 3, 4}), "connections_id = -1: must be from 0");
    expect_refused("connections_peer", i4({1, 1}), "'connections_peer'");
    expect_refused("connections_send", u1({1, 1, 0, 0, 0, 1, 1, 0, 0, 1}), "connections_id = 0: must be from 3");
    expect_refused("connections_send", u1({1, 0, 1, 0, 0, 1, 1, 0, 0, 1}), "connections_send = 0: must be from 1 to 1");
    expect_refused("connections_send", u1({0, 1, 2, 0, 0, 1, 1, 0, 0, 1}), "connections_send = 2");
    expect_refused("connections_bytes", i8({8, -1, 6, 1, 10, 8, 0, 6, 0, 1}), "connections_bytes = -1");
    expect_refused("connections_bytes", i8({std::numeric_limits<std::int64_t>::max(), 1, 6, 1, 10, 8, 0, 6, 0, 1}),
                   "connections_bytes = 1: must be from 0 to 0");
    expect_refused("connections_order", i4({2, 0, 0, 0, 0, 1, 0, 0, 0, 0}),
                   "connections_order = 0: must be there once");
    expect_refused("connections_order", i4({3, 0, 1, 0, 0, 1, 0, 0, 0, 0}),
                   "connections_order = 3: must be from 0 to 2");
    expect_refused("connections_order", i4({2, 0, 1, -1, 0, 1, 0, 0, 0, 0}), "connections_order = -1");
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    for (const double rate : {0.0, -1.0, nan, -inf})
        expect_refused("connections_bandwidth", f8({1, 1, 1, rate, 1, 1, 1, 1, 1, 1}), "connections_bandwidth");
    for (const double time : {-1.0, nan, inf})
        expect_refused("connections_latency", f8({1, 1, 1, time, 1, 1, 1, 1, 1, 1}), "connections_latency");
}

// Another rank's entries are not looked at.
TEST(ConnectionsFile, ReadsOneRankAlone) {
    EXPECT_EQ(refusal("connections_peer", i4({1, 1, 2, 2, 0, 0, 2, 0, 1, 7})), "");
    expect_refused("connections_peer", i4({1, 1, 2, 2, 0, 0, 2, 0, 1, 7}), "connections_peer = 7", 2);
}

}  // namespace
}  // namespace conset
