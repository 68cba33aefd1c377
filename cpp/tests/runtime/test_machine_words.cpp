// Machines in words: bare networks as Python numbers them, and what is refused.
#include <gtest/gtest.h>

#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {
namespace {

TEST(MachineWords, BuildsBareNetworks) {
    const MachineData torus = machine_in_words("torus:4x5", 3);
    EXPECT_EQ(torus.shape, Shape::torus);
    EXPECT_EQ(torus.endpoints(), 20);
    EXPECT_TRUE(torus.wraps);
    EXPECT_EQ(torus.network.hops(0, 4), 1);   // around the side of 5
    EXPECT_EQ(torus.network.hops(0, 15), 1);  // around the side of 4
    const MachineData mesh = machine_in_words("mesh:4x5", 3);
    EXPECT_FALSE(mesh.wraps);
    EXPECT_EQ(mesh.network.hops(0, 4), 4);
    EXPECT_EQ(machine_in_words("hypercube:4", 3).network.hops(0, 15), 4);
    EXPECT_EQ(machine_in_words("ring:9", 3).network.hops(0, 8), 1);
    EXPECT_EQ(machine_in_words("crossbar:6", 3).network.link_slots(), 0);
    EXPECT_EQ(machine_in_words("", 7).name, "crossbar:7");
}

TEST(MachineWords, ABarrierTakesTheLogarithmOfTheNodes) {
    EXPECT_DOUBLE_EQ(machine_in_words("mesh:4x4", 1).costs.barrier, 8e-6);
    EXPECT_DOUBLE_EQ(machine_in_words("hypercube:0", 1).costs.barrier, 0);
    EXPECT_FALSE(machine_in_words("mesh:4x4", 1).costs.half_duplex());
}

TEST(MachineWords, RefusesWhatIsNone) {
    for (const char* text : {"mesh", "mesh:", "mesh:4x", "mesh:x4", "mesh:0", "mesh:-1", "mesh:4x4,width=2", "ring:3x3",
                             "hypercube:21", "torus:99999999999", "torus:2048x2048", "paragon:8x8", "net.graphml"}) {
        try {
            machine_in_words(text, 4);
            ADD_FAILURE() << text;
        } catch (const Failure& failure) {
            EXPECT_EQ(failure.code, Code::argument) << text;
            EXPECT_NE(std::string(failure.what()).find(text), std::string::npos);
        }
    }
    try {
        machine_in_words("/nowhere/x.machine", 4);
        ADD_FAILURE();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, Code::file);
    }
}

TEST(CostSteps, AddAtAllSizes) {
    const CostSteps one{{100, kUnlimited}, {1, 2}}, other{{50, 200, kUnlimited}, {10, 20, 30}};
    const CostSteps sum = one + other;
    EXPECT_EQ(sum.at(50), 11);
    EXPECT_EQ(sum.at(51), 21);
    EXPECT_EQ(sum.at(101), 22);
    EXPECT_EQ(sum.at(1e12), 32);
    EXPECT_EQ(sum.up_to.size(), 4U);
}

}  // namespace
}  // namespace conset
