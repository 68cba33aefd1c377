// Ledger: how full every resource is in every slot, what it would cost to use it, and which cells hold too much.
//
// A cell is a resource (row) in a slot. Its price for one more item is weight * (base + pressure * over) - discount
// with over = max(0, used + 1 - capacity) and a weight that grows with the history of overuse; prices are kept up to
// date, so that a search only reads them. Cells that hold too much are listed: a sweep touches nothing else.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conset/array.hpp"

namespace conset {

class Ledger {
public:
    struct Cell {
        std::int32_t room = 0;     // capacity - used; below 0: holds too much
        std::int32_t listed = -1;  // position in over(), -1: not there
        float weight = 1;
        float discount = 0;
    };

    // All cells have `base`; room, weight and discount are set cell by cell before `price_all`.
    Ledger(std::size_t cells, float base) : base_(base), cells_(cells), price_(cells, 0) {}

    Cell& cell(std::size_t at) { return cells_[at]; }
    const float* prices() const { return price_.data(); }
    float price(std::size_t at) const { return price_[at]; }
    bool overused(std::size_t at) const { return cells_[at].room < 0; }
    const Array<std::uint32_t>& over() const { return over_; }

    // A price that nothing pays.
    void close(std::size_t at, float price) { price_[at] = price; }

    void price_all(float pressure) {
        pressure_ = pressure;
        for (std::size_t at = 0; at < cells_.size(); ++at) reprice(at);
    }

    void take(std::size_t at) {
        Cell& cell = cells_[at];
        if (--cell.room == -1) {
            cell.listed = static_cast<std::int32_t>(over_.size());
            over_.push_back(static_cast<std::uint32_t>(at));
        }
        reprice(at);
    }

    void give_back(std::size_t at) {
        Cell& cell = cells_[at];
        if (++cell.room == 0) {
            const std::uint32_t last = over_.back();
            over_[static_cast<std::size_t>(cell.listed)] = last;
            cells_[last].listed = cell.listed;
            over_.pop_back();
            cell.listed = -1;
        }
        reprice(at);
    }

    // What is overused now costs more for ever: `step` for each item too many.
    void remember(float step) {
        for (const std::uint32_t at : over_) {
            cells_[at].weight += step * static_cast<float>(-cells_[at].room);
            reprice(at);
        }
    }

    // Items too many, over all cells.
    std::int64_t excess() const {
        std::int64_t sum = 0;
        for (const std::uint32_t at : over_) sum -= cells_[at].room;
        return sum;
    }

private:
    void reprice(std::size_t at) {
        const Cell& cell = cells_[at];
        const auto over = static_cast<float>(std::max(0, 1 - cell.room));
        price_[at] = cell.weight * (base_ + pressure_ * over) - cell.discount;
    }

    float base_, pressure_ = 1;
    Array<Cell> cells_;
    Array<float> price_;
    Array<std::uint32_t> over_;
};

}  // namespace conset
