#include "bindings.hpp"

namespace conset::bindings {
void bind_bounds_sums(nb::module_& module);
void bind_choice(nb::module_& module);
void bind_complete_exchange(nb::module_& module);
void bind_connections(nb::module_& module);
void bind_exchange(nb::module_& module);
void bind_flit(nb::module_& module);
void bind_formula(nb::module_& module);
void bind_negotiated(nb::module_& module);
void bind_network(nb::module_& module);
void bind_open_program(nb::module_& module);
void bind_open_tables(nb::module_& module);
void bind_simulated(nb::module_& module);
void bind_flow(nb::module_& module);
void bind_merge(nb::module_& module);
void bind_loads(nb::module_& module);
void bind_methods(nb::module_& module);
void bind_placement(nb::module_& module);
void bind_plan_file(nb::module_& module);
void bind_profile(nb::module_& module);
void bind_spread(nb::module_& module);
void bind_rank_executor(nb::module_& module);
void bind_schedule(nb::module_& module);
void bind_stop(nb::module_& module);
void bind_transfers(nb::module_& module);
void bind_unequal(nb::module_& module);
void bind_wormhole(nb::module_& module);
void bind_packet(nb::module_& module);
}  // namespace conset::bindings

NB_MODULE(_core, module) {
    // An array keeps the result that it is part of, and a traceback may keep the array to the end of the interpreter.
    nb::set_leak_warnings(false);
    module.doc() = "The C++ core: networks, routes and everything that must be fast.";
    conset::bindings::bind_bounds_sums(module);
    conset::bindings::bind_choice(module);
    conset::bindings::bind_complete_exchange(module);
    conset::bindings::bind_connections(module);
    conset::bindings::bind_exchange(module);
    conset::bindings::bind_flit(module);
    conset::bindings::bind_formula(module);
    conset::bindings::bind_negotiated(module);
    conset::bindings::bind_network(module);
    conset::bindings::bind_open_program(module);
    conset::bindings::bind_open_tables(module);
    conset::bindings::bind_simulated(module);
    conset::bindings::bind_flow(module);
    conset::bindings::bind_merge(module);
    conset::bindings::bind_loads(module);
    conset::bindings::bind_methods(module);
    conset::bindings::bind_placement(module);
    conset::bindings::bind_plan_file(module);
    conset::bindings::bind_profile(module);
    conset::bindings::bind_spread(module);
    conset::bindings::bind_rank_executor(module);
    conset::bindings::bind_schedule(module);
    conset::bindings::bind_stop(module);
    conset::bindings::bind_transfers(module);
    conset::bindings::bind_unequal(module);
    conset::bindings::bind_wormhole(module);
    conset::bindings::bind_packet(module);
}
