// What the switches of a testbed are told.
#include "description.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

namespace conset::testbed {
namespace {

const std::string sound =
    "discipline fair\nbuffer 5000\nlatency 250\nstore-and-forward 1\nnodes 2 3\n"
    "endpoint /run/netns/with space\nendpoint /run/netns/b\n"
    "link 0 2 20000000\nlink 1 2 1e6\nlink 2 0 20000000\nlink 2 1 1e6\n\n"
    "next 0 -1 0\nnext 1 1 -1\nnext 2 2 3\n";

Description read(const std::string& text) {
    std::istringstream stream(text);
    return read_description(stream);
}

TEST(Description, SaysNetworkAndOptions) {
    const Description what = read(sound);
    EXPECT_EQ(what.options.discipline, Discipline::fair);
    EXPECT_EQ(what.options.buffer_bytes, 5000);
    EXPECT_EQ(what.options.latency, 250);
    EXPECT_TRUE(what.options.store_and_forward);
    EXPECT_EQ(what.namespaces, (std::vector<std::string>{"/run/netns/with space", "/run/netns/b"}));
    ASSERT_EQ(what.network.links.size(), 4);
    EXPECT_EQ(what.network.links[1].bits_per_s, 1e6);
    EXPECT_EQ(what.network.next, (Array<std::int32_t>{-1, 0, 1, -1, 2, 3}));
}

TEST(Description, AnErrorNamesItsLine) {
    for (const auto& [wrong, line] : {std::pair{"colour red\n", "line 1"},
                                      {"nodes 2 3\nnext 3 0 0\n", "line 2"},
                                      {"\nnodes 5 3\n", "line 2"},
                                      {"nodes 2 3\nlink 0 1\n", "line 2"},
                                      {"discipline unfair\n", "line 1"},
                                      {"buffer x\n", "line 1"}}) {
        try {
            read(wrong);
            ADD_FAILURE() << wrong;
        } catch (const std::invalid_argument& error) {
            EXPECT_EQ(std::string(error.what()).rfind(line, 0), 0U) << error.what();
        }
    }
    EXPECT_THROW(read("nodes 2 2\nendpoint a\n"), std::invalid_argument);
}

TEST(Description, AddressesAreThoseOfEndpoints) {
    const auto address = [](std::uint32_t third, std::uint32_t fourth) {
        return 10U << 24U | 77U << 16U | third << 8U | fourth;
    };
    EXPECT_EQ(endpoint_of_address(address(0, 1), 16), 0);
    EXPECT_EQ(endpoint_of_address(address(0, 16), 16), 15);
    EXPECT_EQ(endpoint_of_address(address(0, 17), 16), -1);
    EXPECT_EQ(endpoint_of_address(address(0, 0), 16), -1);
    EXPECT_EQ(endpoint_of_address(address(0, 251), 1000), -1);
    EXPECT_EQ(endpoint_of_address(address(1, 1), 1000), 250);
    EXPECT_EQ(endpoint_of_address(10U << 24U | 78U << 16U | 1U, 16), -1);
    EXPECT_EQ(endpoint_of_address(0, 16), -1);
}

}  // namespace
}  // namespace conset::testbed
