// Lines of a box: a route is at most one run of links along a line in each dimension, so what links carry adds up from
// where runs begin and end, without a look at every link on the way.
//
// Cells stand for links in another order than slots: cell(plane, node), where plane = 2 * dimension + (0 up | 1 down).
// Complexity: O(dimensions) for each route, then O(links), for minima O(links * log(side)).
#pragma once

#include <algorithm>
#include <bit>
#include <limits>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

class BoxLines {
public:
    explicit BoxLines(const Network& network);

    // Whether `count` routes of their network's own visit more links than there are, several times over.
    static bool pay(const Routes& routes, std::size_t count);

    std::size_t nodes() const { return nodes_; }
    std::size_t planes() const { return 2 * sides_.size(); }
    std::size_t cells() const { return planes() * nodes_; }
    std::size_t cell(std::int32_t slot) const { return as_size(slot) % planes() * nodes_ + as_size(slot) / planes(); }

    // Calls `visit(first, side, stride, low, count)` for each run of the route from s to t: the cells of a line of
    // `side` nodes are first + coordinate * stride, the run covers low ... low + count - 1, modulo the side.
    template <class Visit>
    void each_run(std::int32_t s, std::int32_t t, Visit&& visit) const {
        std::int32_t node = s;
        for (std::size_t k = sides_.size(); k-- > 0;) {
            const std::int32_t at = at_[conset::cell(k, nodes_, s)], to = at_[conset::cell(k, nodes_, t)];
            if (at == to) continue;
            const std::int32_t side = sides_[k], stride = strides_[k], base = node - at * stride;
            const auto [up, count] = network_.run(s, static_cast<std::int32_t>(k), at, to);
            std::int32_t low = up ? at : at - count + 1;
            if (low < 0) low += side;
            const std::size_t plane = 2 * k + (up ? 0 : 1);
            visit(conset::cell(plane, nodes_, base), side, stride, low, count);
            node = base + to * stride;
        }
    }

    // Calls `visit(begin, rows, stride)` for every block of cells whose rows, `stride` cells each, follow one another
    // along lines.
    template <class Visit>
    void each_block(Visit&& visit) const {
        for (std::size_t plane = 0; plane < planes(); ++plane) {
            const std::size_t side = as_size(sides_[plane / 2]), stride = as_size(strides_[plane / 2]);
            for (std::size_t base = 0; base < nodes_; base += side * stride)
                visit(plane, plane * nodes_ + base, side, stride);
        }
    }

private:
    const Network& network_;
    std::size_t nodes_;
    View<const std::int32_t> sides_, strides_;
    Array<std::int32_t> at_;  // [dimension][node]
};

// What routes add up to on every link.
template <class Value>
class LineSums {
public:
    explicit LineSums(const BoxLines& lines) : lines_(lines), cell_(lines.cells(), 0) {}

    void add(std::int32_t s, std::int32_t t, Value value) {
        lines_.each_run(
            s, t, [&](std::size_t first, std::int32_t side, std::int32_t stride, std::int32_t low, std::int32_t count) {
                const auto at = [&](std::int32_t row) { return first + as_size(row * stride); };
                const std::int32_t end = low + count;
                cell_[at(low)] += value;
                if (end < side) cell_[at(end)] -= value;
                if (end > side) {
                    cell_[first] += value;
                    cell_[at(end - side)] -= value;
                }
            });
    }

    // Turns beginnings and ends into what every link carries; nothing is added after it until `clear`.
    void settle() {
        lines_.each_block([&](std::size_t, std::size_t begin, std::size_t rows, std::size_t stride) {
            for (std::size_t c = begin + stride; c < begin + rows * stride; ++c) cell_[c] += cell_[c - stride];
        });
    }

    void clear() { std::fill(cell_.begin(), cell_.end(), Value{0}); }
    const Array<Value>& cells() const { return cell_; }

private:
    const BoxLines& lines_;
    Array<Value> cell_;
};

// The least lead-in and lead-out of the routes over every link; infinite on a link without any.
class LineLeast {
public:
    struct Pair {
        double into = std::numeric_limits<double>::infinity(), out = into;
        void least(const Pair& other) {
            if (other.into < into) into = other.into;
            if (other.out < out) out = other.out;
        }
    };

    explicit LineLeast(const BoxLines& lines);

    // Whether `count` routes pay for the entries that are kept: their number times log(side) for every link.
    static bool pay(const Routes& routes, std::size_t count);

    void add(std::int32_t s, std::int32_t t, const Pair& pair) {
        lines_.each_run(
            s, t, [&](std::size_t first, std::int32_t side, std::int32_t stride, std::int32_t low, std::int32_t count) {
                const std::int32_t inside = std::min(count, side - low);
                cover(first, stride, low, inside, pair);
                if (inside < count) cover(first, stride, 0, count - inside, pair);
            });
    }

    // The pair of every cell; nothing is added after it.
    View<const Pair> settle();

private:
    // Two entries of one level, each for as many cells as the largest power of two in `count`, cover a run.
    void cover(std::size_t first, std::int32_t stride, std::int32_t low, std::int32_t count, const Pair& pair) {
        const auto level = static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(count)) - 1);
        const std::int32_t last = low + count - (std::int32_t{1} << level);
        Pair* entry = pair_.data() + level * lines_.cells() + first;
        entry[low * stride].least(pair);
        if (last != low) entry[last * stride].least(pair);
    }

    const BoxLines& lines_;
    std::size_t levels_ = 1;
    Array<Pair> pair_;  // [level][cell]: for 2^level cells from this one on along its line
};

}  // namespace conset
