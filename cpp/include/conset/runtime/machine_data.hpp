// A machine without Python: a bare network in words, or a flat file (kind conset/machine@1) that
// `conset machines X -o x.machine` wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "conset/array.hpp"
#include "conset/combining/boxes.hpp"
#include "conset/network/network.hpp"
#include "conset/runtime/machine_costs.hpp"
#include "conset/scheduling/resources.hpp"

namespace conset {

enum class Shape : std::uint8_t { mesh, torus, ring, hypercube, crossbar, graph };

// Limits and costs as the models of the core take them, and where ranks are.
struct MachineData {
    std::string name;
    Shape shape = Shape::crossbar;
    bool wraps = false;  // routes take the links that close cycles
    Network network;
    Array<std::int32_t> width;          // of links: by slot, or one for all
    Array<double> link_rate;            // by slot and unit of width [B/s]; empty: that of the costs
    Array<std::uint8_t> dateline;       // of a graph, by slot: whether a route goes on in the next pool; empty: none
    Limits limits;                      // hard ones
    Array<std::string> limits_methods;  // whom they hold for; empty: all
    MachineCosts costs;
    Array<std::pair<std::string, MachineCosts>> method_costs;  // of methods that run another way
    Array<std::int32_t> placement{};                           // node of each rank; empty: rank r is on node r

    std::int32_t endpoints() const { return network.endpoints(); }
    std::int32_t node_of(std::int32_t rank) const { return placement.empty() ? rank : placement[rank]; }
    std::int32_t crowd() const { return ranks_on_nodes(placement).crowd; }  // most ranks of a node
    Limits hard_limits(std::string_view method) const;
    const MachineCosts& costs_for(std::string_view method) const;
};

// `mesh:4x4`, `torus:4x4`, `ring:9`, `hypercube:4`, `crossbar:16` with the costs of a bare network; a crossbar that
// holds the ranks where the text is empty; a path where it ends in `.machine`. Rank r is on node r / ranks_per_node
// unless the file says where. Throws Failure: Code::argument, Code::file.
MachineData machine_in_words(std::string_view text, std::int32_t ranks, std::int32_t ranks_per_node = 1);

// Throws Failure (Code::file) that names the file, what is wrong and the rule.
MachineData read_machine_file(const std::string& path);

}  // namespace conset
