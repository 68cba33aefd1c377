#include "conset/runtime/shared_schedule.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <numeric>
#include <utility>

#include "conset/runtime/agreement.hpp"
#include "conset/runtime/bytes.hpp"
#include "conset/runtime/row_changes.hpp"
#include "conset/runtime/rows.hpp"

namespace conset {

namespace {

// From so many messages × ranks on rank 0 computes for all, where ranks exceed cores. Parts have to be scattered then:
// 64 ranks with 16 messages each (2^16) on two cores were faster with all computing, 19 against 75 ms by rs-n and 69
// against 120 ms by auto.
constexpr double kOneComputesFrom = 1 << 18;

std::uint64_t digest_of(const std::string& word) {
    Digest digest;
    digest.add(word.size());
    for (const char letter : word) digest.add(static_cast<std::uint64_t>(letter));
    return digest.value();
}

std::uint64_t digest_of(const ExchangeOptions& options, bool sources_known) {
    Digest digest;
    // a machine file may have another path on another machine; schedules are compared
    const bool file = options.machine.ends_with(".machine");
    for (const std::string& word :
         {file ? std::string() : options.machine, options.method, options.sync, options.compute, options.combine})
        digest.add(digest_of(word));
    digest.add(options.seed);
    digest.add(static_cast<std::uint64_t>(options.effort));
    digest.add(static_cast<std::uint64_t>(options.memory));
    digest.add(static_cast<std::uint64_t>(options.measure));
    digest.add(static_cast<std::uint64_t>(options.ranks_per_node));
    digest.add(sources_known ? 1 : 0);
    digest.add(options.schedule.empty() ? 0 : 1);
    return digest.value();
}

std::uint64_t digest_of(const RankMessages& messages, const RankSchedule& schedule) {
    Digest digest;
    digest.add_all(messages.source);
    digest.add_all(messages.target);
    digest.add_all(messages.bytes);
    digest.add_all(schedule.phase_offsets);
    digest.add_all(schedule.message);
    digest.add(static_cast<std::uint64_t>(schedule.sync));
    digest.add(static_cast<std::uint64_t>(schedule.every));
    digest.add(static_cast<std::uint64_t>(schedule.in_flight));
    digest.add_all(schedule.stages.parts.items);
    return digest.value();
}

ScheduleSummary summary_of(const RankSchedule& schedule) {
    const auto offsets = static_cast<std::int64_t>(schedule.phase_offsets.size());
    return {std::max<std::int64_t>(offsets, 1) - 1,
            schedule.sync,
            schedule.every,
            schedule.in_flight,
            schedule.method,
            schedule.predicted_s,
            schedule.choice};
}

// What rank 0 says of a schedule before it gives each rank its part.
struct Announcement {
    Code code;
    SyncKind sync;
    std::int64_t phases, every, in_flight;
    double predicted_s;
    std::int64_t memory, left_out;
    std::array<char, 32> method;
    std::array<char, 64> combine;
};

Announcement announcement_of(const ScheduleSummary& summary, Code code) {
    const StageChoice& choice = summary.choice;
    Announcement announcement{code,
                              summary.sync,
                              summary.phases,
                              summary.every,
                              summary.in_flight,
                              summary.predicted_s,
                              choice.memory,
                              choice.left_out,
                              {},
                              {}};
    summary.method.copy(announcement.method.data(), announcement.method.size() - 1);
    choice.combine.copy(announcement.combine.data(), announcement.combine.size() - 1);
    return announcement;
}

void require_int(std::int64_t bytes) {
    if (bytes > INT_MAX)
        throw Failure(Code::argument, "rows of all ranks: " + std::to_string(bytes) + " B, MPI gathers at most " +
                                          std::to_string(INT_MAX));
}

template <class T>
View<std::byte> bytes_of(T& value) {
    return {reinterpret_cast<std::byte*>(&value), sizeof(T)};
}

}  // namespace

template <class Handle>
struct SharedSchedule<Handle>::Header {
    Code code;
    std::int32_t entries;
    std::uint64_t agreed, elements;
    std::int32_t packable;
    HostPlace place;
};

template <class Handle>
SharedSchedule<Handle>::SharedSchedule(Collectives<Handle>& collectives, const ExchangeOptions& options,
                                       bool sources_known)
    : collectives_(collectives), options_(options), agreed_(digest_of(options, sources_known)), place_(host_place()) {}

// Of ranks that have all found nothing wrong: whose options or elements are others than those before it.
template <class Handle>
Outcome SharedSchedule<Handle>::check_headers(View<const Header> headers, const std::string& elements,
                                              Array<Code>& codes) const {
    std::uint64_t known = 0;
    Outcome own;
    const auto refuse = [&](std::size_t rank, const std::string& what) {
        codes[rank] = Code::mismatch;
        if (static_cast<int>(rank) == collectives_.rank() && own.fine())
            own = {Code::mismatch, "rank " + std::to_string(rank) + ": " + what};
    };
    for (std::size_t rank = 0; rank < headers.size(); ++rank) {
        if (headers[rank].agreed != headers[0].agreed)
            refuse(rank,
                   "machine, ranks_per_node, method, sync, seed, compute, effort, combine, memory, measure, or whether "
                   "a schedule is given or sources are known, are not those of rank 0: must agree");
        if (headers[rank].elements == 0) continue;
        if (known == 0) known = headers[rank].elements;
        if (headers[rank].elements != known)
            refuse(rank, "elements are " + elements + ", not those of lower ranks: must agree");
    }
    return own;
}

template <class Handle>
Outcome SharedSchedule<Handle>::agree_to_start(const Outcome& own, View<const Row::Entry> row,
                                               const std::string& elements, bool packable) {
    std::int32_t entries = 0;
    if (own.fine() && !made_) {
        entries = static_cast<std::int32_t>(row.size());
        told_ = encode_row(row);
        next_row_.assign(row.begin(), row.end());
    } else if (own.fine()) {
        RowUpdate update = compare_rows(View<const Row::Entry>(row_), row);
        entries = static_cast<std::int32_t>(update.changes.size());
        const auto* first = reinterpret_cast<const std::byte*>(update.changes.data());
        told_.assign(first, first + update.changes.size() * sizeof(RowChange));
        next_row_ = std::move(update.row);
    }
    const auto headers = collectives_.all_gather(
        Header{own.code, entries, agreed_, elements.empty() ? 0 : digest_of(elements), packable ? 1 : 0, place_});
    packable_ = true;
    Array<Code> codes;
    Array<HostPlace> places;
    double messages = 0;
    entries_.clear();
    for (const Header& header : headers) {
        codes.push_back(header.code);
        places.push_back(header.place);
        entries_.push_back(header.entries);
        messages += header.entries;
        packable_ = packable_ && header.packable != 0;
    }
    Outcome found = own;
    if (std::all_of(codes.begin(), codes.end(), [](Code code) { return code == Code::fine; }))
        found = check_headers(View<const Header>(headers), elements, codes);
    const double load = ranks_per_core(std::move(places));
    collectives_.set_nap(load > 1 ? kLongestNap : 0);
    if (!made_)
        one_computes_ = options_.compute == "one" ||
                        (options_.compute == "auto" && load > 1 && messages * collectives_.ranks() >= kOneComputesFrom);
    return lowest_failure(collectives_, View<const Code>(codes), found);
}

template <class Handle>
void SharedSchedule<Handle>::exchange_rows() {
    Array<std::int64_t> bytes;
    for (const std::int64_t entries : entries_)
        bytes.push_back(entries * (made_ ? static_cast<std::int64_t>(sizeof(RowChange)) : kEntryBytes));
    require_int(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
    const View<const std::byte> told(told_.data(), told_.size());
    heard_ = one_computes_ ? collectives_.gather(told, bytes) : collectives_.all_gather(told, bytes);
    row_ = std::move(next_row_);
}

template <class Handle>
void SharedSchedule<Handle>::forget() {
    made_ = false;
    kept_.reset();
}

// What is kept of the first schedule is gathered when a first change comes: most patterns never change.
template <class Handle>
void SharedSchedule<Handle>::compute(const MachineData& machine) {
    const View<const std::byte> heard(heard_.data(), heard_.size());
    const View<const std::int64_t> entries(entries_.data(), entries_.size());
    const ScheduleOptions options{
        options_.method, options_.sync, options_.seed, options_.effort, packable_ && options_.combine == "auto",
        options_.memory};
    if (!made_) {
        messages_ = decode_rows(heard, entries);
        schedule_ = schedule_messages(machine, messages_, options);
        return;
    }
    if (!kept_) kept_.emplace(machine, std::move(messages_), schedule_, options);
    kept_->allow_stages(options.combine);
    const RowsChanges changes(heard, entries, kept_->messages());
    kept_->update(changes.view());
    schedule_ = kept_->schedule();
}

template <class Handle>
ScheduledPart SharedSchedule<Handle>::schedule(const MachineData& machine, Outcome& outcome) {
    ScheduledPart scheduled;
    if (one_computes_)
        scheduled = schedule_for_all(machine, outcome);
    else
        outcome = outcome_of([&] {
            compute(machine);
            const RankMessages& messages = kept_ ? kept_->messages() : messages_;
            scheduled = {summary_of(schedule_), RankParts(messages, schedule_).of(collectives_.rank()),
                         digest_of(messages, schedule_)};
        });
    made_ = true;
    return scheduled;
}

// Rank 0 says first how it went, then how long each part is, then gives the parts.
template <class Handle>
ScheduledPart SharedSchedule<Handle>::schedule_for_all(const MachineData& machine, Outcome& outcome) {
    Announcement announcement{};
    Array<std::byte> parts;
    Array<std::int64_t> sizes;
    if (collectives_.rank() == 0) {
        outcome = outcome_of([&] {
            compute(machine);
            const RankParts all(kept_ ? kept_->messages() : messages_, schedule_);
            for (std::int32_t rank = 0; rank < collectives_.ranks(); ++rank) {
                const Array<std::byte> part = encode_part(all.of(rank));
                parts.insert(parts.end(), part.begin(), part.end());
                sizes.push_back(static_cast<std::int64_t>(part.size()));
            }
            require_int(static_cast<std::int64_t>(parts.size()));
            announcement = announcement_of(summary_of(schedule_), Code::fine);
        });
        announcement.code = outcome.code;
    }
    collectives_.broadcast(bytes_of(announcement), 0);
    outcome.code = announcement.code;
    if (!outcome.fine()) return {};
    const Array<std::int64_t> size_bytes(as_size(collectives_.ranks()), sizeof(std::int64_t));
    const Array<std::byte> size = collectives_.scatter(
        View<const std::byte>(reinterpret_cast<const std::byte*>(sizes.data()), sizes.size() * sizeof(std::int64_t)),
        size_bytes, sizeof(std::int64_t));
    const auto own_size = ByteReader({size.data(), size.size()}).value<std::int64_t>();
    const Array<std::byte> own =
        collectives_.scatter(View<const std::byte>(parts.data(), parts.size()), sizes, own_size);
    return {{announcement.phases,
             announcement.sync,
             announcement.every,
             announcement.in_flight,
             announcement.method.data(),
             announcement.predicted_s,
             {announcement.combine.data(), announcement.memory, announcement.left_out}},
            decode_part(View<const std::byte>(own.data(), own.size())),
            0};
}

template class SharedSchedule<int>;
template class SharedSchedule<void*>;

}  // namespace conset
