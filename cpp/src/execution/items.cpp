#include "conset/execution/items.hpp"

#include <array>
#include <cstring>

namespace conset {

namespace {

// Of known size a copy is one load and one store; 0: of the size that is given.
template <std::size_t Bytes>
void gather(const std::byte* from, View<const std::int64_t> items, std::size_t bytes, std::byte* to) {
    const std::size_t each = Bytes == 0 ? bytes : Bytes;
    for (std::size_t k = 0; k < items.size(); ++k) std::memcpy(to + k * each, from + as_size(items[k]) * each, each);
}

template <std::size_t Bytes>
void scatter(const std::byte* from, View<const std::int64_t> items, std::size_t bytes, std::byte* to) {
    const std::size_t each = Bytes == 0 ? bytes : Bytes;
    for (std::size_t k = 0; k < items.size(); ++k) std::memcpy(to + as_size(items[k]) * each, from + k * each, each);
}

template <class Number>
void add_number(const std::byte* from, std::byte* to) {
    Number more, sum;
    std::memcpy(&more, from, sizeof(Number));
    std::memcpy(&sum, to, sizeof(Number));
    sum += more;
    std::memcpy(to, &sum, sizeof(Number));
}

// An item of so many numbers; 0: of as many as are given.
template <class Number, std::size_t Count>
void add_counted(const std::byte* from, View<const std::int64_t> items, std::size_t count, std::byte* to) {
    const std::size_t numbers = Count == 0 ? count : Count, each = numbers * sizeof(Number);
    for (std::size_t k = 0; k < items.size(); ++k) {
        const std::byte* more = from + k * each;
        std::byte* sum = to + as_size(items[k]) * each;
        for (std::size_t n = 0; n < numbers; ++n)
            add_number<Number>(more + n * sizeof(Number), sum + n * sizeof(Number));
    }
}

template <class Number>
void add(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, std::byte* to) {
    const std::size_t count = as_size(item_bytes) / sizeof(Number);
    switch (count) {
        case 1: return add_counted<Number, 1>(from, items, count, to);
        case 2: return add_counted<Number, 2>(from, items, count, to);
        case 3: return add_counted<Number, 3>(from, items, count, to);
        default: return add_counted<Number, 0>(from, items, count, to);
    }
}

}  // namespace

void gather_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, std::byte* to) {
    const std::size_t bytes = as_size(item_bytes);
    switch (bytes) {
        case 4: return gather<4>(from, items, bytes, to);
        case 8: return gather<8>(from, items, bytes, to);
        case 16: return gather<16>(from, items, bytes, to);
        default: return gather<0>(from, items, bytes, to);
    }
}

void scatter_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, std::byte* to) {
    const std::size_t bytes = as_size(item_bytes);
    switch (bytes) {
        case 4: return scatter<4>(from, items, bytes, to);
        case 8: return scatter<8>(from, items, bytes, to);
        case 16: return scatter<16>(from, items, bytes, to);
        default: return scatter<0>(from, items, bytes, to);
    }
}

// A complex number is two of its parts; unsigned numbers wrap as signed ones would, and may.
void add_items(const std::byte* from, View<const std::int64_t> items, std::int64_t item_bytes, ItemType type,
               std::byte* to) {
    switch (type) {
        case ItemType::bytes: return add<std::uint8_t>(from, items, item_bytes, to);
        case ItemType::int32: return add<std::uint32_t>(from, items, item_bytes, to);
        case ItemType::int64: return add<std::uint64_t>(from, items, item_bytes, to);
        case ItemType::complex64:
        case ItemType::float32: return add<float>(from, items, item_bytes, to);
        case ItemType::complex128:
        case ItemType::float64: return add<double>(from, items, item_bytes, to);
    }
}

std::int64_t number_bytes(ItemType type) {
    constexpr std::array<std::int64_t, 7> kBytes{1, 4, 8, 4, 8, 8, 16};
    return kBytes[static_cast<std::size_t>(type)];
}

}  // namespace conset
