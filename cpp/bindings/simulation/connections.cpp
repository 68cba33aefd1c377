#include "conset/simulation/connections/connections.hpp"

#include "bindings.hpp"
#include "checks.hpp"

namespace conset::bindings {

namespace {

constexpr std::int64_t kFarTick = std::int64_t{1} << 61;  // two of them can be added

// What is open; keeps the arrays it looks at.
struct BoundOpenTables {
    In<std::int64_t> service, hop, turn_offsets;
    In<std::int32_t> turns, next, first, last;
    std::int32_t queue;

    OpenTables of() const {
        return {view(service), view(hop), view(turn_offsets), view(turns), view(next), view(first), view(last), queue};
    }
};

// Every connection is a chain of stations of its own, from `first` to `last`.
void check_chains(const BoundOpenTables& tables) {
    const auto next = view(tables.next);
    Array<bool> seen(next.size());
    std::size_t found = 0;
    for (std::size_t c = 0; c < tables.first.shape(0); ++c) {
        std::int32_t at = view(tables.first)[c], end = -1;
        for (; at >= 0 && !seen[at]; at = next[at]) {
            seen[at] = true;
            end = at;
            ++found;
        }
        require(at < 0, "next", "a station belongs to one connection");
        require(end == view(tables.last)[c] && end != view(tables.first)[c], "last",
                "must be where the chain of its connection ends, behind its first station");
    }
    require(found == next.size(), "next", "every station belongs to a connection");
}

BoundOpenTables checked(const BoundOpenTables& tables) {
    const std::size_t servers = tables.service.shape(0), stations = tables.next.shape(0);
    check_count("queue", tables.queue, 1, std::int64_t{1} << 20);
    check_ids("service", view(tables.service), kFarTick);
    check_size("hop", tables.hop.shape(0), servers);
    check_ids("hop", view(tables.hop), kFarTick);
    check_offsets("turn_offsets", view(tables.turn_offsets), servers, tables.turns.shape(0));
    check_permutation("turns", view(tables.turns), stations);
    check_ids("next", view(tables.next), static_cast<std::int64_t>(stations), -1);
    check_size("last", tables.last.shape(0), tables.first.shape(0));
    check_ids("first", view(tables.first), static_cast<std::int64_t>(stations));
    check_ids("last", view(tables.last), static_cast<std::int64_t>(stations));
    check_chains(tables);
    return tables;
}

// What is sent; keeps the arrays it looks at.
struct BoundOpenTransfers {
    In<std::int32_t> connection, sender, receiver;
    In<std::int64_t> elements, release, send_cost, receive_cost, after, copy, pace, dep_offsets;
    In<std::int32_t> deps;
    std::int32_t ranks;
    std::int64_t in_flight, receives;
    bool any, in_order;

    OpenTransfers of(std::int64_t until, std::int64_t work, std::int64_t delivered) const {
        return {view(connection),
                view(sender),
                view(receiver),
                view(elements),
                view(release),
                view(send_cost),
                view(receive_cost),
                view(after),
                view(copy),
                view(pace),
                view(dep_offsets),
                view(deps),
                ranks,
                in_flight,
                receives,
                any,
                in_order,
                until,
                work,
                delivered};
    }
};

BoundOpenTransfers checked(const BoundOpenTransfers& given) {
    const std::size_t transfers = given.connection.shape(0);
    check_count("ranks", given.ranks, 0, std::numeric_limits<std::int32_t>::max());
    check_count("in_flight", given.in_flight, 0, std::numeric_limits<std::int64_t>::max());
    check_count("receives", given.receives, 0, std::numeric_limits<std::int64_t>::max());
    check_size("sender", given.sender.shape(0), transfers);
    check_size("receiver", given.receiver.shape(0), transfers);
    check_ids("sender", view(given.sender), given.ranks);
    check_ids("receiver", view(given.receiver), given.ranks);
    const std::pair<const char*, const In<std::int64_t>*> ticks[] = {{"elements", &given.elements},
                                                                     {"release", &given.release},
                                                                     {"send_cost", &given.send_cost},
                                                                     {"receive_cost", &given.receive_cost},
                                                                     {"after", &given.after},
                                                                     {"copy", &given.copy},
                                                                     {"pace", &given.pace}};
    for (const auto& [name, times] : ticks) {
        check_size(name, times->shape(0), transfers);
        check_ids(name, view(*times), kFarTick);
    }
    for (std::size_t t = 0; t < transfers; ++t)
        require(view(given.pace)[t] == 0 || view(given.elements)[t] <= kFarTick / view(given.pace)[t], "pace",
                "times elements must be at most 2^61 ticks");
    check_offsets("dep_offsets", view(given.dep_offsets), transfers, given.deps.shape(0));
    check_ids("deps", view(given.deps), static_cast<std::int64_t>(transfers));
    return given;
}

OpenTimes run_connections(const BoundOpenTables& tables, const BoundOpenTransfers& transfers, std::int64_t until,
                          std::int64_t work, std::int64_t delivered) {
    nb::gil_scoped_release released;
    check_count("until", until, -1, std::int64_t{1} << 62);
    check_ids("connection", view(transfers.connection), static_cast<std::int64_t>(tables.first.shape(0)), -1);
    for (std::size_t t = 0; t < transfers.connection.shape(0); ++t)
        require(view(transfers.connection)[t] < 0 || view(transfers.elements)[t] > 0, "elements",
                "at least 1 on a connection");
    return simulate_connections(tables.of(), transfers.of(until, work, delivered));
}

}  // namespace

void bind_open_tables(nb::module_& module) {
    nb::class_<BoundOpenTables>(module, "OpenTables")
        .def(
            "__init__",
            [](BoundOpenTables* self, In<std::int64_t> service, In<std::int64_t> hop, In<std::int64_t> turn_offsets,
               In<std::int32_t> turns, In<std::int32_t> next, In<std::int32_t> first, In<std::int32_t> last,
               std::int32_t queue) {
                new (self) BoundOpenTables(checked({service, hop, turn_offsets, turns, next, first, last, queue}));
            },
            nb::kw_only(), nb::arg("service").noconvert(), nb::arg("hop").noconvert(),
            nb::arg("turn_offsets").noconvert(), nb::arg("turns").noconvert(), nb::arg("next").noconvert(),
            nb::arg("first").noconvert(), nb::arg("last").noconvert(), nb::arg("queue"));
    nb::class_<BoundOpenTransfers>(module, "OpenTransfers")
        .def(
            "__init__",
            [](BoundOpenTransfers* self, In<std::int32_t> connection, In<std::int32_t> sender,
               In<std::int32_t> receiver, In<std::int64_t> elements, In<std::int64_t> release,
               In<std::int64_t> send_cost, In<std::int64_t> receive_cost, In<std::int64_t> after, In<std::int64_t> copy,
               In<std::int64_t> pace, In<std::int64_t> dep_offsets, In<std::int32_t> deps, std::int32_t ranks,
               std::int64_t in_flight, std::int64_t receives, bool any, bool in_order) {
                new (self) BoundOpenTransfers(
                    checked({connection, sender, receiver, elements, release, send_cost, receive_cost, after, copy,
                             pace, dep_offsets, deps, ranks, in_flight, receives, any, in_order}));
            },
            nb::kw_only(), nb::arg("connection").noconvert(), nb::arg("sender").noconvert(),
            nb::arg("receiver").noconvert(), nb::arg("elements").noconvert(), nb::arg("release").noconvert(),
            nb::arg("send_cost").noconvert(), nb::arg("receive_cost").noconvert(), nb::arg("after").noconvert(),
            nb::arg("copy").noconvert(), nb::arg("pace").noconvert(), nb::arg("dep_offsets").noconvert(),
            nb::arg("deps").noconvert(), nb::arg("ranks"), nb::arg("in_flight"), nb::arg("receives"), nb::arg("any"),
            nb::arg("in_order"));
    nb::class_<OpenTimes>(module, "OpenTimes")
        .def_prop_ro("slot", &entries<OpenTimes, &OpenTimes::slot>)
        .def_prop_ro("sent", &entries<OpenTimes, &OpenTimes::sent>)
        .def_prop_ro("begun", &entries<OpenTimes, &OpenTimes::begun>)
        .def_prop_ro("left", &entries<OpenTimes, &OpenTimes::left>)
        .def_prop_ro("end", &entries<OpenTimes, &OpenTimes::end>)
        .def_prop_ro("latency", &entries<OpenTimes, &OpenTimes::latency>)
        .def_prop_ro("receiving", &entries<OpenTimes, &OpenTimes::receiving>)
        .def_ro("moves", &OpenTimes::moves)
        .def_ro("late", &OpenTimes::late)
        .def_ro("cut", &OpenTimes::cut);
    module.def("simulate_connections", &run_connections, nb::arg("tables"), nb::arg("transfers"), nb::kw_only(),
               nb::arg("until"), nb::arg("work"), nb::arg("delivered"));
}

}  // namespace conset::bindings
