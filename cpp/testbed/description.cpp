#include "description.hpp"

#include <sstream>
#include <stdexcept>

namespace conset::testbed {

namespace {

constexpr std::int32_t most_nodes = 1 << 16;
constexpr std::uint32_t first_address = 10U << 24U | 77U << 16U;
constexpr std::uint32_t per_block = 250;

template <class T>
T word(std::istream& line) {
    T value{};
    if (!(line >> value)) throw std::invalid_argument("a value is missing or no number");
    return value;
}

void read_line(const std::string& key, std::istream& line, Description& what) {
    Network& network = what.network;
    if (key == "discipline") {
        const auto name = word<std::string>(line);
        if (name != "credit" && name != "fair") throw std::invalid_argument("discipline: credit or fair");
        what.options.discipline = name == "credit" ? Discipline::credit : Discipline::fair;
    } else if (key == "buffer") {
        what.options.buffer_bytes = word<std::int64_t>(line);
    } else if (key == "latency") {
        what.options.latency = word<Nanoseconds>(line);
    } else if (key == "store-and-forward") {
        what.options.store_and_forward = word<int>(line) != 0;
    } else if (key == "nodes") {
        network.endpoints = word<std::int32_t>(line);
        network.nodes = word<std::int32_t>(line);
        if (network.endpoints < 1 || network.nodes < network.endpoints || network.nodes > most_nodes)
            throw std::invalid_argument("nodes: from 1 endpoint to 65536 nodes");
        network.next.assign(cell(network.nodes, network.endpoints, 0), -1);
    } else if (key == "endpoint") {
        line >> std::ws;
        std::string path;
        std::getline(line, path);
        what.namespaces.push_back(path);
    } else if (key == "link") {
        const auto source = word<std::int32_t>(line);
        const auto target = word<std::int32_t>(line);
        network.links.push_back({source, target, word<double>(line)});
    } else if (key == "next") {
        const auto node = word<std::int32_t>(line);
        if (node < 0 || node >= network.nodes) throw std::invalid_argument("next: no such node");
        for (std::int32_t target = 0; target < network.endpoints; ++target)
            network.next[cell(node, network.endpoints, target)] = word<std::int32_t>(line);
    } else {
        throw std::invalid_argument("unknown word '" + key + "'");
    }
}

}  // namespace

Description read_description(std::istream& text) {
    Description what;
    std::string content;
    for (int number = 1; std::getline(text, content); ++number) {
        std::istringstream line(content);
        std::string key;
        if (!(line >> key)) continue;
        try {
            read_line(key, line, what);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (what.namespaces.size() != as_size(what.network.endpoints))
        throw std::invalid_argument("endpoint: one network namespace for each of " +
                                    std::to_string(what.network.endpoints) + " endpoints is required");
    return what;
}

std::int32_t endpoint_of_address(std::uint32_t address, std::int32_t endpoints) {
    const std::uint32_t offset = address - first_address;
    if (offset >> 16U != 0 || (offset & 255U) < 1 || (offset & 255U) > per_block) return -1;
    const auto endpoint = static_cast<std::int32_t>((offset >> 8U) * per_block + (offset & 255U) - 1);
    return endpoint < endpoints ? endpoint : -1;
}

}  // namespace conset::testbed
