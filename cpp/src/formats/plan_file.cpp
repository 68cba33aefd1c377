#include "conset/formats/plan_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "conset/formats/flat_file.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

struct NamedType {
    std::string_view name;
    ItemType type;
    std::int64_t bytes;
};
constexpr std::array<NamedType, 7> kTypes = {{{"bytes", ItemType::bytes, 1},
                                              {"int32", ItemType::int32, 4},
                                              {"int64", ItemType::int64, 8},
                                              {"float32", ItemType::float32, 4},
                                              {"float64", ItemType::float64, 8},
                                              {"complex64", ItemType::complex64, 8},
                                              {"complex128", ItemType::complex128, 16}}};

// Rows of an array that belong together.
struct Rows {
    std::int64_t begin, end;
    std::int64_t size() const { return end - begin; }
};

// One rank's part of a file, held against what the executor relies on.
class PlanReader {
public:
    PlanReader(const std::string& path, std::int32_t rank, std::int32_t ranks)
        : path_(path), rank_(rank), ranks_(ranks), file_(path, "conset/plan@1") {}

    PlanFile read();

private:
    [[noreturn]] void refuse(const std::string& what) const { throw Failure(Code::file, path_ + ": " + what); }
    void require(std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high) const {
        if (value < low || value > high)
            refuse("rank " + std::to_string(rank_) + ": " + std::string(what) + " = " + std::to_string(value) +
                   ": must be from " + std::to_string(low) + " to " + std::to_string(high));
    }
    void require_entries(const std::string& name, std::int64_t count) const {
        if (file_.entries(name) != count)
            refuse("'" + name + "': " + std::to_string(count) + " entries required, it has " +
                   std::to_string(file_.entries(name)));
    }
    // A range that lies in an area.
    void require_inside(std::string_view what, std::int64_t start, std::int64_t bytes, std::int64_t area) const {
        require(what, bytes, 0, area);
        require(what, start, 0, area - bytes);
    }

    std::int64_t of_rank(const std::string& name);
    Rows rows_of_rank(const std::string& offsets, const std::string& values);
    void read_policy(RankPlan& plan);
    RankOperations read_operations(const std::string& side, Rows rows, const RankPlan& plan, std::int64_t buffer);
    RankCopies read_copies(const std::string& name, Rows operations, std::int64_t send, std::int64_t work,
                           std::int64_t target);
    Array<std::int64_t> read_offsets(const std::string& name, Rows operations, Rows& found, const std::string& values);
    RankNeeds read_needs(const std::string& name, Rows own, Rows sends, Rows receives);
    void check_work(const RankPlan& plan) const;
    void read_item_type(RankItems& items);
    Array<std::int64_t> read_items(const std::string& name, std::int64_t item_bytes, std::int64_t& bytes);

    const std::string& path_;
    const std::int32_t rank_, ranks_;
    FlatFile file_;
};

// The rank's entry of an array by rank.
std::int64_t PlanReader::of_rank(const std::string& name) {
    require_entries(name, ranks_);
    const std::int64_t value = file_.array<std::int64_t>(name, rank_, rank_ + 1).front();
    require(name, value, 0, kMost);
    return value;
}

// What a rank has in `values`, by offsets by rank.
Rows PlanReader::rows_of_rank(const std::string& offsets, const std::string& values) {
    require_entries(offsets, std::int64_t{ranks_} + 1);
    const auto ends = file_.array<std::int64_t>(offsets, rank_, std::int64_t{rank_} + 2);
    require(offsets, ends[1], 0, file_.entries(values));
    require(offsets, ends[0], 0, ends[1]);
    require(offsets, ends[1] - ends[0], 0, kMostInt);
    return {ends[0], ends[1]};
}

void PlanReader::read_policy(RankPlan& plan) {
    plan.phases = file_.integer("phases");
    // an executor has a step for each: as many as stand in the file
    require("phases", plan.phases, 0, kMostInt);
    require_entries("phase_transfers", plan.phases);
    plan.executed = file_.has("executed") ? file_.integer("executed") : plan.phases;
    require("executed", plan.executed, plan.phases, kMost);
    plan.in_flight = file_.integer("in_flight");
    require("in_flight", plan.in_flight, 0, kMost);
    const std::string sync = file_.text("sync");
    const auto* known = std::find(kSyncNames.begin(), kSyncNames.end(), sync);
    plan.sync = known == kSyncNames.end() ? SyncKind::barrier : static_cast<SyncKind>(known - kSyncNames.begin());
    if (known != kSyncNames.end()) return;
    const std::string_view every = std::string_view(sync).substr(std::min<std::size_t>(sync.size(), 8));
    const auto [end, error] = std::from_chars(every.data(), every.data() + every.size(), plan.every);
    if (!sync.starts_with("barrier:") || error != std::errc{} || end != every.data() + every.size() || plan.every < 1)
        refuse("sync must be none, local, ready, detect, barrier or barrier:K");
}

RankOperations PlanReader::read_operations(const std::string& side, Rows rows, const RankPlan& plan,
                                           std::int64_t buffer) {
    RankOperations operations;
    operations.phase = file_.array<std::int32_t>(side + "_phase", rows.begin, rows.end);
    operations.peer = file_.array<std::int32_t>(side + "_peer", rows.begin, rows.end);
    operations.offset = file_.array<std::int64_t>(side + "_offset", rows.begin, rows.end);
    operations.bytes = file_.array<std::int64_t>(side + "_bytes", rows.begin, rows.end);
    if (file_.has(side + "_work")) operations.work = file_.array<std::uint8_t>(side + "_work", rows.begin, rows.end);
    const std::string phases = "phase of " + side, peers = "peer of " + side, sizes = "bytes of " + side,
                      ranges = "range of " + side;
    std::int64_t phase = 0;
    for (std::size_t k = 0; k < operations.size(); ++k) {
        require(phases, operations.phase[k], phase, plan.phases - 1);
        phase = operations.phase[k];
        require(peers, operations.peer[k], 0, ranks_ - 1);
        if (operations.peer[k] == rank_) refuse("rank " + std::to_string(rank_) + ": " + side + " to or from itself");
        require(sizes, operations.bytes[k], 0, kMostInt);
        require_inside(ranges, operations.offset[k], operations.bytes[k],
                       operations.in_work(k) ? plan.work_bytes : buffer);
    }
    return operations;
}

// Offsets by operation, from 0; `found`: the rows of `values` that they are of.
Array<std::int64_t> PlanReader::read_offsets(const std::string& name, Rows operations, Rows& found,
                                             const std::string& values) {
    auto offsets = file_.array<std::int64_t>(name, operations.begin, operations.end + 1);
    const std::int64_t entries = file_.entries(values);
    std::int64_t low = 0;
    for (const std::int64_t offset : offsets) {
        require(name, offset, low, entries);
        low = offset;
    }
    found = {offsets.front(), offsets.back()};
    for (std::int64_t& offset : offsets) offset -= found.begin;
    return offsets;
}

RankCopies PlanReader::read_copies(const std::string& name, Rows operations, std::int64_t send, std::int64_t work,
                                   std::int64_t target) {
    RankCopies copies;
    if (!file_.has(name + "_offsets")) return copies;
    Rows rows{};
    copies.offsets = read_offsets(name + "_offsets", operations, rows, name + "_bytes");
    copies.work = file_.array<std::uint8_t>(name + "_work", rows.begin, rows.end);
    copies.source = file_.array<std::int64_t>(name + "_source", rows.begin, rows.end);
    copies.target = file_.array<std::int64_t>(name + "_target", rows.begin, rows.end);
    copies.bytes = file_.array<std::int64_t>(name + "_bytes", rows.begin, rows.end);
    const std::string sources = "source of " + name, targets = "target of " + name;
    for (std::size_t k = 0; k < copies.bytes.size(); ++k) {
        require_inside(sources, copies.source[k], copies.bytes[k], copies.work[k] != 0 ? work : send);
        require_inside(targets, copies.target[k], copies.bytes[k], target);
    }
    return copies;
}

// Operations are those of all ranks in the file: receives, then sends.
RankNeeds PlanReader::read_needs(const std::string& name, Rows own, Rows sends, Rows receives) {
    RankNeeds needs;
    if (!file_.has(name + "_offsets")) return needs;
    Rows rows{};
    needs.offsets = read_offsets(name + "_offsets", own, rows, name + "_operation");
    const std::int64_t all_receives = file_.entries("receives_phase");
    for (std::int64_t operation : file_.array<std::int64_t>(name + "_operation", rows.begin, rows.end)) {
        const bool receive = operation < all_receives;
        const Rows range = receive ? receives : sends;
        if (!receive) operation -= all_receives;
        require(name + "_operation", operation, range.begin, range.end - 1);
        needs.operations.push_back(
            static_cast<std::int32_t>(operation - range.begin + (receive ? 0 : receives.size())));
    }
    return needs;
}

// A work area holds what a rank packs and what it receives, each byte once.
void PlanReader::check_work(const RankPlan& plan) const {
    std::int64_t most = 0;
    for (const auto* const sizes : {&plan.receives.bytes, &plan.packs.bytes})
        for (const std::int64_t bytes : *sizes) most += std::min(bytes, kMost - most);
    require("work_bytes", plan.work_bytes, 0, most);
}

void PlanReader::read_item_type(RankItems& items) {
    items.item_bytes = file_.integer("item_bytes");
    items.add = file_.integer("add") != 0;
    const std::string name = file_.text("item_type");
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.name == name; });
    if (found == kTypes.end()) refuse("item_type must be bytes, int32, int64, float32, float64, complex64, complex128");
    items.type = found->type;
    require("item_bytes", items.item_bytes, 1, kMostInt);
    if (items.item_bytes % found->bytes != 0)
        refuse("item_bytes = " + std::to_string(items.item_bytes) + ": must be whole numbers of " + name);
    if (items.add && items.type == ItemType::bytes) refuse("item_type is bytes, which cannot be added");
}

// The rank's list of items for what it sends, or receives, `bytes` of; then `bytes` are those of the array they are in.
Array<std::int64_t> PlanReader::read_items(const std::string& name, std::int64_t item_bytes, std::int64_t& bytes) {
    const Rows rows = rows_of_rank(name + "_offsets", name);
    if (bytes % item_bytes != 0 || bytes / item_bytes != rows.size())
        refuse("rank " + std::to_string(rank_) + ": " + std::to_string(bytes) + " bytes in " + name + " of " +
               std::to_string(item_bytes) + " bytes: it has " + std::to_string(rows.size()));
    const std::int64_t most = kMost / item_bytes - 1;
    auto items = file_.array<std::int64_t>(name, rows.begin, rows.end);
    std::int64_t count = 0;
    for (const std::int64_t item : items) {
        require(name, item, 0, most);
        count = std::max(count, item + 1);
    }
    bytes = count * item_bytes;
    return items;
}

PlanFile PlanReader::read() {
    const std::int64_t ranks = file_.integer("ranks");
    if (ranks != ranks_)
        throw Failure(Code::mismatch, path_ + ": is a plan for " + std::to_string(ranks) +
                                          " ranks, the communicator has " + std::to_string(ranks_));
    PlanFile found;
    found.ranks = ranks_;
    RankPlan& plan = found.plan;
    read_policy(plan);
    found.send_bytes = of_rank("send_bytes");
    found.receive_bytes = of_rank("receive_bytes");
    if (file_.has("work_bytes")) plan.work_bytes = of_rank("work_bytes");
    const Rows sends = rows_of_rank("sends_offsets", "sends_phase");
    const Rows receives = rows_of_rank("receives_offsets", "receives_phase");
    plan.sends = read_operations("sends", sends, plan, found.send_bytes);
    plan.receives = read_operations("receives", receives, plan, found.receive_bytes);
    plan.packs = read_copies("packs", sends, found.send_bytes, plan.work_bytes, plan.work_bytes);
    // an unpack comes from the work area: there is no send buffer to it
    plan.unpacks = read_copies("unpacks", receives, 0, plan.work_bytes, found.receive_bytes);
    plan.needs = read_needs("needs", sends, sends, receives);
    plan.signals = read_needs("signals", receives, sends, receives);
    if (file_.has("signalled")) plan.signalled = file_.array<std::uint8_t>("signalled", sends.begin, sends.end);
    check_work(plan);
    if (file_.has("item_bytes")) {
        read_item_type(found.items);
        found.items.send_items = read_items("send_items", found.items.item_bytes, found.send_bytes);
        found.items.receive_items = read_items("receive_items", found.items.item_bytes, found.receive_bytes);
    }
    return found;
}

}  // namespace

PlanFile read_plan_file(const std::string& path, std::int32_t rank, std::int32_t ranks) {
    return PlanReader(path, rank, ranks).read();
}

}  // namespace conset
