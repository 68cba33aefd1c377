// BundleTable: the bundles of a program while a search changes it, with the work that they are.
//
// A slot is a pair of ranks in a stage; it holds a bundle or is empty. Pairs are those that have a bundle at the start.
// Parts stand in linked lists by slot, so that whole bundles move in O(parts).
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/combining/merge.hpp"
#include "conset/rows.hpp"

namespace conset {

class BundleTable {
public:
    static constexpr std::int32_t kNone = -1;

    struct Window {
        std::int32_t first, end;  // stages in which a bundle could go, by its parts' other hops
    };

    // What a slot holds; `forwarded` parts have another target than its receiver.
    struct Content {
        std::int64_t bytes = 0;
        std::int32_t parts = 0, forwarded = 0;

        Content operator+(const Content& other) const {
            return {bytes + other.bytes, parts + other.parts, forwarded + other.forwarded};
        }
    };

    BundleTable(View<const std::int32_t> positions, std::int32_t stages, View<const std::int64_t> size,
                std::int32_t ranks, const BundleCosts& costs);

    std::int32_t stages() const { return stages_; }
    std::int32_t ranks() const { return ranks_; }
    std::int32_t slot(std::int32_t pair, std::int32_t stage) const { return pair * stages_ + stage; }
    std::int32_t stage_of(std::int32_t slot) const { return slot % stages_; }
    std::int32_t pair_of(std::int32_t slot) const { return slot / stages_; }
    std::int32_t source(std::int32_t pair) const { return source_[pair]; }
    std::int32_t target(std::int32_t pair) const { return target_[pair]; }
    const Content& content(std::int32_t slot) const { return content_[slot]; }
    bool holds(std::int32_t slot) const { return content_[slot].parts > 0; }
    bool alive(std::int32_t pair) const { return bundles_[pair] > 0; }

    // The pair of two ranks, kNone where they have none. O(1).
    std::int32_t find(std::int32_t source, std::int32_t target) const;
    View<const std::int32_t> from(std::int32_t rank) const { return from_.of(rank); }
    View<const std::int32_t> to(std::int32_t rank) const { return to_.of(rank); }

    // Looks at its parts where they changed since it was asked for last.
    Window window(std::int32_t slot);

    double send_s(const Content& content) const;
    double receive_s(const Content& content) const;
    std::int32_t receive_turn(std::int32_t stage, const Content& content) const {
        return content.forwarded > 0 ? stage + 1 : stages_;
    }
    // How many bundles a rank sends or receives in a stage.
    std::int32_t touching(std::int32_t rank, std::int32_t stage) const { return touching_[cell(rank, stages_, stage)]; }
    double load(std::int32_t rank, std::int32_t turn) const { return load_[cell(rank, stages_ + 1, turn)]; }
    double peak(std::int32_t rank) const;
    const BundleCosts& costs() const { return costs_; }

    // All parts of a bundle go into another slot of the same pair.
    void retime(std::int32_t from, std::int32_t to);
    // All parts of a bundle go by two others, the first of which ends where the second begins, in an earlier stage.
    void relay(std::int32_t slot, std::int32_t first, std::int32_t second);

    Array<std::int32_t> positions(View<const std::int32_t> before) const;

private:
    void number_pairs(View<const std::int32_t> positions);
    void fill_table();
    void put(std::int32_t part, std::int32_t slot);
    void book(std::int32_t slot, double sign);
    void count_in(std::int32_t slot, std::int32_t change);
    Array<std::int32_t> take(std::int32_t slot);
    void add(const Array<std::int32_t>& parts, std::int32_t slot);
    template <class Change>
    void change(std::int32_t slot, Change&& body);
    void forget_windows(std::int32_t part);
    std::size_t hop(std::int32_t part, std::int32_t stage) const { return cell(part, stages_, stage); }

    std::int32_t stages_, ranks_;
    BundleCosts costs_;
    View<const std::int64_t> size_;
    Array<std::int32_t> target_of_;                  // by part
    Array<std::int32_t> slot_of_, next_;             // by part and stage
    Array<std::int32_t> source_, target_, bundles_;  // by pair
    Rows from_, to_;
    Array<std::int32_t> table_;  // pairs by hash of their ranks
    Array<Content> content_;     // by slot
    Array<std::int32_t> head_;
    Array<Window> window_;
    Array<std::int32_t> touching_;  // by rank and stage: bundles
    Array<double> load_;            // by rank and turn [s]
};

}  // namespace conset
