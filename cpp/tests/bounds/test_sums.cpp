// Sums of bounds worked out by hand: two messages and one inside a node, on a line of four nodes.
#include "conset/bounds/sums.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace conset {
namespace {

using Ints = Array<std::int32_t>;
using Numbers = Array<double>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

class BoundsSums : public ::testing::Test {
protected:
    // Overheads 1 and 2, latency 10 and 1 for every link, a port 0.5 s/B, a link 1 s/B, copies 4 B/s.
    BoundPrices prices() const {
        return {up_to_, send_, receive_, once_, link_, per_byte_, 0.5,   kInfinite, 4,
                0,      0,     0,        0,     -1,    false,     false, split,     true};
    }
    MessageSums sums() const {
        return sum_messages({network_, node_, to_, {}, {}}, {node_, to_, 4, packed}, size_, {}, prices());
    }

    bool split = false;
    Array<std::uint8_t> packed;

private:
    const Network network_ = Network::box({4}, false, Tie::parity);
    const Ints node_{0, 1, 2}, to_{3, 0, 2};
    const Array<std::int64_t> size_{8, 4, 8};
    const Numbers up_to_{kInfinite}, send_{1}, receive_{2}, once_{10}, link_{1}, per_byte_{1};
};

TEST_F(BoundsSums, AddUpByRankAndNode) {
    const MessageSums found = sums();
    EXPECT_EQ(found.send, (Numbers{1, 1, 1, 0}));
    EXPECT_EQ(found.receive, (Numbers{2, 0, 2, 2}));
    EXPECT_EQ(found.held, (Numbers{1 + 13 + 8, 1 + 11 + 4, 1 + 2, 0}));
    EXPECT_EQ(found.sends, (Array<std::int64_t>{1, 1, 0, 0}));  // what stays in its node is no message at a port
    EXPECT_EQ(found.receives, (Array<std::int64_t>{1, 0, 0, 1}));
    EXPECT_EQ(found.out, (Numbers{8, 4, 0, 0}));
    EXPECT_EQ(found.in, (Numbers{4, 0, 0, 8}));
    EXPECT_TRUE(found.weighed_out.empty());
}

TEST_F(BoundsSums, LeadInAndOut) {
    const MessageSums found = sums();
    EXPECT_EQ(found.leaving.into, (Numbers{14, 12, kInfinite, kInfinite}));
    EXPECT_EQ(found.entering.out, (Numbers{2, kInfinite, kInfinite, 2}));
    EXPECT_EQ(found.links.into, (Numbers{14, kInfinite, 14, 12, 14, kInfinite, kInfinite, kInfinite}));
    EXPECT_EQ(found.first, 12);
    EXPECT_EQ(found.longest, 1 + 13 + 8 + 2);
    EXPECT_EQ(found.longest_at, 0);
    EXPECT_EQ(found.least, 1 + 2 + 2);
}

TEST_F(BoundsSums, PartsKeepSlotsAloneBusy) {
    split = true;
    const MessageSums found = sums();
    EXPECT_EQ(found.held, (Numbers{1 + 13 + 8, 1 + 11 + 4, 1 + 2, 0}));
    EXPECT_EQ(found.longest, 1 + 13 + 2);
}

TEST_F(BoundsSums, WhatIsPackedIsCopiedAtBothEnds) {
    packed = {1, 0, 1};
    const MessageSums found = sums();
    EXPECT_EQ(found.send, (Numbers{1 + 2, 1, 1 + 2, 0}));
    EXPECT_EQ(found.receive, (Numbers{2, 0, 2 + 2, 2 + 2}));
    EXPECT_EQ(found.held, (Numbers{1 + 2 + 13 + 8, 1 + 11 + 4, 1 + 2 + 2, 0}));
    EXPECT_EQ(found.leaving.into, (Numbers{14 + 2, 12, kInfinite, kInfinite}));
    EXPECT_EQ(found.entering.out, (Numbers{2, kInfinite, kInfinite, 2 + 2}));
    EXPECT_EQ(found.longest, 1 + 13 + 8 + 2 + 4);
    EXPECT_EQ(found.least, 1 + 2 + 2 + 4);
}

TEST_F(BoundsSums, PartsOfAPackedMessageAreCopiedTogether) {
    packed = {1, 0, 1};
    split = true;
    const MessageSums found = sums();
    EXPECT_EQ(found.send, (Numbers{1 + 2, 1, 1 + 2, 0}));
    EXPECT_EQ(found.receive, (Numbers{2, 0, 2 + 2, 2 + 2}));
    EXPECT_EQ(found.held, (Numbers{1 + 2 + 13 + 8, 1 + 11 + 4, 1 + 2 + 2, 0}));
    EXPECT_EQ(found.leaving.into, (Numbers{14, 12, kInfinite, kInfinite}));
    EXPECT_EQ(found.longest, 1 + 13 + 2);
}

}  // namespace
}  // namespace conset
