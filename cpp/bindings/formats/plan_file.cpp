#include "conset/formats/plan_file.hpp"

#include <nanobind/stl/string.h>

#include "checks.hpp"

namespace conset::bindings {

namespace {

PlanFile read(const std::string& path, std::int32_t rank, std::int32_t ranks) {
    check_count("ranks", ranks, 1, std::numeric_limits<std::int32_t>::max());
    check_count("rank", rank, 0, ranks - 1);
    return read_plan_file(path, rank, ranks);
}

}  // namespace

void bind_plan_file(nb::module_& module) {
    using Released = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<PlanFile>(module, "PlanFile")
        .def_ro("ranks", &PlanFile::ranks)
        .def_ro("plan", &PlanFile::plan)
        .def_ro("send_bytes", &PlanFile::send_bytes)
        .def_ro("receive_bytes", &PlanFile::receive_bytes)
        .def_prop_ro("item_bytes", [](const PlanFile& file) { return file.items.item_bytes; })
        .def_prop_ro("item_type", [](const PlanFile& file) { return static_cast<int>(file.items.type); })
        .def_prop_ro("add", [](const PlanFile& file) { return file.items.add; })
        .def_prop_ro("send_items", &entries<PlanFile, &PlanFile::items, &RankItems::send_items>)
        .def_prop_ro("receive_items", &entries<PlanFile, &PlanFile::items, &RankItems::receive_items>)
        .def(
            "has_plan",
            [](const PlanFile& file, RankPlan plan) {
                plan.executed = file.plan.executed;  // which is for people
                return file.plan == plan;
            },
            nb::arg("plan"));
    module.def("read_plan_file", &read, nb::arg("path"), nb::arg("rank"), nb::arg("ranks"), Released());
}

}  // namespace conset::bindings
