// Affine: complete exchanges of meshes n x n and n x (n+1) and of tori n x n, n = 4m+1, whose tiles are chosen by the
// lines of an affine plane. New.
//
// Problem: a factor of a side of 4m+1 or 4m+2 nodes leaves out one of its w = 2m+1 vertices, so in a product of two
// factors (`exchange_product.hpp`) some rows idle in every step.
//
// Idea: give every row a factor of its own. Number the vertices of both sides by the elements of the field of w
// elements. In step (r, s, d, t, t'), where r and d are not 0 and d stands for -d as well, the rows of vertex a use the
// tile of the columns ra + s + d and ra + s - d in type t, hence the columns of vertex b the tile of the rows
// (b - s + d) / r and (b - s - d) / r in type t'. A tile of a row has a column if and only if the tile of that column
// has the row: what moves along a row moves along a column as well. The tiles of a message and where they meet give r,
// s and d, so every message whose moves belong to tiles is in exactly one step.
//
// The others, n x n: in 2m steps for each factor, block k in the rows of block l at k + l + m t, and block l in the
// columns of block k at k + l + m t + floor(m / 2), modulo 2m; messages that move in one dimension.
//
// The others, n rows x (n+1) columns: in w steps for each factor of the rows and type, the rows of block l send the
// flips of column b at b - l, modulo w, and its columns are then in block l; the stays of column b are in block l at
// b + 1 + l. The rows of the vertex left out do some of what moves along rows only, and all rows the rest in w (2m-1)
// steps more.
//
// n x n at contention m: in a phase every row and every column has a factor and a type, and all m tiles of it move;
// what the factor leaves out does not. Phases (r, s, t, t'), t != t': the steps above, all d at once. Phases (c, s, t),
// t' = t: rows a have the factor a + s + c, columns b the factor b - s. For the vertices a and b where a message turns
// and the factors u and v of its tiles along row and column (u = b or v = a where it does not move), u - b = -r (v - a)
// in the first and u - b + v - a = c in the second, so every message is in one phase.
//
// Tori: a tile loads its cycle in one direction, so two of opposite types share a step: d in types (t, t') and d + 1 in
// the others. The four kinds of messages of a factor that move in one dimension are at k + l + 0, 1, 2 and 3, modulo
// max(m, 4). At contention m / 2 the phases of contention m, with every other tile of a factor in the other type.
//
// Invariant: one tile or flip in every row, at most one tile in every column (tori: of each type); the m steps of one
// (r, s, t, t') share no sender and no receiver.
//
// Guarantee, the largest load of a link: mesh n x n, n(n^2-1)/4 steps at contention 1 for m > 1 and n(n+1) phases at
// contention m; mesh n x (n+1), n w^2 steps; torus, n(n^2-1)/8 steps for m > 3 and n(n+1) phases at contention m / 2, m
// even. Consecutive steps are merged for other contentions.
//
// Domain: w is a power of a prime. Complexity: O(messages) and O(w^2).
#include <algorithm>

#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"

namespace conset {

namespace {

// The field of `size` elements, a power of a prime p; digits in base p are the coefficients of polynomials.
class Field {
public:
    explicit Field(std::int32_t size) : size_(size), logarithm_(as_size(size), 0) {
        while (size % p_ != 0) ++p_;
        top_ = size / p_;
        for (std::int32_t rest = top_; rest > 1; rest /= p_)
            if (rest % p_ != 0) return;
        for (std::int32_t c = 1; power_.size() + 1 != as_size(size); ++c) {  // x^k = c(x), until x is primitive
            power_ = {1};
            for (std::int32_t next = times_x(1, c); next != 1 && power_.size() < as_size(size); next = times_x(next, c))
                power_.push_back(next);
        }
        for (std::size_t k = 0; k < power_.size(); ++k) logarithm_[power_[k]] = static_cast<std::int32_t>(k);
    }

    // Whether the size is a power of a prime.
    bool exists() const { return !power_.empty(); }
    // a + count * b
    std::int32_t sum(std::int32_t a, std::int32_t b, std::int32_t count = 1) const {
        std::int32_t result = 0;
        for (std::int32_t place = 1; place < size_; place *= p_)
            result += modulo(a / place + count * (b / place), p_) * place;
        return result;
    }
    // The exponent of a / b, neither of them 0, and a times the power of an exponent.
    std::int32_t ratio(std::int32_t a, std::int32_t b) const {
        return modulo(logarithm_[a] - logarithm_[b], size_ - 1);
    }
    std::int32_t times(std::int32_t a, std::int32_t exponent) const {
        return a == 0 ? 0 : power_[(logarithm_[a] + exponent) % (size_ - 1)];
    }

private:
    std::int32_t times_x(std::int32_t a, std::int32_t c) const { return sum(a % top_ * p_, c, a / top_); }

    std::int32_t size_, p_ = 2, top_ = 1;
    Array<std::int32_t> power_, logarithm_;
};

class AffineSteps {
public:
    AffineSteps(std::int32_t rows, std::int32_t columns, bool cycle)
        : rows_(rows),
          columns_(columns),
          cycle_(cycle),
          m_(rows / 4),
          w_(2 * m_ + 1),
          field_(w_),
          row_type_(build_factors(rows, cycle).type),
          column_type_(build_factors(columns, cycle).type),
          label_(as_size(w_), 0) {
        for (std::int32_t v = 1, next = 0; v < w_; ++v) {
            const std::int32_t negative = field_.sum(0, v, -1);
            label_[v] = negative < v ? label_[negative] : next++;
        }
    }

    // n x n at contention m, cycles m / 2: the phase of a message from row x and column y.
    std::int32_t phase(std::int32_t x, std::int32_t y, std::int32_t to_x, std::int32_t to_y) const {
        const std::int32_t a = fold(x, rows_), b = fold(to_y, columns_);
        const std::int32_t v = y == to_y ? b : other(y, to_y, columns_), alpha = x == to_x ? a : other(to_x, x, rows_);
        // every other tile of a cycle the other way
        const auto turned = [&](std::int32_t one, std::int32_t two) {
            return cycle_ ? label_[field_.sum(one, two, -1)] % 2 : 0;
        };
        const std::int32_t t = column_type_[cell(y, columns_, to_y)] ^ turned(b, v),
                           t_row = row_type_[cell(x, rows_, to_x)] ^ turned(a, alpha);
        if (x != to_x && y != to_y && t != t_row) return 2 * line(a, b, v, alpha) + t;
        const std::int32_t both = field_.sum(field_.sum(v, b, -1), field_.sum(alpha, a, -1)),
                           s = field_.sum(field_.sum(b, b), field_.sum(a, alpha), -1);
        return 2 * (w_ * (w_ - 1) + both * w_ + s) + (x == to_x ? t : t_row);
    }

    // Contention 1: the step of a message from row x and column y.
    std::int32_t step(std::int32_t x, std::int32_t y, std::int32_t to_x, std::int32_t to_y) const {
        const std::int32_t a = fold(x, rows_), b = fold(to_y, columns_);
        const std::int32_t v = other(y, to_y, columns_), alpha = other(to_x, x, rows_);
        const std::int32_t t = column_type_[cell(y, columns_, to_y)], t_row = row_type_[cell(x, rows_, to_x)];
        const bool flips = v == b;  // or stays
        if (x != to_x && !flips && y != to_y) {
            const std::int32_t tile = label_[field_.sum(b, v, -1)], place = line(a, b, v, alpha);
            return cycle_ ? (2 * place + (t ^ t_row)) * m_ + (tile + t) % m_ : (4 * place + 2 * t + t_row) * m_ + tile;
        }
        const std::int32_t first = (cycle_ ? 2 : 4) * m_ * w_ * (w_ - 1),
                           factor = x == to_x ? field_.sum(b, v) : field_.sum(a, alpha),
                           block = label_[x == to_x ? field_.sum(b, v, -1) : field_.sum(a, alpha, -1)];
        if (rows_ == columns_) {
            const std::int32_t type = x == to_x ? t : t_row, line = x == to_x ? a : b,
                               across = label_[field_.sum(field_.sum(line, line), factor, -1)],
                               slots = cycle_ ? std::max(m_, 4) : 2 * m_,
                               later = cycle_ ? type + (x == to_x ? 0 : 2) : m_ * type + (x == to_x ? 0 : m_ / 2);
            return first + factor * slots + (block + across + later) % slots;
        }
        if (x != to_x) return first + (2 * factor + t_row) * w_ + modulo(y != to_y ? b - block : b + 1 + block, w_);
        const std::int32_t item = flips ? b : w_ + (factor * m_ + block) * 2 + t;
        return first + item + 2 * w_ * (item < 2 * w_ ? field_.sum(a, a) : w_ - 1);
    }

private:
    // The number of (r, 2s) from the vertices of both tiles.
    std::int32_t line(std::int32_t a, std::int32_t b, std::int32_t v, std::int32_t alpha) const {
        const std::int32_t r = field_.ratio(field_.sum(b, v, -1), field_.sum(alpha, a, -1));
        return r * w_ + field_.sum(field_.sum(b, v), field_.times(a, r), -2);
    }
    // The vertex of a node, and the other one of the tile of an arc; a flip of an even side has the same one.
    std::int32_t fold(std::int32_t x, std::int32_t side) const {
        if (cycle_) return x == side - 1 ? w_ - 1 : x % (w_ - 1);
        return std::min(x, side - 1 - x);
    }
    std::int32_t other(std::int32_t x, std::int32_t end, std::int32_t side) const {
        return side % 2 == 1 && fold(x, side) == fold(end, side) ? w_ - 1 : fold(x, side);
    }

    std::int32_t rows_, columns_;
    bool cycle_;
    std::int32_t m_, w_;
    Field field_;
    Array<std::int32_t> row_type_, column_type_, label_;  // label: of an element and its negative, 0 for 0
};

}  // namespace

bool applies_affine(const ExchangeBox& box) {
    if (box.sides.size() != 2) return false;
    const std::int32_t n = box.sides[0], other = box.sides[1];
    const bool square = other == n && (n > 5 || (box.is_mesh() && box.contention == 1));
    return n % 4 == 1 && n > 1 && (square || (box.is_mesh() && other == n + 1)) && Field(n / 2 + 1).exists();
}

// Consecutive steps merged as contention, senders and receivers allow, or phases of contention m.
Phases schedule_affine(const ExchangeBox& box, Families&) {
    const bool cycle = !box.is_mesh(), merged = box.is_cube() && box.contention * (cycle ? 8 : 4) == box.sides[0] - 1;
    const AffineSteps affine(box.sides[0], box.sides[1], cycle);
    Array<std::int32_t> step(as_size(box.messages()));
    for (std::int32_t message = 0; message < box.messages(); ++message) {
        const std::int32_t source = box.source(message), target = box.target(message), columns = box.sides[1],
                           x = source / columns, y = source % columns, to_x = target / columns, to_y = target % columns;
        step[message] = merged ? affine.phase(x, y, to_x, to_y) : affine.step(x, y, to_x, to_y);
    }
    return merged ? group_phases(step) : merge_steps(box, step);
}

}  // namespace conset
