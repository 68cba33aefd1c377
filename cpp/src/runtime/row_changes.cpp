#include "conset/runtime/row_changes.hpp"

#include <algorithm>
#include <cstring>

namespace conset {

RowUpdate compare_rows(View<const Row::Entry> before, View<const Row::Entry> now) {
    Array<Row::Entry> placed(before.begin(), before.end());
    for (std::size_t k = 0; k < placed.size(); ++k) placed[k].block = static_cast<std::int32_t>(k);
    const Row old(placed), next(Array<Row::Entry>(now.begin(), now.end()));
    RowUpdate update;
    Array<bool> removed(before.size(), false);
    for (std::size_t begin = 0; begin < before.size();) {
        const auto was = old.with(old.entries()[begin].peer), is = next.with(old.entries()[begin].peer);
        begin += was.size();
        for (std::size_t k = 0; k < was.size(); ++k) {
            const std::int32_t at = was[k].block;
            removed[at] = k >= is.size();
            if (removed[at])
                update.changes.push_back({ChangeKind::removed, at, 0});
            else if (is[k].bytes != was[k].bytes)
                update.changes.push_back({ChangeKind::resized, at, placed[at].bytes = is[k].bytes});
        }
    }
    for (std::size_t k = 0; k < placed.size(); ++k)
        if (!removed[k]) update.row.push_back(placed[k]);
    // those of a pair that are more than before are its last ones
    for (const Row::Entry& entry : now) {
        const auto is = next.with(entry.peer);
        const auto nth = static_cast<std::size_t>(
            std::find_if(is.begin(), is.end(), [&](const auto& each) { return each.block == entry.block; }) -
            is.begin());
        if (nth < old.with(entry.peer).size()) continue;
        update.changes.push_back({ChangeKind::added, entry.peer, entry.bytes});
        update.row.push_back(entry);
    }
    return update;
}

RowsChanges::RowsChanges(View<const std::byte> changes, View<const std::int64_t> counts, const RankMessages& before) {
    const std::byte* from = changes.data();
    std::int32_t row = 0;  // where the row of a rank begins
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(counts.size()); ++rank) {
        for (std::int64_t k = 0; k < counts[rank]; ++k) {
            RowChange change{};
            std::memcpy(&change, from, sizeof(change));
            from += sizeof(change);
            if (change.kind == ChangeKind::removed) {
                removed_.push_back(row + change.at);
            } else if (change.kind == ChangeKind::resized) {
                resized_.push_back(row + change.at);
                bytes_.push_back(change.bytes);
            } else {
                added_.source.push_back(rank);
                added_.target.push_back(change.at);
                added_.bytes.push_back(change.bytes);
            }
        }
        while (as_size(row) < before.size() && before.source[row] == rank) ++row;
    }
    added_.ranks = before.ranks;
    // by pair, as rows are compared
    std::sort(removed_.begin(), removed_.end());
}

MessageChanges RowsChanges::view() const {
    return {View<const std::int32_t>(removed_), added_, View<const std::int32_t>(resized_),
            View<const std::int64_t>(bytes_)};
}

}  // namespace conset
