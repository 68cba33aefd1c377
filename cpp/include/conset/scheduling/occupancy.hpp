// Occupancy: in which phases each resource is full, as rows of bits that grow with the phases.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/bits.hpp"

namespace conset {

class Occupancy {
public:
    std::int32_t rows() const { return static_cast<std::int32_t>(capacity_.size()); }

    // A resource that `capacity` messages of a phase may take, or of `group` phases in a row together, from a multiple
    // of `group` on. Rows are cheaper before the first message.
    std::int32_t add_row(std::int32_t capacity, std::int32_t group = 1) {
        capacity_.push_back(capacity);
        group_.push_back(group);
        first_open_.push_back(0);
        counter_.push_back(capacity > 1 ? counters_++ : kNoCounter);
        if (capacity > 1) widen(static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(capacity))));
        if (words_ > 0) {
            full_.resize(capacity_.size() * stride(), 0);
            used_.resize(static_cast<std::size_t>(counters_) * words_ * planes_, 0);
        }
        return rows() - 1;
    }

    // The first phase from `start` on in which none of `rows` is full.
    std::int32_t find(View<const std::int32_t> rows, std::int32_t start) const {
        std::size_t word = word_of(start);
        for (const std::int32_t row : rows) word = std::max(word, static_cast<std::size_t>(first_open_[row]));
        std::uint64_t below = word == word_of(start) ? bit_of(start) - 1 : 0;
        for (; word < words_; word += kBlock, below = 0) {
            std::array<std::uint64_t, kBlock> taken{below};
            for (const std::int32_t row : rows) {
                const std::uint64_t* bits = full_.data() + static_cast<std::size_t>(row) * stride() + word;
                for (std::size_t k = 0; k < kBlock; ++k) taken[k] |= bits[k];
            }
            for (std::size_t k = 0; k < kBlock; ++k)
                if (~taken[k] != 0) return static_cast<std::int32_t>((word + k) * 64) + std::countr_one(taken[k]);
        }
        return std::max(start, static_cast<std::int32_t>(word * 64));
    }

    bool full(std::int32_t row, std::int32_t phase) const {
        const std::size_t word = word_of(phase);
        return word < words_ && (full_[cell(row, stride(), word)] & bit_of(phase)) != 0;
    }

    // One more message takes `row` in `phase`, in which it must not be full.
    void take(std::int32_t row, std::int32_t phase) {
        const std::int32_t group = group_[row], first = group == 1 ? phase : phase - phase % group;
        if (capacity_[row] > 1 && !count(row, first)) return;
        for (std::int32_t k = 0; k < group; ++k) mark(row, first + k);
    }

    // One message less takes `row` in `phase`, in which it was taken.
    void release(std::int32_t row, std::int32_t phase) {
        const std::int32_t group = group_[row], first = group == 1 ? phase : phase - phase % group;
        if (capacity_[row] > 1) uncount(row, first);
        for (std::int32_t k = first; k < first + group && word_of(k) < words_; ++k)
            full_[cell(row, stride(), word_of(k))] &= ~bit_of(k);
        first_open_[row] = std::min(first_open_[row], static_cast<std::int32_t>(word_of(first)));
    }

    // From now on `row` is full in `phase`.
    void mark(std::int32_t row, std::int32_t phase) {
        const std::size_t word = word_of(phase);
        if (word >= words_) grow(word + 1);
        std::uint64_t* bits = full_.data() + static_cast<std::size_t>(row) * stride();
        bits[word] |= bit_of(phase);
        std::int32_t& open = first_open_[row];
        while (static_cast<std::size_t>(open) < words_ && ~bits[open] == 0) ++open;
    }

private:
    static constexpr std::size_t kBlock = 4;  // words looked at together
    static constexpr std::int32_t kNoCounter = -1;

    // Rows end in a block of zeros, so that a block may be read from any word.
    std::size_t stride() const { return words_ + kBlock; }

    // Counts in binary, one bit plane after the other, 64 phases a word; whether the capacity is reached.
    bool count(std::int32_t row, std::int32_t phase) {
        const std::size_t word = word_of(phase);
        if (word >= words_) grow(word + 1);
        std::uint64_t* plane = used_.data() + (static_cast<std::size_t>(counter_[row]) * words_ + word) * planes_;
        std::uint64_t carry = bit_of(phase);
        for (std::size_t k = 0; k < planes_ && carry != 0; ++k) {
            const std::uint64_t before = plane[k];
            plane[k] ^= carry;
            carry &= before;
        }
        const auto capacity = static_cast<std::uint32_t>(capacity_[row]);
        for (std::size_t k = 0; k < planes_; ++k)
            if (((plane[k] & bit_of(phase)) != 0) != ((capacity >> k & 1U) != 0)) return false;
        return true;
    }

    // Counts down; the count is above 0.
    void uncount(std::int32_t row, std::int32_t phase) {
        std::uint64_t* plane =
            used_.data() + (static_cast<std::size_t>(counter_[row]) * words_ + word_of(phase)) * planes_;
        std::uint64_t borrow = bit_of(phase);
        for (std::size_t k = 0; k < planes_ && borrow != 0; ++k) {
            const std::uint64_t before = plane[k];
            plane[k] ^= borrow;
            borrow &= ~before;
        }
    }

    // Counters of at least so many bits.
    void widen(std::size_t planes) {
        if (planes <= planes_) return;
        Array<std::uint64_t> used(used_.size() / std::max<std::size_t>(planes_, 1) * planes, 0);
        for (std::size_t k = 0; planes_ > 0 && k < used_.size() / planes_; ++k)
            std::copy_n(used_.data() + k * planes_, planes_, used.data() + k * planes);
        used_ = std::move(used);
        planes_ = planes;
    }

    // Room for `words` words and a quarter more, rows copied one by one.
    void grow(std::size_t words) {
        const std::size_t room = words + words / 4 + 1, old_stride = stride(), kept = words_;
        Array<std::uint64_t> used(static_cast<std::size_t>(counters_) * room * planes_, 0);
        for (std::size_t k = 0; k < static_cast<std::size_t>(counters_); ++k)
            std::copy_n(used_.data() + k * kept * planes_, kept * planes_, used.data() + k * room * planes_);
        used_ = std::move(used);
        words_ = room;
        Array<std::uint64_t> full(capacity_.size() * stride(), 0);
        for (std::size_t row = 0; row < capacity_.size(); ++row)
            std::copy_n(full_.data() + row * old_stride, kept, full.data() + row * stride());
        full_ = std::move(full);
    }

    Array<std::int32_t> capacity_, group_, counter_, first_open_;
    Array<std::uint64_t> full_, used_;
    std::size_t words_ = 0, planes_ = 0;
    std::int32_t counters_ = 0;
};

}  // namespace conset
