// What the switches are told: a text of lines, written by conset_testbed.
//
//   discipline credit|fair      buffer BYTES      latency NANOSECONDS      store-and-forward 0|1
//   nodes ENDPOINTS NODES
//   endpoint PATH               once for each endpoint in order: its network namespace
//   link SOURCE TARGET BITS_PER_S
//   next NODE LINK …            for each node: the link towards endpoint 0, 1, …; -1: none
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "switches.hpp"

namespace conset::testbed {

struct Description {
    Network network;
    Options options;
    std::vector<std::string> namespaces;
};

// Throws std::invalid_argument, with the number of the line, where the text is none.
Description read_description(std::istream& text);

// Addresses of a bed: 250 endpoints in each of the 256 blocks of 10.77.0.0/16; -1: none of its endpoints.
std::int32_t endpoint_of_address(std::uint32_t address, std::int32_t endpoints);

}  // namespace conset::testbed
