// Machine files as conset/machine/flat_file.py writes them. Whatever they say, what is made of them can be walked:
// ids are in range and every route ends where it should.
#include <cmath>
#include <utility>

#include "conset/formats/flat_file.hpp"
#include "conset/runtime/machine_data.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

constexpr std::int64_t kMostNodes = std::int64_t{1} << 30;

class MachineFile {
public:
    explicit MachineFile(const std::string& path) : path_(path), file_(path, "conset/machine@1") {}

    MachineData machine() {
        MachineData machine{
            .name = file_.text("name"),
            .shape = choice<Shape>("network", {"mesh", "torus", "ring", "hypercube", "crossbar", "graph"}),
            .wraps = false,
            .network = Network::crossbar(1),
            .width = file_.array<std::int32_t>("width"),
            .link_rate = {},
            .dateline = {},
            .limits = limits(),
            .limits_methods = words("limits_methods"),
            .costs = costs(0),
            .method_costs = {}};
        const bool box = machine.shape <= Shape::ring;
        machine.wraps = box && machine.shape != Shape::mesh && flag("wraps");
        machine.network = box ? make_box(machine.wraps) : make_other(machine.shape);
        require(machine.network.nodes() == file_.integer("nodes"), "nodes", "must be what its network has");
        if (file_.has("link_rate")) machine.link_rate = file_.array<double>("link_rate");
        if (file_.has("dateline")) machine.dateline = file_.array<std::uint8_t>("dateline");
        if (file_.has("job")) machine.placement = file_.array<std::int32_t>("job");
        for (const std::int32_t node : machine.placement)
            require(node >= 0 && node < machine.endpoints(), "job", "must be endpoints");
        check_links(machine);
        const Array<std::string> methods = words("cost_methods");
        for (std::size_t k = 0; k < methods.size(); ++k)
            machine.method_costs.emplace_back(methods[k], costs(static_cast<int>(k) + 1));
        return machine;
    }

private:
    void require(bool fine, const std::string& entry, const std::string& rule) const {
        if (!fine) throw Failure(Code::file, path_ + ": '" + entry + "' " + rule);
    }

    std::int64_t count(const std::string& name, std::int64_t low, std::int64_t high) {
        const std::int64_t value = file_.integer(name);
        require(
            value >= low && value <= high, name,
            "must be from " + std::to_string(low) + " to " + std::to_string(high) + ", is " + std::to_string(value));
        return value;
    }
    std::int32_t limit(const std::string& name) {
        return static_cast<std::int32_t>(count(name, 0, std::numeric_limits<std::int32_t>::max()));
    }
    bool flag(const std::string& name) { return count(name, 0, 1) != 0; }

    template <class Enum>
    Enum choice(const std::string& name, std::initializer_list<std::string_view> words) {
        const std::string given = file_.text(name);
        std::string known;
        int k = 0;
        for (const std::string_view word : words) {
            if (word == given) return static_cast<Enum>(k);
            known += (k++ == 0 ? "" : ", ") + std::string(word);
        }
        throw Failure(Code::file, path_ + ": '" + name + "' must be one of " + known);
    }

    // Words between commas.
    Array<std::string> words(const std::string& name) {
        const std::string text = file_.text(name);
        Array<std::string> result;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            result.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
        return result;
    }

    Limits limits() {
        return {limit("limit_send"), limit("limit_receive"), limit("limit_link"), limit("limit_channels"),
                flag("limit_exchange")};
    }

    Network make_box(bool wraps) {
        Array<std::int32_t> sides = file_.array<std::int32_t>("sides");
        std::int64_t nodes = 1;
        require(!sides.empty() && sides.size() <= 20, "sides", "must be 1 to 20 numbers");
        for (const std::int32_t side : sides) {
            require(side >= 1 && side <= kMostNodes / nodes, "sides", "must be at least 1 and 2^30 nodes at most");
            nodes *= side;
        }
        require(nodes * 2 * static_cast<std::int64_t>(sides.size()) <= std::numeric_limits<std::int32_t>::max(),
                "sides", "must have less than 2^31 links");
        const Tie tie = choice<Tie>("tie", {"parity", "plus", "checker"});
        return Network::box(std::move(sides), wraps, tie);
    }

    Network make_other(Shape shape) {
        const auto nodes = static_cast<std::int32_t>(count("nodes", 1, kMostNodes));
        if (shape == Shape::crossbar) return Network::crossbar(nodes);
        if (shape == Shape::graph) return make_graph(nodes);
        require((nodes & (nodes - 1)) == 0 && nodes <= 1 << 24, "nodes", "must be a power of two, 2^24 at most");
        return Network::hypercube(std::countr_zero(static_cast<std::uint32_t>(nodes)));
    }

    Network make_graph(std::int32_t nodes) {
        const auto endpoints = static_cast<std::int32_t>(count("endpoints", 1, nodes));
        Array<std::int32_t> source = file_.array<std::int32_t>("link_source");
        Array<std::int32_t> target = file_.array<std::int32_t>("link_target");
        require(source.size() == target.size(), "link_target", "must have as many entries as link_source");
        for (std::size_t k = 0; k < source.size(); ++k) {
            require(source[k] >= 0 && source[k] < nodes, "link_source", "must be nodes");
            require(target[k] >= 0 && target[k] < nodes, "link_target", "must be nodes");
            require(k == 0 || std::pair(source[k - 1], target[k - 1]) <= std::pair(source[k], target[k]), "link_source",
                    "and link_target must rise");
        }
        if (file_.has("routing")) return make_choices(endpoints, nodes, std::move(source), std::move(target));
        if (file_.has("route_offsets")) return make_routes(endpoints, nodes, std::move(source), std::move(target));
        Array<std::int32_t> next = file_.array<std::int32_t>("next_link");
        require(next.size() == as_size(endpoints) * as_size(nodes), "next_link",
                "must have an entry for every endpoint and node");
        check_next_links(endpoints, nodes, source, target, next);
        return Network::next_links(endpoints, nodes, std::move(source), std::move(target), std::move(next));
    }

    // Nodes that choose among next links of equal cost.
    Network make_choices(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> source,
                         Array<std::int32_t> target) {
        enum class Rule : std::uint8_t { smodk, ecmp, valiant, adaptive };
        const Rule rule = choice<Rule>("routing", {"smodk", "ecmp", "valiant", "adaptive"});
        constexpr std::array kChoices{Choice::source_digit, Choice::hash, Choice::valiant, Choice::even};
        const auto seed = static_cast<std::uint64_t>(count("hash", 0, std::numeric_limits<std::int64_t>::max()));
        Array<std::int32_t> stride = file_.array<std::int32_t>("stride"), width = file_.array<std::int32_t>("width");
        require(stride.size() == (rule == Rule::smodk ? as_size(nodes) : 0), "stride", "must be one for every node");
        require(width.size() == 1 || width.size() == source.size(), "width",
                "must be one number, or one for every link");
        const auto counts = [](std::int32_t each) { return each >= 1; };
        require(std::ranges::all_of(stride, counts), "stride", "must be at least 1");
        check_widths(width);
        Array<std::int32_t> cost;
        if (file_.has("link_cost")) cost = file_.array<std::int32_t>("link_cost");
        require(cost.empty() || cost.size() == source.size(), "link_cost", "must be one for every link");
        const auto is_cost = [](std::int32_t each) { return each >= 1 && each <= Network::kMaxCost; };
        require(std::ranges::all_of(cost, is_cost), "link_cost", "must be from 1 to 64");
        Network network = Network::equal_cost(endpoints, nodes, std::move(source), std::move(target),
                                              kChoices.at(static_cast<std::size_t>(rule)), seed, std::move(width),
                                              std::move(stride), std::move(cost));
        require(network.lost().first < 0, "link_source", "and link_target must join every endpoint to every other one");
        return network;
    }

    // From every endpoint the links lead to every other one.
    void check_next_links(std::int32_t endpoints, std::int32_t nodes, const Array<std::int32_t>& source,
                          const Array<std::int32_t>& target, const Array<std::int32_t>& next) const {
        Array<std::int32_t> reaches(as_size(nodes), -1);  // the last endpoint that is known to be reached from a node
        for (std::int32_t t = 0; t < endpoints; ++t) {
            reaches[t] = t;
            for (std::int32_t s = 0; s < endpoints; ++s) {
                std::int32_t node = s, steps = 0;
                for (; reaches[node] != t && steps < nodes; ++steps) {
                    const std::int32_t link = next[cell(t, nodes, node)];
                    require(link >= 0 && as_size(link) < source.size() && source[link] == node, "next_link",
                            "must lead from every endpoint to every other one");
                    node = target[link];
                }
                require(reaches[node] == t, "next_link", "must lead from every endpoint to every other one");
                for (node = s; reaches[node] != t; node = target[next[cell(t, nodes, node)]]) reaches[node] = t;
            }
        }
    }

    Network make_routes(std::int32_t endpoints, std::int32_t nodes, Array<std::int32_t> source,
                        Array<std::int32_t> target) {
        Array<std::int64_t> offsets = file_.array<std::int64_t>("route_offsets");
        Array<std::int32_t> links = file_.array<std::int32_t>("route_links");
        require(offsets.size() == as_size(endpoints) * as_size(endpoints) + 1 && offsets.front() == 0 &&
                    std::is_sorted(offsets.begin(), offsets.end()) &&
                    offsets.back() == static_cast<std::int64_t>(links.size()),
                "route_offsets", "must rise from 0 to the entries of route_links, for every pair of endpoints");
        for (std::int32_t s = 0; s < endpoints; ++s) {
            for (std::int32_t t = 0; t < endpoints; ++t) {
                std::int32_t node = s;
                const std::size_t pair = cell(s, endpoints, t);
                for (std::int64_t k = offsets[pair]; k < offsets[pair + 1]; ++k) {
                    const std::int32_t link = links[k];
                    require(link >= 0 && as_size(link) < source.size() && source[link] == node, "route_links",
                            "must lead on from the node before");
                    node = target[link];
                }
                require(node == t, "route_links", "must end at their target");
            }
        }
        return Network::route_table(endpoints, nodes, std::move(source), std::move(target), std::move(offsets),
                                    std::move(links));
    }

    // Sums of a width and a load are int32.
    void check_widths(const Array<std::int32_t>& width) const {
        for (const std::int32_t each : width) {
            require(each >= 1, "width", "must be at least 1");
            require(each <= Network::kMaxWidth, "width", "must be at most 2^29");
        }
    }

    void check_links(const MachineData& machine) const {
        const auto slots = static_cast<std::size_t>(machine.network.link_slots());
        const Array<std::int32_t>& width = machine.width;
        require(width.size() == 1 || width.size() == slots, "width", "must be one number, or one for every link");
        check_widths(width);
        require(machine.link_rate.empty() || machine.link_rate.size() == slots, "link_rate",
                "must be one number for every link");
        for (const double rate : machine.link_rate) require(rate > 0, "link_rate", "must be above 0");
        require(machine.dateline.empty() || (machine.shape == Shape::graph && machine.dateline.size() == slots),
                "dateline", "must be one flag for every link of a graph");
    }

    MachineCosts costs(int set) {
        const std::string prefix = "costs" + std::to_string(set) + "_";
        MachineCosts costs;
        costs.model = choice<CostModel>(prefix + "model", {"flow", "wormhole", "circuit"});
        costs.processors = choice<ProcessorKind>(prefix + "processors", {"one", "two", "shared"});
        for (const std::string& sync : words(prefix + "exchange_syncs")) {
            const auto* end = kSyncNames.begin() + static_cast<int>(SyncKind::detect);  // is no exchange of two
            const auto* known = std::find(kSyncNames.begin(), end, sync);
            require(known != end, prefix + "exchange_syncs", "must be none, local, ready or barrier");
            costs.exchange_syncs.push_back(static_cast<SyncKind>(known - kSyncNames.begin()));
        }
        each_cost(costs, [&](std::string_view name, auto& value) {
            const bool later = name == "jitter" || name == "measured" || name == "startup";  // older files have none
            const std::string entry = prefix + std::string(name);
            if (!later || file_.has(entry)) read(entry, value);
        });
        require(std::min({costs.port_out, costs.port_in, costs.node, costs.link, costs.copy}) > 0, prefix + "link",
                "and other rates must be above 0");
        require(costs.tolerance >= 1 && costs.lanes >= 1 && costs.lanes <= std::numeric_limits<std::int32_t>::max(),
                prefix + "lanes", "and tolerance must be at least 1");
        return costs;
    }

    void read(const std::string& name, double& value) {
        value = file_.real(name);
        require(!std::isnan(value) && value >= -1, name, "must be a number of at least 0");
    }
    void read(const std::string& name, std::int64_t& value) {
        value = count(name, 0, std::numeric_limits<std::int64_t>::max());
    }
    void read(const std::string& name, bool& value) { value = flag(name); }
    void read(const std::string& name, CostSteps& steps) {
        steps.up_to = file_.array<double>(name + "_up_to");
        steps.seconds = file_.array<double>(name + "_s");
        require(!steps.up_to.empty() && steps.up_to.size() == steps.seconds.size() && steps.up_to.back() == kUnlimited,
                name + "_up_to", "must end without limit, with a time for each");
        for (std::size_t k = 0; k < steps.seconds.size(); ++k) {
            require(k == 0 || steps.up_to[k - 1] < steps.up_to[k], name + "_up_to", "must rise");
            require(steps.seconds[k] >= 0 && steps.seconds[k] < kUnlimited, name + "_s",
                    "must be at least 0 and finite");
        }
    }

    std::string path_;
    FlatFile file_;
};

}  // namespace

MachineData read_machine_file(const std::string& path) { return MachineFile(path).machine(); }

}  // namespace conset
