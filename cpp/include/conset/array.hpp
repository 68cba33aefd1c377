// Arrays: vectors and spans whose entries are asked for by an id.
//
// Nodes, links, ranks and messages are dense integers, int32 or int64, and what is known of them stands in arrays by
// that number. An id is never negative where it is used; that is said here once, and every other conversion between
// signed and unsigned numbers is an error of the compiler. A build with sanitizers checks every index.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace conset {

// An id or a count as a size; it must not be negative.
template <std::integral Id>
constexpr std::size_t as_size(Id id) {
    if constexpr (std::signed_integral<Id>) assert(id >= 0);
    return static_cast<std::size_t>(id);
}

// Where the entry of a row and a column stands in a table of so many columns.
template <std::integral Row, std::integral Columns, std::integral Column>
constexpr std::size_t cell(Row row, Columns columns, Column column) {
    return as_size(row) * as_size(columns) + as_size(column);
}

template <class T>
class Array : public std::vector<T> {
public:
    using Base = std::vector<T>;
    using Base::Base;
    Array() = default;
    Array(Base values) : Base(std::move(values)) {}
    template <std::integral Id>
    typename Base::reference operator[](Id id) {
        return Base::operator[](static_cast<std::size_t>(id));
    }
    template <std::integral Id>
    typename Base::const_reference operator[](Id id) const {
        return Base::operator[](static_cast<std::size_t>(id));
    }
};

template <class T>
class View : public std::span<T> {
public:
    using Base = std::span<T>;
    using Base::Base;
    constexpr View() = default;
    constexpr View(Base values) : Base(values) {}
    template <std::integral Id>
    T& operator[](Id id) const {
        return Base::operator[](static_cast<std::size_t>(id));
    }
};

}  // namespace conset

template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<conset::View<T>> = true;
