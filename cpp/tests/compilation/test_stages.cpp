// Directly or in stages, on ways whose times stand in tables: what is searched, in which order, and what is chosen.
// Expected orders are derived by hand.
#include "conset/compilation/stages.hpp"

#include <gtest/gtest.h>

#include <string>

#include "conset/stop.hpp"

namespace conset {
namespace {

struct Way {
    double estimated_s = 0, posted_s = 0, time_s = 0;
    std::int64_t bundles = 1, memory = 0;
    bool mixes = false;
    int paths = -1;  // ways with one number take the same paths
};

// Asked for: `?` the ways, `p0` way 0 posted at once, `0` its search, `+` kept, `d` direct messages, `l` their least.
class Tables final : public StageEvaluator {
public:
    Array<Way> table;
    double direct_estimated_s = 10;
    std::optional<double> direct_s = 10;
    double direct_least_s = 1;
    bool stops = false;  // when something was kept

    std::string asked;
    double rival = 0;

    std::pair<Array<EstimatedWay>, double> ways() override {
        asked += "?";
        Array<EstimatedWay> all;
        for (const Way& way : table) all.push_back({way.estimated_s, way.bundles, way.memory, way.mixes});
        return {all, direct_estimated_s};
    }
    bool same(std::size_t way, std::size_t other) override {
        return table[way].paths >= 0 && table[way].paths == table[other].paths;
    }
    double posted_s(std::size_t way) override {
        asked += "p" + std::to_string(way);
        return table[way].posted_s;
    }
    std::optional<double> along(std::size_t way, double beat_s) override {
        asked += std::to_string(way);
        if (table[way].time_s > beat_s) return std::nullopt;
        return table[way].time_s;
    }
    void keep() override {
        asked += "+";
        if (stops) ask_stop();
    }
    std::optional<double> direct(double rival_s) override {
        asked += "d";
        rival = rival_s;
        return direct_s;
    }
    double least_s() override {
        asked += "l";
        return direct_least_s;
    }
};

StageDecision choose(Tables& tables, const StageQuestion& question = {.messages = 100}) {
    reset_search();
    const StageDecision found = choose_stages(tables, question);
    reset_search();
    return found;
}

TEST(Stages, WhatIsEstimatedToBeFasterByFarIsSearchedFirst) {
    Tables tables;
    tables.table = {{.estimated_s = 6, .posted_s = 3, .time_s = 9}, {.estimated_s = 4, .posted_s = 2, .time_s = 8}};
    const StageDecision found = choose(tables);
    EXPECT_EQ(tables.asked, "?p1p01+0d");
    EXPECT_EQ(tables.rival, 8);
    EXPECT_EQ(found.way, 1U);
    EXPECT_EQ(found.direct_s, 10);
    EXPECT_EQ(found.tried, (Array<std::pair<std::size_t, double>>{{1, 8}, {0, kNever}}));
}

TEST(Stages, ElseDirectMessagesAreAndMustBeBeatenByFivePercent) {
    Tables tables;
    tables.table = {{.estimated_s = 6, .posted_s = 3, .time_s = 9.6}};
    EXPECT_EQ(choose(tables).way, std::nullopt);
    EXPECT_EQ(tables.asked, "?dp00");
    EXPECT_EQ(tables.rival, kNever);
    tables.table[0].time_s = 9.5;
    EXPECT_EQ(choose(tables).way, 0U);
}

TEST(Stages, MoreEffortHasTimeForBoth) {
    Tables tables;
    tables.table = {{.estimated_s = 1, .posted_s = 1, .time_s = 1}};
    EXPECT_EQ(choose(tables, {.messages = 100, .effort = 2}).way, 0U);
    EXPECT_EQ(tables.asked, "d?p00+");
}

TEST(Stages, WaysAreLeftOutThatAreHopelessOrKnownOrNeedTooMuch) {
    Tables tables;
    tables.table = {{.estimated_s = 15, .posted_s = 15, .time_s = 15},
                    {.estimated_s = 15.1, .posted_s = 1, .time_s = 1},
                    {.estimated_s = 6, .posted_s = 6, .time_s = 12, .paths = 3},
                    {.estimated_s = 7, .posted_s = 5, .time_s = 11, .mixes = true, .paths = 3},
                    {.estimated_s = 8, .posted_s = 4, .time_s = 1, .memory = 101},
                    {.estimated_s = 5, .posted_s = 4, .time_s = 1, .memory = 102}};
    const StageDecision found = choose(tables, {.messages = 100, .memory = 100});
    EXPECT_EQ(found.ways, (Array<std::size_t>{2, 0}));
    EXPECT_EQ(found.left_out, 101);
    EXPECT_EQ(found.way, std::nullopt);
}

TEST(Stages, FourWaysAndTwoMixesAUnitOfEffort) {
    Tables tables;
    for (int k = 0; k < 14; ++k)
        tables.table.push_back({.estimated_s = 6.0 + k, .posted_s = 1, .time_s = 20, .mixes = k % 2 == 1});
    tables.direct_estimated_s = 20;
    EXPECT_EQ(choose(tables).ways, (Array<std::size_t>{0, 1, 2, 3, 4, 6}));
    EXPECT_EQ(choose(tables, {.messages = 100, .effort = 2}).ways.size(), 11U);
}

TEST(Stages, ManyMessagesAreScheduledOnlyWhereTheirLeastTimeIsNotEnough) {
    Tables tables;
    const StageQuestion question{.messages = kLarge + 1};
    tables.table = {{.estimated_s = 6, .posted_s = 8, .time_s = 9, .bundles = kLarge + 1},
                    {.estimated_s = 7, .posted_s = 9.8, .time_s = 9.7},
                    {.estimated_s = 8, .posted_s = 10, .time_s = 1},
                    {.estimated_s = 9.6, .posted_s = 1, .time_s = 1}};
    tables.direct_least_s = 9.5;
    const StageDecision found = choose(tables, question);
    // in the order of estimates; way 2 posted at once is more than 1.1 x 9
    EXPECT_EQ(tables.asked, "?0+p11p2l");
    EXPECT_EQ(found.way, 0U);
    EXPECT_EQ(found.direct_s, 9.5);
    EXPECT_TRUE(found.is_bound);
    tables.asked.clear();
    tables.direct_least_s = 9.4;
    EXPECT_FALSE(choose(tables, question).is_bound);
    EXPECT_EQ(tables.asked, "?0+p11p2ld");
}

TEST(Stages, WhatNoModelSaysIsNotCompared) {
    Tables tables;
    tables.table = {{.estimated_s = 6, .posted_s = 3, .time_s = 1}};
    tables.direct_s.reset();
    EXPECT_EQ(choose(tables).way, std::nullopt);
    EXPECT_EQ(tables.asked, "?d");
}

TEST(Stages, AStopKeepsWhatWasFoundBesideTheLeastTimeOfDirectMessages) {
    Tables tables;
    tables.table = {{.estimated_s = 1, .posted_s = 1, .time_s = 3}, {.estimated_s = 2, .posted_s = 2, .time_s = 1}};
    tables.stops = true;
    const StageDecision found = choose(tables);
    EXPECT_EQ(tables.asked, "?p0p10+l");
    EXPECT_TRUE(found.stopped);
    EXPECT_TRUE(found.is_bound);
    EXPECT_EQ(found.way, 0U);
}

}  // namespace
}  // namespace conset
