// Orbit packing: what is returned fits; what cannot fit is not returned.
#include "conset/scheduling/complete_exchange/orbit_packing.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "instances.hpp"

namespace conset {
namespace {

using testing_::Ints;

const Cooling cooling{1, 0.15, 200'000};

TEST(OrbitPacking, FillsBinsToTheBrim) {
    // 6+6, 7+5, 5+4+3, 8+4, 9+3: five bins of 12 with nothing left over.
    const Ints load{6, 6, 7, 5, 5, 4, 3, 8, 4, 9, 3}, capacity(5, 12);
    const Ints bin = pack_orbits(1, load, capacity, cooling, 3);
    ASSERT_EQ(bin.size(), load.size());
    Ints use(5, 0);
    for (std::size_t i = 0; i < load.size(); ++i) use[bin[i]] += load[i];
    EXPECT_EQ(use, capacity);
}

TEST(OrbitPacking, KeepsEveryRow) {
    Random random(4);
    constexpr std::size_t items = 60, rows = 4, bins = 12;
    Ints load(items * rows), capacity(bins * rows);
    for (auto& value : load) value = static_cast<std::int32_t>(random.below(5));
    for (std::size_t r = 0; r < rows; ++r) {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < items; ++i) sum += load[i * rows + r];
        for (std::size_t b = 0; b < bins; ++b) capacity[b * rows + r] = sum / static_cast<std::int32_t>(bins) + 2;
    }
    const Ints bin = pack_orbits(rows, load, capacity, {1, 0.15, 2'000'000}, 1);
    ASSERT_EQ(bin.size(), items);
    Ints use(capacity.size(), 0);
    for (std::size_t i = 0; i < items; ++i)
        for (std::size_t r = 0; r < rows; ++r) use[static_cast<std::size_t>(bin[i]) * rows + r] += load[i * rows + r];
    for (std::size_t k = 0; k < use.size(); ++k) EXPECT_LE(use[k], capacity[k]);
    EXPECT_EQ(bin, pack_orbits(rows, load, capacity, {1, 0.15, 2'000'000}, 1));
}

TEST(OrbitPacking, SaysWhenItFindsNothing) {
    EXPECT_TRUE(pack_orbits(1, Ints{7, 7, 7}, Ints{12, 12}, cooling, 0).empty());
    EXPECT_TRUE(pack_orbits(1, Ints{13}, Ints{12}, cooling, 0).empty());
}

TEST(OrbitPacking, BinsMayDiffer) {
    const Ints bin = pack_orbits(2, Ints{1, 5, 5, 1}, Ints{1, 5, 5, 1}, cooling, 0);
    EXPECT_EQ(bin, (Ints{0, 1}));
}

}  // namespace
}  // namespace conset
