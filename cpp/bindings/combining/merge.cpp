#include "conset/combining/merge.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "conset/combining/boxes.hpp"
#include "conset/combining/mixes.hpp"

namespace conset::bindings {

namespace {

void check_costs(const char* what, View<const double> values) {
    for (const double value : values)
        require(std::isfinite(value) && value >= 0, what, "must be finite and at least 0");
}

SizeSteps checked_steps(const char* what, const In<double>& up_to, const In<double>& seconds) {
    check_size(what, seconds.shape(0), up_to.shape(0));
    require(seconds.shape(0) > 0, what, "at least one step required");
    require(std::is_sorted(up_to.data(), up_to.data() + up_to.shape(0)), what, "sizes must rise");
    check_costs(what, view(seconds));
    return {view(up_to), view(seconds)};
}

// All together at most 2^62 bytes, so that no sum of them overflows.
void check_sizes(View<const std::int64_t> size) {
    double total = 0;
    for (const std::int64_t bytes : size) {
        require(bytes >= 0, "size", "must be at least 0 B");
        total += static_cast<double>(bytes);
    }
    require(total <= 0x1p62, "size", "must be at most 2^62 B together");
}

// What a bundle costs; keeps the arrays it looks at.
class BoundBundleCosts {
public:
    // rates: set-up [s]; copy, out, in [s/B].
    BoundBundleCosts(In<double> send_up_to, In<double> send_s, In<double> receive_up_to, In<double> receive_s,
                     In<double> rates)
        : send_up_to_(send_up_to), send_s_(send_s), receive_up_to_(receive_up_to), receive_s_(receive_s) {
        check_size("rates", rates.shape(0), 4);
        check_costs("rates", view(rates));
        const View<const double> rate = view(rates);
        costs_ = {checked_steps("send", send_up_to_, send_s_),
                  checked_steps("receive", receive_up_to_, receive_s_),
                  rate[0],
                  rate[1],
                  rate[2],
                  rate[3]};
    }

    const BundleCosts& operator*() const { return costs_; }

private:
    In<double> send_up_to_, send_s_, receive_up_to_, receive_s_;
    BundleCosts costs_;
};

auto merge(In<std::int32_t> positions, std::int32_t stages, In<std::int64_t> size, std::int32_t ranks,
           const BoundBundleCosts& costs, double turn_s, std::int64_t max_size, std::int32_t passes,
           std::uint64_t seed) {
    MergedPaths merged;
    {
        nb::gil_scoped_release released;
        check_count("stages", stages, 1, 1 << 10);
        const std::size_t parts = size.shape(0), columns = static_cast<std::size_t>(stages) + 1;
        check_size("positions", positions.shape(0), parts * columns);
        check_count("ranks", ranks, 1, std::numeric_limits<std::int32_t>::max());
        check_ids("positions", view(positions), ranks);
        check_count("parts", static_cast<std::int64_t>(parts), 0,
                    std::numeric_limits<std::int32_t>::max() / (std::int64_t{stages} * stages));
        check_sizes(view(size));
        require(!std::isnan(turn_s), "turn_s", "must be a number");
        merged = merge_bundles(view(positions), stages, view(size), ranks, *costs, {turn_s, max_size, passes, seed});
    }
    return std::make_pair(give(std::move(merged.positions)), merged.stopped);
}

using Numbers = std::vector<std::int64_t>;

std::vector<Numbers> listed(std::int64_t number, const Numbers& sides) {
    const std::vector<BoxSides> found = factorisations(number, Array<std::int64_t>(sides));
    return {found.begin(), found.end()};
}

// (kind, word, sides) of the ways that are tried.
std::vector<std::tuple<std::string, std::string, Numbers>> ways(std::int64_t ranks, const BoxNetwork& network) {
    constexpr const char* kinds[] = {"along", "numbers", "traffic", "ring", "nodes"};
    std::vector<std::tuple<std::string, std::string, Numbers>> found;
    for (const StageWay& way : stage_ways(ranks, network))
        found.emplace_back(kinds[static_cast<int>(way.kind)], way.word, way.sides);
    return found;
}

auto give_positions(const Positions& positions) {
    Array<std::int32_t> all;
    for (const Array<std::int32_t>& each : positions) all.insert(all.end(), each.begin(), each.end());
    return give(std::move(all));
}

void check_ends(std::int32_t ranks, const In<std::int32_t>& source, const In<std::int32_t>& target) {
    check_size("target", target.shape(0), source.shape(0));
    for (const auto& ends : {view(source), view(target)}) check_ids("ends", ends, ranks);
}

// (name, positions stage by stage, estimate) of mixes.
auto mixes(StageClock& clock, const BoundBundleCosts& costs, const BoxNetwork& network, In<std::int32_t> node,
           In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> bytes, std::uint64_t seed,
           std::int64_t effort) {
    const auto ranks = static_cast<std::int32_t>(clock.ranks());
    check_ends(ranks, source, target);
    check_size("bytes", bytes.shape(0), source.shape(0));
    check_sizes(view(bytes));
    check_size("node", node.shape(0), static_cast<std::size_t>(ranks));
    for (const std::int32_t each : view(node))
        require(each >= 0 && each < network.places, "node", "must be one of the network");
    check_count("effort", effort, 1, std::numeric_limits<std::int32_t>::max());
    std::vector<Mix> all;
    {
        nb::gil_scoped_release released;
        all = mixed_ways({ranks, view(source), view(target), view(bytes), view(node), network, *costs, seed, effort},
                         [&](const StageBundles& stages) { return clock.estimate(stages); });
    }
    using Estimate = std::tuple<double, double, double, std::vector<double>, std::int64_t, std::int64_t>;
    std::vector<std::tuple<std::string, decltype(give_positions({})), Estimate>> found;
    for (Mix& mix : all) {
        StageEstimate& each = mix.estimate;
        found.emplace_back(
            std::move(mix.name), give_positions(mix.positions),
            Estimate(each.time_s, each.work_s, each.busiest_s, std::move(each.stage_s), each.bundles, each.bytes));
    }
    return found;
}

}  // namespace

void bind_merge(nb::module_& module) {
    nb::class_<BoxNetwork>(module, "BoxNetwork")
        .def(
            "__init__",
            [](BoxNetwork* self, std::int64_t places, const Numbers& sides, bool follows, std::int64_t fill,
               std::int32_t crowd, bool by_traffic) {
                new (self) BoxNetwork{places, Array<std::int64_t>(sides), follows, fill, crowd, by_traffic};
            },
            nb::kw_only(), nb::arg("places"), nb::arg("sides"), nb::arg("follows"), nb::arg("fill"), nb::arg("crowd"),
            nb::arg("by_traffic"));
    module.attr("SPARSE") = kSparse;
    module.def("stage_ways", &ways, nb::arg("ranks"), nb::arg("network"));
    module.def("mixed_ways", &mixes, nb::arg("clock"), nb::arg("costs"), nb::arg("network"),
               nb::arg("node").noconvert(), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
               nb::arg("bytes").noconvert(), nb::arg("seed"), nb::arg("effort"));
    module.def(
        "ranks_by_traffic",
        [](std::int32_t ranks, In<std::int32_t> source, In<std::int32_t> target) {
            check_ends(ranks, source, target);
            return give(ranks_by_traffic(ranks, view(source), view(target)));
        },
        nb::arg("ranks"), nb::arg("source").noconvert(), nb::arg("target").noconvert());
    module.def(
        "positions_by_nodes",
        [](In<std::int32_t> source, In<std::int32_t> target, In<std::int64_t> bytes, In<std::int32_t> node,
           std::int32_t steps) {
            check_count("steps", steps, 2, 3);
            check_size("target", target.shape(0), source.shape(0));
            check_size("bytes", bytes.shape(0), source.shape(0));
            require(node.shape(0) > 0, "node", "one for each rank required");
            check_ids("node", view(node), std::numeric_limits<std::int32_t>::max());
            for (const auto& ends : {view(source), view(target)})
                check_ids("ends", ends, static_cast<std::int32_t>(node.shape(0)));
            return give_positions(positions_by_nodes(view(source), view(target), view(bytes), view(node), steps));
        },
        nb::arg("source").noconvert(), nb::arg("target").noconvert(), nb::arg("bytes").noconvert(),
        nb::arg("node").noconvert(), nb::arg("steps"));
    module.def("factorisations", &listed, nb::arg("number"), nb::arg("sides"));
    module.def(
        "balanced_sides",
        [](std::int64_t ranks, std::int64_t stages) { return Numbers(balanced_sides(ranks, stages)); },
        nb::arg("ranks"), nb::arg("stages"));
    module.def(
        "fitted_order",
        [](const Numbers& sides, const Numbers& radices) {
            return std::vector<std::int32_t>(fitted_order(BoxSides(sides), Array<std::int64_t>(radices)));
        },
        nb::arg("sides"), nb::arg("radices"));
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<BoundBundleCosts>(module, "BundleCosts")
        .def(nb::init<In<double>, In<double>, In<double>, In<double>, In<double>>(), nb::arg("send_up_to").noconvert(),
             nb::arg("send_s").noconvert(), nb::arg("receive_up_to").noconvert(), nb::arg("receive_s").noconvert(),
             nb::arg("rates").noconvert(), Unlocked());
    module.def("merge_bundles", &merge, nb::arg("positions").noconvert(), nb::arg("stages"),
               nb::arg("size").noconvert(), nb::arg("ranks"), nb::arg("costs"), nb::arg("turn_s"), nb::arg("max_size"),
               nb::arg("passes"), nb::arg("seed"));
}

}  // namespace conset::bindings
