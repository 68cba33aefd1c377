#include <array>
#include <charconv>
#include <cmath>

#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

constexpr std::int64_t kMaxNodes = std::int64_t{1} << 20;  // as of every regular network (conset/network/topology.py)

struct Kind {
    std::string_view name;
    Shape shape;
};
constexpr std::array kKinds{Kind{"mesh", Shape::mesh}, Kind{"torus", Shape::torus}, Kind{"ring", Shape::ring},
                            Kind{"hypercube", Shape::hypercube}, Kind{"crossbar", Shape::crossbar}};

[[noreturn]] void refuse(std::string_view text, const std::string& rule) {
    throw Failure(Code::argument, "machine '" + std::string(text) + "': " + rule);
}

Shape shape_of(std::string_view text, std::string_view name) {
    for (const Kind& kind : kKinds)
        if (kind.name == name) return kind.shape;
    refuse(text,
           "must be mesh:AxB, torus:AxB, ring:N, hypercube:D, crossbar:N or a file that ends in .machine; presets, "
           "options and other files become one by `conset machines X -o x.machine`");
}

// `8x8` as numbers.
Array<std::int32_t> sizes_of(std::string_view text, std::string_view sizes, bool zero) {
    Array<std::int32_t> result;
    for (std::size_t begin = 0; begin <= sizes.size();) {
        const std::size_t end = std::min(sizes.find('x', begin), sizes.size());
        const std::string_view part = sizes.substr(begin, end - begin);
        std::int32_t size = -1;
        const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), size);
        if (error != std::errc() || last != part.data() + part.size() || size < (zero ? 0 : 1))
            refuse(text, "sizes are whole numbers of at least 1 joined by x, as in mesh:4x4, given '" +
                             std::string(sizes) + "'");
        result.push_back(size);
        begin = end + 1;
    }
    return result;
}

// Those of conset/machine/spec.py, which a test compares.
MachineCosts bare_costs(std::int32_t endpoints) {
    MachineCosts costs;
    costs.port_out = costs.port_in = costs.link = 25e9;
    costs.inject.seconds = costs.eject.seconds = {500e-9};
    costs.hop.seconds = {100e-9};
    costs.signal = 1e-6;
    costs.barrier = 2e-6 * std::log2(endpoints);
    return costs;
}

Network network_of(std::string_view text, Shape shape, const Array<std::int32_t>& sizes) {
    if (shape == Shape::mesh || shape == Shape::torus || shape == Shape::ring)
        return Network::box(sizes, shape != Shape::mesh, Tie::parity);
    if (shape == Shape::crossbar) return Network::crossbar(sizes[0]);
    if (sizes[0] > 20) refuse(text, "a hypercube has at most 20 dimensions");
    return Network::hypercube(sizes[0]);
}

MachineData bare_network(std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const Shape shape = shape_of(text, text.substr(0, colon));
    if (text.find(',') != std::string_view::npos)
        refuse(text,
               "takes no options here; `conset machines '" + std::string(text) + "' -o x.machine` makes a file of it");
    if (colon >= text.size()) refuse(text, "a size is required, as in mesh:4x4 or ring:9");
    const Array<std::int32_t> sizes = sizes_of(text, text.substr(colon + 1), shape == Shape::hypercube);
    if (shape != Shape::mesh && shape != Shape::torus && sizes.size() != 1)
        refuse(text, "has one size, given " + std::to_string(sizes.size()));
    std::int64_t nodes = 1;
    if (shape != Shape::hypercube)
        for (const std::int32_t size : sizes) nodes = std::min(kMaxNodes + 1, nodes * size);
    if (nodes > kMaxNodes) refuse(text, "has more than " + std::to_string(kMaxNodes) + " nodes");
    MachineData machine{.name = std::string(text),
                        .shape = shape,
                        .wraps = shape == Shape::torus || shape == Shape::ring,
                        .network = network_of(text, shape, sizes),
                        .width = {1},
                        .link_rate = {},
                        .dateline = {},
                        .limits = {},
                        .limits_methods = {},
                        .costs = {},
                        .method_costs = {}};
    machine.costs = bare_costs(machine.endpoints());
    return machine;
}

}  // namespace

MachineData machine_in_words(std::string_view text, std::int32_t ranks, std::int32_t ranks_per_node) {
    if (ranks_per_node < 1)
        throw Failure(Code::argument, "ranks_per_node " + std::to_string(ranks_per_node) + ": must be at least 1");
    const std::string crossbar = "crossbar:" + std::to_string((ranks - 1) / ranks_per_node + 1);
    MachineData machine = text.ends_with(".machine") ? read_machine_file(std::string(text))
                                                     : bare_network(text.empty() ? crossbar : text);
    if (machine.placement.empty() && ranks_per_node > 1)
        for (std::int32_t rank = 0; rank < ranks; ++rank) machine.placement.push_back(rank / ranks_per_node);
    return machine;
}

Limits MachineData::hard_limits(std::string_view method) const {
    if (limits_methods.empty()) return limits;
    const bool held = std::find(limits_methods.begin(), limits_methods.end(), method) != limits_methods.end();
    return held ? limits : Limits{};
}

const MachineCosts& MachineData::costs_for(std::string_view method) const {
    for (const auto& [known, own] : method_costs)
        if (known == method) return own;
    return costs;
}

}  // namespace conset
