#include "conset/scheduling/complete_exchange/complete_exchange.hpp"

#include <algorithm>
#include <stdexcept>

namespace conset {

SquareExchange::SquareExchange(std::int32_t side) : n_(side), h_(side / 2), m_(side / 4), q_(side / 2 - 1) {
    if (side < 4 || side % 4 != 0)
        throw std::invalid_argument("square exchange: the side must be a positive multiple of 4");
}

// Which pair of the factor a vertex is in: pair 0 is {i, h-1}, pair k is {i+2k, i-2k} mod q.
std::int32_t SquareExchange::pair_index(std::int32_t factor, std::int32_t vertex) const {
    const std::int32_t i = std::max(factor - 1, 0);
    if (vertex == h_ - 1 || vertex == i) return 0;
    const std::int32_t d = modulo(vertex - i, q_);
    return d % 2 == 0 ? d / 2 : (q_ - d) / 2;
}

std::int32_t SquareExchange::other(std::int32_t factor, std::int32_t vertex) const {
    const std::int32_t i = std::max(factor - 1, 0);
    if (vertex == h_ - 1) return i;
    return vertex == i ? h_ - 1 : modulo(2 * i - vertex, q_);
}

std::int32_t SquareExchange::label(std::int32_t factor, std::int32_t node) const {
    const std::int32_t i = std::max(factor - 1, 0), k = pair_index(factor, fold(node));
    return modulo((i % 2 == 0 ? k : -k) - (i + 1) / 2, m_);
}

std::int32_t SquareExchange::move(std::int32_t factor, std::int32_t type, std::int32_t node) const {
    const std::int32_t u = fold(node), v = other(factor, u);
    if (factor == 0) return (u < v) != (type == 1) ? n_ - 1 - node : node;
    const std::int32_t a = std::min(u, v), b = std::max(u, v);
    const std::int32_t cycle[4] = {a, b, n_ - 1 - a, n_ - 1 - b};
    const auto at = static_cast<std::int32_t>(std::find(cycle, cycle + 4, node) - cycle);
    return cycle[(at + (type == 0 ? 1 : 3)) % 4];
}

// The pair with this label, as arcs: the inverse of `label`, then `move` of its four nodes.
SquareExchange::Block SquareExchange::block(std::int32_t factor, std::int32_t type, std::int32_t label) const {
    const std::int32_t i = std::max(factor - 1, 0), shifted = label + (i + 1) / 2;
    const std::int32_t k = modulo(i % 2 == 0 ? shifted : -shifted, m_);
    const std::int32_t u = k == 0 ? i : modulo(i + 2 * k, q_), v = k == 0 ? h_ - 1 : modulo(i - 2 * k, q_);
    const std::int32_t a = std::min(u, v), b = std::max(u, v);
    Block result{{a, b, n_ - 1 - a, n_ - 1 - b}, {}};
    for (int j = 0; j < 4; ++j) result.to[j] = move(factor, type, result.from[j]);
    return result;
}

// The column factor runs forth and back; the rotation grows by one with each step back, so that labels keep following.
std::int32_t SquareExchange::rotation(std::int32_t row_factor, std::int32_t turn) const {
    return ((h_ - 1) * (row_factor / 2) + (row_factor % 2 == 1 ? turn : 0)) % m_;
}

SquareExchange::Group SquareExchange::group_of(std::int64_t step) const {
    const auto slot = static_cast<std::int32_t>(step % m_), types = static_cast<std::int32_t>(step / m_ % 4);
    const auto turn = static_cast<std::int32_t>(step / n_ % h_), row_factor = static_cast<std::int32_t>(step / n_ / h_);
    const std::int32_t column_factor = row_factor % 2 == 0 ? turn : h_ - 1 - turn;
    return {(slot + rotation(row_factor, turn)) % m_, types / 2, types % 2, column_factor, row_factor};
}

std::int32_t SquareExchange::partner(std::int32_t node, std::int64_t step) const {
    const Group g = group_of(step);
    const std::int32_t row = node / n_, column = node % n_;
    if ((label(g.column_factor, column) + label(g.row_factor, row)) % m_ != g.slot) return -1;
    return move(g.row_factor, g.row_type, row) * n_ + move(g.column_factor, g.column_type, column);
}

// The factor and type in which node x of a side sends to node y.
void SquareExchange::arc(std::int32_t x, std::int32_t y, std::int32_t& factor, std::int32_t& type) const {
    const std::int32_t u = fold(x), w = fold(y);
    if (u == w) {
        factor = 0;
        type = (u < other(0, u)) == (x != y) ? 0 : 1;
        return;
    }
    const std::int32_t i = u == h_ - 1 ? w : w == h_ - 1 ? u : (u + w) * m_ % q_;  // 2m = 1 mod q
    factor = i + 1;
    type = move(factor, 0, x) == y ? 0 : 1;
}

std::int64_t SquareExchange::step(std::int32_t source, std::int32_t target) const {
    const std::int32_t row = source / n_, column = source % n_;
    std::int32_t row_factor, row_type, column_factor, column_type;
    arc(row, target / n_, row_factor, row_type);
    arc(column, target % n_, column_factor, column_type);
    const std::int32_t turn = row_factor % 2 == 0 ? column_factor : h_ - 1 - column_factor;
    const std::int32_t slot =
        modulo(label(column_factor, column) + label(row_factor, row) - rotation(row_factor, turn), m_);
    return ((std::int64_t{row_factor} * h_ + turn) * 4 + 2 * column_type + row_type) * m_ + slot;
}

Phases SquareExchange::phases(std::int32_t contention) const {
    const std::int64_t nodes = std::int64_t{n_} * n_;
    Phases result;
    result.offsets.reserve(static_cast<std::size_t>((steps() + contention - 1) / contention + 1));
    result.message.reserve(static_cast<std::size_t>(nodes * (nodes - 1)));
    Array<Block> rows(static_cast<std::size_t>(m_)), columns(rows);  // of this factor pair and types, by label
    for (std::int64_t g = 0; g < steps(); ++g) {
        if (g % contention == 0) result.offsets.push_back(static_cast<std::int64_t>(result.message.size()));
        const Group group = group_of(g);
        if (g % m_ == 0)
            for (std::int32_t k = 0; k < m_; ++k) {
                rows[k] = block(group.row_factor, group.row_type, k);
                columns[k] = block(group.column_factor, group.column_type, k);
            }
        for (std::int32_t k = 0; k < m_; ++k) {
            const Block &row = rows[k], &column = columns[modulo(group.slot - k, m_)];
            for (int a = 0; a < 4; ++a)
                for (int b = 0; b < 4; ++b) {
                    const std::int64_t s = std::int64_t{row.from[a]} * n_ + column.from[b];
                    const std::int64_t t = std::int64_t{row.to[a]} * n_ + column.to[b];
                    if (s != t) result.message.push_back(static_cast<std::int32_t>(s * (nodes - 1) + t - (t > s)));
                }
        }
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.message.size()));
    return result;
}

}  // namespace conset
