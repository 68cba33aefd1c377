// Phases of transfers that move between them: who must come first, and who holds what.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "conset/array.hpp"
#include "conset/bits.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

// Who must stand in an earlier phase than whom, both ways.
class TransferOrder {
public:
    TransferOrder(std::size_t transfers, View<const std::int32_t> first, View<const std::int32_t> second) {
        if (first.empty()) return;
        before_.resize(transfers);
        after_.resize(transfers);
        for (std::size_t k = 0; k < first.size(); ++k) {
            after_[first[k]].push_back(second[k]);
            before_[second[k]].push_back(first[k]);
        }
    }
    bool kept(std::int32_t k, View<const std::int32_t> phase) const {
        if (before_.empty()) return true;
        return std::all_of(before_[k].begin(), before_[k].end(), [&](auto i) { return phase[i] < phase[k]; }) &&
               std::all_of(after_[k].begin(), after_[k].end(), [&](auto j) { return phase[k] < phase[j]; });
    }

private:
    Array<Array<std::int32_t>> before_, after_;
};

// Phases with who holds what: a slot for each transfer that a phase and a contended resource have room for.
class PhaseState {
public:
    PhaseState(const Resources& resources, View<const double> duration, Array<std::int32_t> phase)
        : duration_(duration), phase_(std::move(phase)), at_(phase_.size(), 0), offsets_(phase_.size() + 1, 0) {
        const std::size_t phases = as_size(1 + *std::max_element(phase_.begin(), phase_.end()));
        member_.resize(phases);
        top_.assign(phases, 0.0);
        words_ = (phases + 63) / 64;
        number_rows(resources);
        holder_.assign(phases * slots(), -1);
        used_.assign(phases * rows(), 0);
        full_.assign(rows() * words_, 0);
        for (std::size_t k = 0; k < phase_.size(); ++k) insert(static_cast<std::int32_t>(k), phase_[k]);
    }

    std::int32_t phases() const { return static_cast<std::int32_t>(member_.size()); }
    View<const std::int32_t> phase() const { return phase_; }
    View<const std::int32_t> members(std::int32_t p) const { return member_[p]; }
    View<const std::int32_t> rows_of(std::int32_t k) const {
        return {held_.data() + offsets_[k], held_.data() + offsets_[k + 1]};
    }
    std::int32_t room(std::int32_t row) const { return slot_[row + 1] - slot_[row]; }
    std::int32_t used(std::int32_t p, std::int32_t row) const { return used_[cell(p, rows(), row)]; }
    View<const std::int32_t> holders(std::int32_t p, std::int32_t row) const {
        return {holder_.data() + cell(p, slots(), slot_[row]), static_cast<std::size_t>(used(p, row))};
    }
    double top(std::int32_t p) const { return top_[p]; }
    double length(std::int32_t p, double opening) const { return member_[p].empty() ? 0.0 : top_[p] + opening; }

    std::int32_t longest(std::int32_t p) const {
        const auto& own = member_[p];
        return *std::find_if(own.begin(), own.end(), [&](std::int32_t k) { return duration_[k] == top_[p]; });
    }

    void remove(std::int32_t k) {
        const std::int32_t p = phase_[k];
        auto& own = member_[p];
        own[at_[k]] = own.back();
        at_[own.back()] = at_[k];
        own.pop_back();
        for (const std::int32_t row : rows_of(k)) {
            std::int32_t* holder = holder_.data() + cell(p, slots(), slot_[row]);
            std::int32_t& used = used_[cell(p, rows(), row)];
            *std::find(holder, holder + used, k) = holder[used - 1];
            --used;
            full_[cell(row, words_, word_of(p))] &= ~bit_of(p);
        }
        if (duration_[k] < top_[p]) return;
        top_[p] = 0;
        for (const std::int32_t other : own) top_[p] = std::max(top_[p], duration_[other]);
    }

    void insert(std::int32_t k, std::int32_t p) {
        phase_[k] = p;
        at_[k] = static_cast<std::int32_t>(member_[p].size());
        member_[p].push_back(k);
        for (const std::int32_t row : rows_of(k)) {
            std::int32_t& used = used_[cell(p, rows(), row)];
            holder_[cell(p, slots(), slot_[row] + used++)] = k;
            if (used == room(row)) full_[cell(row, words_, word_of(p))] |= bit_of(p);
        }
        top_[p] = std::max(top_[p], duration_[k]);
    }

    // The phase in which transfer k has room and is the least above the longest there; -1: none. Not phase `except`.
    std::int32_t cheapest(std::int32_t k, std::int32_t except) const {
        std::int32_t best = -1;
        double rise = 0;
        for (std::size_t word = 0; word < words_; ++word) {
            std::uint64_t open = ~std::uint64_t{0};
            for (const std::int32_t row : rows_of(k)) open &= ~full_[cell(row, words_, word)];
            for (; open != 0; open &= open - 1) {
                const auto p = static_cast<std::int32_t>(word * 64) + std::countr_zero(open);
                if (p >= phases()) break;
                const double more = duration_[k] - top_[p];
                if (p == except || (best >= 0 && more >= rise)) continue;
                best = p;
                rise = more;
                if (rise <= 0) return best;
            }
        }
        return best;
    }

private:
    std::size_t rows() const { return slot_.size() - 1; }
    std::size_t slots() const { return static_cast<std::size_t>(slot_.back()); }

    // Resources that can be full get a row.
    void number_rows(const Resources& resources) {
        const Array<std::int32_t> load = resources.loads();
        Array<std::int32_t> row(load.size(), -1);
        slot_.assign(1, 0);
        for (std::int32_t resource = 0; resource < resources.count(); ++resource) {
            if (load[resource] == 0 || load[resource] <= resources.capacity(resource)) continue;
            row[resource] = static_cast<std::int32_t>(rows());
            slot_.push_back(slot_.back() + resources.capacity(resource));
        }
        for (std::size_t k = 0; k < phase_.size(); ++k) {
            resources.each(k, [&](std::int32_t resource) {
                if (row[resource] >= 0) held_.push_back(row[resource]);
            });
            offsets_[k + 1] = static_cast<std::int64_t>(held_.size());
        }
    }

    View<const double> duration_;
    Array<std::int32_t> phase_, at_;
    Array<std::int64_t> offsets_;
    Array<std::int32_t> held_, slot_, holder_, used_;
    Array<std::uint64_t> full_;
    std::size_t words_ = 1;
    Array<Array<std::int32_t>> member_;
    Array<double> top_;
};

}  // namespace conset
