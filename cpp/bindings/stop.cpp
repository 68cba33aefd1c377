#include "conset/stop.hpp"

#include <nanobind/stl/shared_ptr.h>

#include "bindings.hpp"

namespace conset::bindings {

void bind_stop(nb::module_& module) {
    nb::exception<Interrupted>(module, "Interrupted", PyExc_KeyboardInterrupt);
    module.def("ask_stop", &ask_stop);
    module.def("stop_asked", &stop_asked);
    module.def("should_stop", &should_stop, nb::arg("have_schedule"));
    module.def("publish", &publish, nb::arg("incumbent"), nb::arg("bound"));
    module.def("reset_search", &reset_search);
    nb::class_<Search>(module, "Search")
        // owned by C++: a thread that ends lets go of it without the interpreter, which may be ending too
        .def(nb::new_([] { return std::make_shared<Search>(); }))
        .def("ask_stop", [](Search& search) { search.stop.store(true, std::memory_order_relaxed); })
        .def_prop_ro("stop_asked", [](const Search& search) { return search.stop.load(std::memory_order_relaxed); })
        .def_prop_ro("delivered", [](const Search& search) { return search.delivered.load(std::memory_order_relaxed); })
        .def_prop_ro("best", [](const Search& search) {
            return std::make_pair(search.incumbent.load(std::memory_order_relaxed),
                                  search.bound.load(std::memory_order_relaxed));
        });
    module.def("this_search", [] { return search_of_thread(); });
    module.def("share_search", &share_search, nb::arg("search"));
}

}  // namespace conset::bindings
