#include "simulation/simulated.hpp"

#include "checks.hpp"
#include "conset/simulation/simulated.hpp"

namespace conset::bindings {

namespace {

template <class Time>
void bind_execution(nb::module_& module, const char* name) {
    nb::class_<BoundExecution<Time>>(module, name)
        .def(
            "__init__",
            [](BoundExecution<Time>* self, Policy policy, std::int64_t every, std::int64_t in_flight,
               std::int64_t receives, bool receive_list, bool receive_before, bool one_processor, bool preempts,
               bool shared_processor, bool exchanges, bool first_barrier, Time barrier, Time setup, Time signal_send,
               Time signal_hop, Time signal_receive, double eager, double buffers, In<Time> send, In<Time> receive,
               In<Time> copy, In<Time> delay) {
                constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
                check_count("every", every, 1, most);
                check_count("in_flight", in_flight, 0, most);
                check_count("receives", receives, 0, most);
                for (const Time time : {barrier, setup, signal_send, signal_hop, signal_receive})
                    require(time >= 0, "barrier, setup, signal", "must be at least 0");
                for (const In<Time>* times : {&send, &receive, &copy, &delay})
                    for (const Time time : view(*times))
                        require(time >= 0, "send, receive, copy, delay", "must be at least 0");
                Execution<Time> execution;
                execution.policy = policy;
                execution.every = every;
                execution.in_flight = in_flight;
                execution.receives = receives;
                execution.receive_list = receive_list;
                execution.receive_before = receive_before;
                execution.one_processor = one_processor;
                execution.preempts = preempts;
                execution.shared_processor = shared_processor;
                execution.exchanges = exchanges;
                execution.first_barrier = first_barrier;
                execution.barrier = barrier;
                execution.setup = setup;
                execution.signal_send = signal_send;
                execution.signal_hop = signal_hop;
                execution.signal_receive = signal_receive;
                execution.eager = eager;
                execution.buffers = buffers;
                new (self) BoundExecution<Time>{execution, send, receive, copy, delay};
            },
            nb::kw_only(), nb::arg("policy"), nb::arg("every"), nb::arg("in_flight"), nb::arg("receives"),
            nb::arg("receive_list"), nb::arg("receive_before"), nb::arg("one_processor"), nb::arg("preempts"),
            nb::arg("shared_processor"), nb::arg("exchanges"), nb::arg("first_barrier"), nb::arg("barrier"),
            nb::arg("setup"), nb::arg("signal_send"), nb::arg("signal_hop"), nb::arg("signal_receive"),
            nb::arg("eager"), nb::arg("buffers"), nb::arg("send").noconvert(), nb::arg("receive").noconvert(),
            nb::arg("copy").noconvert(), nb::arg("delay").noconvert());
}

BoundWorkload checked(const BoundWorkload& work) {
    const Routes routes = checked_routes(*work.network, view(work.source), view(work.target), view(work.route_offsets),
                                         view(work.route_links));
    const std::size_t messages = routes.size();
    check_size("bytes", work.bytes.shape(0), messages);
    check_ids("bytes", view(work.bytes), std::int64_t{1} << 62);
    check_size("sender", work.sender.shape(0), messages);
    check_size("receiver", work.receiver.shape(0), messages);
    constexpr std::int64_t ranks = std::int64_t{1} << 24;  // of which tables are held
    check_ids("sender", view(work.sender), ranks);
    check_ids("receiver", view(work.receiver), ranks);
    if (work.time.shape(0) > 0) check_size("time", work.time.shape(0), messages);
    check_finite("time", view(work.time));
    if (work.dep_offsets.shape(0) > 0)
        check_offsets("dep_offsets", view(work.dep_offsets), messages, work.deps.shape(0));
    check_ids("deps", view(work.deps), static_cast<std::int64_t>(messages));
    if (work.phase_offsets.shape(0) > 0) check_rise("phase_offsets", view(work.phase_offsets), messages);
    if (work.order.shape(0) > 0) check_permutation("order", view(work.order), messages);
    return work;
}

}  // namespace

void bind_simulated(nb::module_& module) {
    module.def(
        "delays",
        [](In<std::int32_t> sender, In<std::int32_t> receiver, double mean) {
            check_size("receiver", receiver.shape(0), sender.shape(0));
            return give(delays(view(sender), view(receiver), mean));
        },
        nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(), nb::arg("mean"));
    nb::enum_<Policy>(module, "Policy")
        .value("none", Policy::none)
        .value("local", Policy::local)
        .value("ready", Policy::ready)
        .value("barrier", Policy::barrier)
        .value("detect", Policy::detect);
    bind_execution<double>(module, "Execution");
    bind_execution<std::int64_t>(module, "CycleExecution");
    nb::class_<BoundWorkload>(module, "Messages")
        .def(
            "__init__",
            [](BoundWorkload* self, const Network& network, In<std::int32_t> source, In<std::int32_t> target,
               In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int64_t> bytes,
               In<std::int32_t> sender, In<std::int32_t> receiver, In<double> time, In<std::int64_t> dep_offsets,
               In<std::int32_t> deps, In<std::int64_t> phase_offsets, In<std::int32_t> order) {
                new (self) BoundWorkload(checked({&network, source, target, route_offsets, route_links, bytes, sender,
                                                  receiver, time, dep_offsets, deps, phase_offsets, order}));
            },
            nb::kw_only(), nb::arg("network"), nb::arg("source").noconvert(), nb::arg("target").noconvert(),
            nb::arg("route_offsets").noconvert(), nb::arg("route_links").noconvert(), nb::arg("bytes").noconvert(),
            nb::arg("sender").noconvert(), nb::arg("receiver").noconvert(), nb::arg("time").noconvert(),
            nb::arg("dep_offsets").noconvert(), nb::arg("deps").noconvert(), nb::arg("phase_offsets").noconvert(),
            nb::arg("order").noconvert(), nb::keep_alive<1, 2>());
    nb::class_<BoundRates>(module, "FluidRates")
        .def(
            "__init__",
            [](BoundRates* self, In<double> link, In<std::int32_t> width, double out, double in, double node,
               double exchange_weight, double startup, In<double> latency, In<double> hop) {
                require(startup >= 0, "startup", "must be at least 0");
                new (self) BoundRates{link, width, out, in, node, exchange_weight, startup, latency, hop};
            },
            nb::kw_only(), nb::arg("link").noconvert(), nb::arg("width").noconvert(), nb::arg("out"), nb::arg("in_"),
            nb::arg("node"), nb::arg("exchange_weight"), nb::arg("startup"), nb::arg("latency").noconvert(),
            nb::arg("hop").noconvert());
    nb::class_<Simulated>(module, "Simulated")
        .def_prop_ro("start", &entries<Simulated, &Simulated::times, &Times<double>::start>)
        .def_prop_ro("end", &entries<Simulated, &Simulated::times, &Times<double>::end>)
        .def_prop_ro("sent", &entries<Simulated, &Simulated::times, &Times<double>::sent>)
        .def_prop_ro("flowed", &entries<Simulated, &Simulated::times, &Times<double>::flowed>)
        .def_prop_ro("left", &entries<Simulated, &Simulated::times, &Times<double>::left>)
        .def_prop_ro("held_by", &entries<Simulated, &Simulated::held_by>)
        .def_prop_ro("blocked", &entries<Simulated, &Simulated::blocked>)
        .def_prop_ro("link_bytes", &entries<Simulated, &Simulated::link_bytes>)
        .def_prop_ro("link_busy", &entries<Simulated, &Simulated::link_busy>)
        .def_prop_ro("out_bytes", &entries<Simulated, &Simulated::out_bytes>)
        .def_prop_ro("out_busy", &entries<Simulated, &Simulated::out_busy>)
        .def_prop_ro("in_bytes", &entries<Simulated, &Simulated::in_bytes>)
        .def_prop_ro("in_busy", &entries<Simulated, &Simulated::in_busy>)
        .def_prop_ro("rate_time", &entries<Simulated, &Simulated::rate_time>)
        .def_prop_ro("rate_message", &entries<Simulated, &Simulated::rate_message>)
        .def_prop_ro("rate", &entries<Simulated, &Simulated::rate>)
        .def_prop_ro("cycle", &entries<Simulated, &Simulated::cycle, &WaitCycle::message>)
        .def_prop_ro("cycle_places", &entries<Simulated, &Simulated::cycle, &WaitCycle::place>)
        .def_ro("late", &Simulated::late)
        .def_ro("cut", &Simulated::cut)
        .def_ro("stopped", &Simulated::stopped)
        .def_ro("buffered", &Simulated::buffered)
        .def_ro("pools", &Simulated::pools)
        .def_ro("buffered_most", &Simulated::buffered_most)
        .def_ro("events", &Simulated::events)
        .def_ro("solves", &Simulated::solves)
        .def_ro("work", &Simulated::work);
}

}  // namespace conset::bindings
