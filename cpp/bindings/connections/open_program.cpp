#include "conset/connections/open_program.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "checks.hpp"
#include "conset/formats/connections_file.hpp"

namespace conset::bindings {

namespace {

// The exception of Failure in Python: its arguments are the code and the words. Never freed.
PyObject* failure_type = nullptr;

[[noreturn]] void raise(const Failure& failure) {
    const nb::gil_scoped_acquire acquired;
    const nb::tuple arguments = nb::make_tuple(failure.code, failure.what());
    PyErr_SetObject(failure_type, arguments.ptr());
    throw nb::python_error();
}

// What `work` returns; a Failure becomes Python's exception. Errors of Python inside it pass as they are.
template <class Work>
auto translated(const Work& work) {
    try {
        return work();
    } catch (const Failure& failure) {
        raise(failure);
    }
}

RankConnections part_of(std::int32_t rank, In<std::int32_t> node, std::vector<std::string> names,
                        In<std::int64_t> repeat, In<std::uint8_t> turns, In<std::int32_t> block_schedule,
                        In<std::int64_t> schedule_phases, In<std::int32_t> phase_context, In<std::int64_t> offsets,
                        In<std::int32_t> peer, In<std::uint8_t> send, In<std::int32_t> id, In<std::int64_t> bytes,
                        In<std::int32_t> order, In<double> bandwidth, In<double> latency) {
    const auto ranks = static_cast<std::int64_t>(node.shape(0));
    check_count("ranks", ranks, 1, std::numeric_limits<std::int32_t>::max());
    check_count("rank", rank, 0, ranks - 1);
    RankConnections part{rank,
                         static_cast<std::int32_t>(ranks),
                         copy(node),
                         std::move(names),
                         copy(repeat),
                         copy(turns),
                         copy(block_schedule),
                         copy(schedule_phases),
                         copy(phase_context),
                         copy(offsets),
                         copy(peer),
                         copy(send),
                         copy(id),
                         copy(bytes),
                         copy(order),
                         copy(bandwidth),
                         copy(latency)};
    const std::string fault = fault_of(part);
    if (!fault.empty()) throw std::invalid_argument(fault);
    return part;
}

// What is not UTF-8 in them is replaced.
std::vector<nb::str> names_of(const RankConnections& part) {
    std::vector<nb::str> names;
    for (const std::string& name : part.names)
        names.push_back(
            nb::steal<nb::str>(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace")));
    return names;
}

RankConnections read(const std::string& path, std::int32_t rank, std::int32_t ranks) {
    check_count("ranks", ranks, 1, std::numeric_limits<std::int32_t>::max());
    check_count("rank", rank, 0, ranks - 1);
    return translated([&] { return read_connections(path, rank, ranks); });
}

// Whether a format of the struct module has Python objects; names of fields stand between colons.
bool has_objects(const char* format) {
    bool name = false;
    for (const char* c = format; c != nullptr && *c != 0; ++c) {
        if (*c == ':') name = !name;
        if (*c == 'O' && !name) return true;
    }
    return false;
}

// A contiguous buffer of the caller's while a call uses it. What is none is an error of Python.
class Held {
public:
    Held(const nb::object& owner, bool writable) {
        const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(owner.ptr(), &view_, flags) != 0) nb::raise_python_error();
        if (has_objects(view_.format)) {
            PyBuffer_Release(&view_);
            throw nb::type_error("a buffer of Python objects");
        }
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { PyBuffer_Release(&view_); }

    std::byte* data() const { return static_cast<std::byte*>(view_.buf); }
    std::int64_t element_bytes() const { return view_.itemsize; }
    std::int64_t count() const { return view_.itemsize == 0 ? 0 : view_.len / view_.itemsize; }

private:
    Py_buffer view_{};
};

// Elements in a packet, handed to a function of Python as a memory view that ends with the call. An error of the
// function passes through the core to its caller.
void hand_over(const nb::object& function, void* elements, std::int64_t bytes, int flags) {
    const nb::gil_scoped_acquire acquired;
    const nb::object memory =
        nb::steal(PyMemoryView_FromMemory(static_cast<char*>(elements), static_cast<Py_ssize_t>(bytes), flags));
    if (!memory.is_valid()) nb::raise_python_error();
    function(memory);
}

struct Called {
    const nb::object& function;
    std::int64_t element_bytes;
};

void apply(const void* elements, std::int64_t count, void* state) {
    const auto* const called = static_cast<const Called*>(state);
    // the view is read-only
    hand_over(called->function, const_cast<void*>(elements), count * called->element_bytes, PyBUF_READ);
}

void produce(void* elements, std::int64_t count, void* state) {
    const auto* const called = static_cast<const Called*>(state);
    hand_over(called->function, elements, count * called->element_bytes, PyBUF_WRITE);
}

void check_signals() {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A program. Buffers that are spooled are the caller's to keep until they are done. All that may wait leaves Python's
// lock to others, and comes back for signals.
template <class Handle>
class BoundProgram {
public:
    BoundProgram(const MpiNumbers& mpi, std::uint64_t comm, const RankConnections& part, std::int64_t packet_bytes,
                 std::int32_t credits, double timeout_s) {
        check_size("bytes of a handle", as_size(mpi.handle_bytes), sizeof(Handle));
        const MpiWorld<Handle> world{mpi_of<Handle>(mpi), handle_of<Handle>(comm)};
        translated([&] {
            program_ = std::make_unique<OpenProgram<Handle>>(world, part, Packets{packet_bytes, credits}, timeout_s);
            program_->set_interrupt(&check_signals);
        });
    }

    const RankConnections& part() const { return program_->part(); }
    std::int64_t phases(int block) const {
        return translated([&] { return program_->phases(block); });
    }
    std::int64_t global_phase(int block, int phase) const {
        return translated([&] { return program_->global_phase(block, phase); });
    }
    bool in_phase() const { return program_->in_phase(); }
    bool failed() const { return program_->failed(); }
    int connection(int peer, bool send) const {
        return translated([&] { return program_->connection(peer, send); });
    }
    int connection_of(int id) const {
        return translated([&] { return program_->connection(id); });
    }
    SwitchTimes times() const { return program_->times(); }

    void set_timeout(double seconds) {
        translated([&] { program_->set_timeout(seconds); });
    }
    void instantiate(int block, int phase) {
        alone([&] { program_->instantiate(block, phase); });
    }
    void send(int connection, const nb::object& elements) {
        const Held held(elements, false);
        alone([&] { program_->send(connection, held.data(), held.count(), held.element_bytes()); });
    }
    void receive(int connection, const nb::object& elements) {
        const Held held(elements, true);
        alone([&] { program_->receive(connection, held.data(), held.count(), held.element_bytes()); });
    }
    void receive_apply(int connection, std::int64_t count, std::int64_t element_bytes, const nb::object& function) {
        Called called{function, element_bytes};
        alone([&] { program_->receive_apply(connection, count, element_bytes, &apply, &called); });
    }
    void send_computed(int connection, std::int64_t count, std::int64_t element_bytes, const nb::object& function) {
        Called called{function, element_bytes};
        alone([&] { program_->send_computed(connection, count, element_bytes, &produce, &called); });
    }
    void spool_send(int connection, const nb::object& elements) {
        const Held held(elements, false);
        alone([&] { program_->spool_send(connection, held.data(), held.count(), held.element_bytes()); });
    }
    void spool_receive(int connection, const nb::object& elements) {
        const Held held(elements, true);
        alone([&] { program_->spool_receive(connection, held.data(), held.count(), held.element_bytes()); });
    }
    void spool_wait(int connection) {
        alone([&] { program_->spool_wait(connection); });
    }
    bool progress() {
        bool spooled = false;
        alone([&] { spooled = program_->progress(); });
        return spooled;
    }
    void phase_end() {
        alone([&] { program_->phase_end(); });
    }
    void close() {
        alone([&] { program_->close(); });
    }

private:
    // Without Python's lock. A function that the core calls may come back here; another thread may not.
    template <class Work>
    void alone(const Work& work) {
        const std::thread::id thread = std::this_thread::get_id();
        if (depth_ != 0 && thread_ != thread)
            raise(Failure(Code::state, "the program is in use by another thread: one at a time"));
        thread_ = thread;
        ++depth_;
        try {
            const nb::gil_scoped_release released;
            translated(work);
        } catch (...) {
            --depth_;
            throw;
        }
        --depth_;
    }

    std::unique_ptr<OpenProgram<Handle>> program_;
    std::thread::id thread_;
    int depth_ = 0;
};

template <class Handle>
void bind_program(nb::module_& module, const char* name) {
    using Bound = BoundProgram<Handle>;
    nb::class_<Bound>(module, name)
        .def(nb::init<const MpiNumbers&, std::uint64_t, const RankConnections&, std::int64_t, std::int32_t, double>(),
             nb::kw_only(), nb::arg("mpi"), nb::arg("comm"), nb::arg("part"), nb::arg("packet_bytes"),
             nb::arg("credits"), nb::arg("timeout_s"))
        .def_prop_ro("part", &Bound::part, nb::rv_policy::reference_internal)
        .def_prop_ro("in_phase", &Bound::in_phase)
        .def_prop_ro("failed", &Bound::failed)
        .def_prop_ro("times", &Bound::times)
        .def("phases", &Bound::phases, nb::arg("block"))
        .def("global_phase", &Bound::global_phase, nb::arg("block"), nb::arg("phase"))
        .def("set_timeout", &Bound::set_timeout, nb::arg("seconds"))
        .def("instantiate", &Bound::instantiate, nb::arg("block"), nb::arg("phase"))
        .def("connection", &Bound::connection, nb::arg("peer"), nb::arg("send"))
        .def("connection_of", &Bound::connection_of, nb::arg("id"))
        .def("receive_apply", &Bound::receive_apply, nb::arg("connection"), nb::arg("count"), nb::arg("element_bytes"),
             nb::arg("function"))
        .def("send_computed", &Bound::send_computed, nb::arg("connection"), nb::arg("count"), nb::arg("element_bytes"),
             nb::arg("function"))
        .def("spool_wait", &Bound::spool_wait, nb::arg("connection"))
        .def("progress", &Bound::progress)
        .def("phase_end", &Bound::phase_end)
        .def("close", &Bound::close)
        .def("send", &Bound::send, nb::arg("connection"), nb::arg("elements"))
        .def("receive", &Bound::receive, nb::arg("connection"), nb::arg("elements"))
        .def("spool_send", &Bound::spool_send, nb::arg("connection"), nb::arg("elements"))
        .def("spool_receive", &Bound::spool_receive, nb::arg("connection"), nb::arg("elements"));
}

void bind_part(nb::module_& module) {
    nb::class_<RankConnections>(module, "RankConnections")
        .def(
            "__init__",
            [](RankConnections* self, std::int32_t rank, In<std::int32_t> node, std::vector<std::string> names,
               In<std::int64_t> repeat, In<std::uint8_t> turns, In<std::int32_t> block_schedule,
               In<std::int64_t> schedule_phases, In<std::int32_t> phase_context, In<std::int64_t> offsets,
               In<std::int32_t> peer, In<std::uint8_t> send, In<std::int32_t> id, In<std::int64_t> bytes,
               In<std::int32_t> order, In<double> bandwidth, In<double> latency) {
                new (self) RankConnections(part_of(rank, node, std::move(names), repeat, turns, block_schedule,
                                                   schedule_phases, phase_context, offsets, peer, send, id, bytes,
                                                   order, bandwidth, latency));
            },
            nb::kw_only(), nb::arg("rank"), nb::arg("node").noconvert(), nb::arg("names"),
            nb::arg("repeat").noconvert(), nb::arg("turns").noconvert(), nb::arg("block_schedule").noconvert(),
            nb::arg("schedule_phases").noconvert(), nb::arg("phase_context").noconvert(),
            nb::arg("offsets").noconvert(), nb::arg("peer").noconvert(), nb::arg("send").noconvert(),
            nb::arg("id").noconvert(), nb::arg("bytes").noconvert(), nb::arg("order").noconvert(),
            nb::arg("bandwidth").noconvert(), nb::arg("latency").noconvert())
        .def_ro("rank", &RankConnections::rank)
        .def_ro("ranks", &RankConnections::ranks)
        .def_prop_ro("names", &names_of)
        .def_prop_ro("node", &entries<RankConnections, &RankConnections::node>)
        .def_prop_ro("repeat", &entries<RankConnections, &RankConnections::repeat>)
        .def_prop_ro("turns", &entries<RankConnections, &RankConnections::turns>)
        .def_prop_ro("block_schedule", &entries<RankConnections, &RankConnections::block_schedule>)
        .def_prop_ro("schedule_phases", &entries<RankConnections, &RankConnections::schedule_phases>)
        .def_prop_ro("phase_context", &entries<RankConnections, &RankConnections::phase_context>)
        .def_prop_ro("offsets", &entries<RankConnections, &RankConnections::offsets>)
        .def_prop_ro("peer", &entries<RankConnections, &RankConnections::peer>)
        .def_prop_ro("send", &entries<RankConnections, &RankConnections::send>)
        .def_prop_ro("id", &entries<RankConnections, &RankConnections::id>)
        .def_prop_ro("bytes", &entries<RankConnections, &RankConnections::bytes>)
        .def_prop_ro("order", &entries<RankConnections, &RankConnections::order>)
        .def_prop_ro("bandwidth", &entries<RankConnections, &RankConnections::bandwidth>)
        .def_prop_ro("latency", &entries<RankConnections, &RankConnections::latency>);
    module.def("read_connections", &read, nb::arg("path"), nb::arg("rank"), nb::arg("ranks"));
}

}  // namespace

void bind_open_program(nb::module_& module) {
    failure_type = PyErr_NewException("conset._core.ProgramFailure", PyExc_RuntimeError, nullptr);
    if (failure_type == nullptr) nb::raise_python_error();
    module.attr("ProgramFailure") = nb::borrow(failure_type);
    nb::class_<SwitchTimes>(module, "SwitchTimes")
        .def_ro("phases", &SwitchTimes::phases)
        .def_ro("switches", &SwitchTimes::switches)
        .def_ro("drain_s", &SwitchTimes::drain_s)
        .def_ro("synchronization_s", &SwitchTimes::synchronization_s)
        .def_ro("setup_s", &SwitchTimes::setup_s)
        .def_ro("packets", &SwitchTimes::packets)
        .def_ro("elements", &SwitchTimes::elements);
    bind_part(module);
    bind_program<int>(module, "ProgramOfInts");
    bind_program<void*>(module, "ProgramOfPointers");
}

}  // namespace conset::bindings
