#include "conset/runtime/rows.hpp"

#include <cstring>

namespace conset {

Array<std::byte> encode_row(View<const Row::Entry> in_order) {
    Array<std::byte> row(in_order.size() * as_size(kEntryBytes));
    std::byte* targets = row.data();
    std::byte* bytes = targets + in_order.size() * sizeof(std::int32_t);
    for (std::size_t k = 0; k < in_order.size(); ++k) {
        std::memcpy(targets + k * sizeof(std::int32_t), &in_order[k].peer, sizeof(std::int32_t));
        std::memcpy(bytes + k * sizeof(std::int64_t), &in_order[k].bytes, sizeof(std::int64_t));
    }
    return row;
}

RankMessages decode_rows(View<const std::byte> rows, View<const std::int64_t> messages) {
    RankMessages all;
    all.ranks = static_cast<std::int32_t>(messages.size());
    const std::size_t total = rows.size() / as_size(kEntryBytes);
    all.source.reserve(total);
    all.target.resize(total);
    all.bytes.resize(total);
    const std::byte* from = rows.data();
    for (std::int32_t rank = 0; rank < all.ranks; ++rank) {
        const std::size_t begin = all.source.size(), count = as_size(messages[rank]);
        if (count == 0) continue;
        all.source.insert(all.source.end(), count, rank);
        std::memcpy(all.target.data() + begin, from, count * sizeof(std::int32_t));
        std::memcpy(all.bytes.data() + begin, from + count * sizeof(std::int32_t), count * sizeof(std::int64_t));
        from += count * as_size(kEntryBytes);
    }
    return all;
}

}  // namespace conset
