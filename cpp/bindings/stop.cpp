#include "conset/stop.hpp"

#include "bindings.hpp"

namespace conset::bindings {

void bind_stop(nb::module_& module) {
    nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
        try {
            std::rethrow_exception(raised);
        } catch (const Interrupted& error) {
            PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
        }
    });
    module.def("ask_stop", &ask_stop);
    module.def("stop_asked", &stop_asked);
    module.def("should_stop", &should_stop, nb::arg("have_schedule"));
    module.def("publish", &publish, nb::arg("incumbent"), nb::arg("bound"));
    module.def("reset_search", &reset_search);
    module.def("delivered_so_far", [] { return running_search().delivered.load(std::memory_order_relaxed); });
    module.def("best_so_far", [] {
        const Search& search = running_search();
        return std::make_pair(search.incumbent.load(std::memory_order_relaxed),
                              search.bound.load(std::memory_order_relaxed));
    });
}

}  // namespace conset::bindings
