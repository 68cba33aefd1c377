#include "sequence.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace conset::preload {
namespace {

Array<std::int32_t> expanded(const std::string& text) {
    Array<std::int32_t> all;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const auto star = word.find('*');
        Array<std::int32_t> rows;
        std::istringstream parts(word.substr(0, star));
        for (std::string part; std::getline(parts, part, ',');) rows.push_back(std::stoi(part));
        for (int k = std::stoi(word.substr(star + 1)); k > 0; --k) all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

std::string text_of(const Array<std::int32_t>& rows) {
    Sequence sequence;
    for (const std::int32_t row : rows) EXPECT_TRUE(sequence.add(row));
    return sequence.text();
}

TEST(Sequence, says_what_came_whatever_it_was) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        Array<std::int32_t> rows;
        const int kinds = 1 + static_cast<int>(random() % 5);
        while (rows.size() < random() % 600) {
            Array<std::int32_t> period(1 + random() % 9);
            for (std::int32_t& row : period) row = static_cast<std::int32_t>(random() % static_cast<unsigned>(kinds));
            for (auto times = random() % 40; times > 0; --times) rows.insert(rows.end(), period.begin(), period.end());
            rows.resize(rows.size() - random() % std::min<std::size_t>(period.size(), rows.size() + 1));
        }
        EXPECT_EQ(expanded(text_of(rows)), rows);
    }
}

TEST(Sequence, is_short_where_calls_repeat) {
    Array<std::int32_t> cycle, runs;
    for (int k = 0; k < 100'000; ++k) cycle.push_back(k % 4);
    for (int k = 0; k < 30'000; ++k) runs.push_back(k % 3 == 2 ? 1 : 0);
    EXPECT_EQ(text_of(cycle), "0,1,2,3*25000");
    EXPECT_EQ(text_of(runs), "0,0,1*10000");
    EXPECT_EQ(text_of({5, 5, 5}), "5*3");
    EXPECT_EQ(text_of({}), "");
}

TEST(Sequence, is_full_at_some_time_and_says_so) {
    Sequence sequence;
    std::mt19937 random(1);
    bool whole = true;
    for (int k = 0; k < 1'000'000 && whole; ++k) whole = sequence.add(static_cast<std::int32_t>(random() % 1000));
    EXPECT_FALSE(whole);
    EXPECT_FALSE(sequence.add(0));
    EXPECT_LT(sequence.text().size(), 4U << 20);
}

}  // namespace
}  // namespace conset::preload
