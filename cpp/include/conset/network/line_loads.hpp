// Loads of links and channels by the lines of a box: of one phase, and messages and bytes of a whole pattern.
//
// Complexity: O(messages * dimensions + links), where walking routes takes O(sum of hops).
#pragma once

#include "conset/network/box_lines.hpp"
#include "conset/network/profile.hpp"

namespace conset {

// Largest loads of one phase after the other.
class LineLoads {
public:
    explicit LineLoads(const Network& network);
    LineLoads(const LineLoads&) = delete;
    LineLoads& operator=(const LineLoads&) = delete;

    void add(std::int32_t s, std::int32_t t) {
        sums_.add(s, t, 1);
        ++visits_[s];
    }

    struct Largest {
        std::int32_t link, channels;
    };
    // Of what was added since the last call; loads of links per unit of `width`, by slot or single.
    Largest largest_then_clear(View<const std::int32_t> width);

private:
    std::int32_t largest_link(View<const std::int32_t> width) const;
    void add_arrivals();

    BoxLines lines_;
    LineSums<std::int32_t> sums_;
    Array<std::int32_t> visits_;  // routes through each node
};

// As `count_totals`.
Totals count_line_totals(const Routes& routes, View<const std::int64_t> size);

}  // namespace conset
