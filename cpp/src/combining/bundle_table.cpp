#include "conset/combining/bundle_table.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace conset {

namespace {

constexpr BundleTable::Window kUnknown{-1, -1};

std::size_t mixed_bits(std::int32_t source, std::int32_t target) {
    std::uint64_t key = (std::uint64_t{static_cast<std::uint32_t>(source)} << 32U) | static_cast<std::uint32_t>(target);
    key = (key ^ (key >> 31U)) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(key ^ (key >> 29U));
}

}  // namespace

BundleTable::BundleTable(View<const std::int32_t> positions, std::int32_t stages, View<const std::int64_t> size,
                         std::int32_t ranks, const BundleCosts& costs)
    : stages_(stages), ranks_(ranks), costs_(costs), size_(size), target_of_(size.size()) {
    number_pairs(positions);
    const std::size_t slots = source_.size() * as_size(stages_);
    content_.resize(slots);
    head_.assign(slots, kNone);
    window_.assign(slots, kUnknown);
    touching_.assign(as_size(ranks_) * as_size(stages_), 0);
    load_.assign(as_size(ranks_) * as_size(stages_ + 1), 0);
    bundles_.assign(source_.size(), 0);
    next_.assign(slot_of_.size(), kNone);
    const Array<std::int32_t> own = slot_of_;
    slot_of_.assign(own.size(), kNone);
    for (std::size_t part = size_.size(); part-- > 0;)
        for (std::int32_t j = 0; j < stages_; ++j)
            if (const std::int32_t at = own[part * as_size(stages_) + as_size(j)]; at != kNone)
                put(static_cast<std::int32_t>(part), at);
    for (std::size_t at = 0; at < slots; ++at)
        if (content_[at].parts > 0) {
            count_in(static_cast<std::int32_t>(at), 1);
            book(static_cast<std::int32_t>(at), 1);
        }
}

// Pairs by source, then target; slot_of_ holds the slot of every hop.
void BundleTable::number_pairs(View<const std::int32_t> positions) {
    const std::size_t columns = as_size(stages_) + 1;
    slot_of_.assign(size_.size() * as_size(stages_), kNone);
    Array<std::int64_t> keys;
    for (std::size_t part = 0; part < size_.size(); ++part) {
        target_of_[part] = positions[part * columns + columns - 1];
        for (std::size_t at = part * columns; at + 1 < (part + 1) * columns; ++at)
            if (positions[at] != positions[at + 1])
                keys.push_back(std::int64_t{positions[at]} * ranks_ + positions[at + 1]);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    source_.resize(keys.size());
    target_.resize(keys.size());
    for (std::size_t pair = 0; pair < keys.size(); ++pair) {
        source_[pair] = static_cast<std::int32_t>(keys[pair] / ranks_);
        target_[pair] = static_cast<std::int32_t>(keys[pair] % ranks_);
    }
    from_ = Rows::by(as_size(ranks_), keys.size(), {}, [&](std::int32_t pair) { return source_[pair]; });
    to_ = Rows::by(as_size(ranks_), keys.size(), {}, [&](std::int32_t pair) { return target_[pair]; });
    fill_table();
    for (std::size_t part = 0; part < size_.size(); ++part)
        for (std::int32_t j = 0; j < stages_; ++j) {
            const std::size_t at = part * columns + as_size(j);
            if (positions[at] == positions[at + 1]) continue;
            slot_of_[part * as_size(stages_) + as_size(j)] = slot(find(positions[at], positions[at + 1]), j);
        }
}

// Open addressing, at most half full.
void BundleTable::fill_table() {
    table_.assign(std::bit_ceil(2 * source_.size() + 1), kNone);
    for (std::size_t pair = 0; pair < source_.size(); ++pair) {
        std::size_t at = mixed_bits(source_[pair], target_[pair]) & (table_.size() - 1);
        while (table_[at] != kNone) at = (at + 1) & (table_.size() - 1);
        table_[at] = static_cast<std::int32_t>(pair);
    }
}

std::int32_t BundleTable::find(std::int32_t source, std::int32_t target) const {
    std::size_t at = mixed_bits(source, target) & (table_.size() - 1);
    while (table_[at] != kNone && (source_[table_[at]] != source || target_[table_[at]] != target))
        at = (at + 1) & (table_.size() - 1);
    return table_[at];
}

void BundleTable::put(std::int32_t part, std::int32_t slot) {
    slot_of_[hop(part, stage_of(slot))] = slot;
    next_[hop(part, stage_of(slot))] = head_[slot];
    head_[slot] = part;
    const bool forwarded = target_of_[part] != target_[pair_of(slot)];
    content_[slot] = content_[slot] + Content{size_[part], 1, forwarded ? 1 : 0};
}

BundleTable::Window BundleTable::window(std::int32_t slot) {
    Window& known = window_[slot];
    if (known.first != kUnknown.first) return known;
    const std::int32_t stage = stage_of(slot);
    known = {0, stages_};
    for (std::int32_t part = head_[slot]; part != kNone; part = next_[hop(part, stage)]) {
        std::int32_t first = stage, end = stage + 1;
        while (first > known.first && slot_of_[hop(part, first - 1)] == kNone) --first;
        while (end < known.end && slot_of_[hop(part, end)] == kNone) ++end;
        known = {first, end};
        if (end - first == 1) break;
    }
    return known;
}

void BundleTable::forget_windows(std::int32_t part) {
    for (std::int32_t j = 0; j < stages_; ++j)
        if (const std::int32_t at = slot_of_[hop(part, j)]; at != kNone) window_[at] = kUnknown;
}

double BundleTable::send_s(const Content& content) const {
    const auto bytes = static_cast<double>(content.bytes);
    return costs_.send.at(content.bytes) + bytes * (costs_.out_s_per_B + (content.parts > 1 ? costs_.copy_s_per_B : 0));
}

double BundleTable::receive_s(const Content& content) const {
    const auto bytes = static_cast<double>(content.bytes);
    return costs_.receive.at(content.bytes) +
           bytes * (costs_.in_s_per_B + (content.parts > 1 ? costs_.copy_s_per_B : 0));
}

double BundleTable::peak(std::int32_t rank) const {
    const auto begin = load_.begin() + static_cast<std::ptrdiff_t>(cell(rank, stages_ + 1, 0));
    return *std::max_element(begin, begin + stages_ + 1);
}

void BundleTable::book(std::int32_t slot, double sign) {
    const std::int32_t pair = pair_of(slot), stage = stage_of(slot);
    const Content& held = content_[slot];
    load_[cell(source_[pair], stages_ + 1, stage)] += sign * send_s(held);
    load_[cell(target_[pair], stages_ + 1, receive_turn(stage, held))] += sign * receive_s(held);
}

// A rank that takes part in a stage has a set-up there.
void BundleTable::count_in(std::int32_t slot, std::int32_t change) {
    const std::int32_t pair = pair_of(slot), stage = stage_of(slot);
    for (const std::int32_t rank : {source_[pair], target_[pair]}) {
        std::int32_t& touching = touching_[cell(rank, stages_, stage)];
        const bool before = touching > 0;
        touching += change;
        if (before != (touching > 0))
            load_[cell(rank, stages_ + 1, stage)] += before ? -costs_.setup_s : costs_.setup_s;
    }
    bundles_[pair] += change;
}

// Whatever `body` does to a slot, counts and loads follow.
template <class Change>
void BundleTable::change(std::int32_t slot, Change&& body) {
    const bool held = holds(slot);
    if (held) book(slot, -1);
    body();
    if (holds(slot)) book(slot, 1);
    if (held != holds(slot)) count_in(slot, held ? -1 : 1);
    window_[slot] = kUnknown;
}

Array<std::int32_t> BundleTable::take(std::int32_t slot) {
    const std::int32_t stage = stage_of(slot);
    Array<std::int32_t> parts;
    for (std::int32_t part = head_[slot]; part != kNone; part = next_[hop(part, stage)]) parts.push_back(part);
    change(slot, [&] {
        for (const std::int32_t part : parts) slot_of_[hop(part, stage)] = kNone;
        head_[slot] = kNone;
        content_[slot] = {};
    });
    return parts;
}

void BundleTable::add(const Array<std::int32_t>& parts, std::int32_t slot) {
    change(slot, [&] {
        for (const std::int32_t part : parts) put(part, slot);
    });
}

void BundleTable::retime(std::int32_t from, std::int32_t to) {
    const Array<std::int32_t> parts = take(from);
    add(parts, to);
    for (const std::int32_t part : parts) forget_windows(part);
}

void BundleTable::relay(std::int32_t slot, std::int32_t first, std::int32_t second) {
    const Array<std::int32_t> parts = take(slot);
    add(parts, first);
    add(parts, second);
    for (const std::int32_t part : parts) forget_windows(part);
}

Array<std::int32_t> BundleTable::positions(View<const std::int32_t> before) const {
    Array<std::int32_t> at(before.begin(), before.end());
    const std::size_t columns = as_size(stages_) + 1;
    for (std::size_t part = 0; part < size_.size(); ++part)
        for (std::size_t j = 0; j + 1 < columns; ++j) {
            const std::int32_t taken = slot_of_[part * as_size(stages_) + j];
            at[part * columns + j + 1] = taken == kNone ? at[part * columns + j] : target_[pair_of(taken)];
        }
    return at;
}

}  // namespace conset
