// The calls of MPI that a program makes, before they reach its library: MPI_X and PMPI_X, since Fortran's libraries
// call the one (MPICH) or the other (Open MPI).
//
// Handles are 64 bits here and pass as they come. A call inside a call, of a tool or of MPI itself, goes straight on.
// What is called next is another tool's MPI_X where one is loaded behind this library, else the MPI library's PMPI_X.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "ordering.hpp"
#include "recorder.hpp"

namespace conset::preload {

namespace {

using Count = std::int64_t;
using Place = std::ptrdiff_t;
using Any = void*;
using From = const void*;

thread_local int depth = 0;

struct Inside {
    Inside() { ++depth; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { --depth; }
    bool nested() const { return depth > 1; }
};

template <class Function>
struct Real {
    explicit Real(const char* name) : own(Library::get().call<Function>(name)) {
        auto* const behind = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
        next = behind != nullptr ? behind : own;
    }
    Function *own, *next;
};

Bits request_at(From requests, std::size_t k) { return Library::get().handle_at(requests, k); }

Bits made_request(Any request) { return request_at(request, 0); }

void count_send(Bits comm, int target, Count count, Bits type) {
    if (Recorder* const recorder = Recorder::get(); recorder != nullptr) recorder->send(comm, target, count, type);
}

void keep_send(int code, Any request, Bits comm, int target, Count count, Bits type) {
    if (Recorder* const recorder = Recorder::get(); recorder != nullptr && code == 0)
        recorder->keep_send(made_request(request), comm, target, count, type);
}

void count_total(const char* kind, Count count, Bits type) {
    if (Recorder* const recorder = Recorder::get(); recorder != nullptr) recorder->total(kind, count, type);
}

// What a rank gives, or its share of what is there, where it gives in place.
void count_gather(const char* kind, From from, Count count, Bits type, Count to_count, Bits to_type) {
    const bool in_place = from == Library::get().in_place;
    count_total(kind, in_place ? to_count : count, in_place ? to_type : type);
}

void count_blocks(const char* kind, Bits comm, const Exchange& exchange) {
    const Communicator* const in = Recorder::get() == nullptr ? nullptr : communicator_of(comm);
    if (in == nullptr) return;
    Count count = 0;
    for (int k = 0; k < in->size; ++k) count += exchange.count_at(exchange.send, as_size(k));
    count_total(kind, count, exchange.send.type);
}

Array<std::int64_t> bytes_of(const Exchange& exchange, const Communicator& in) {
    return exchange.bytes_of(exchange.in_place() ? exchange.receive : exchange.send, in.size);
}

std::string named(const char* kind, const Exchange& exchange) {
    return kind + std::string(exchange.in_place() ? ":in-place" : "");
}

// A blocking exchange.
template <class Own>
int exchanged(const char* kind, const Exchange& exchange, Bits comm, const Own& own) {
    Recorder* const recorder = Recorder::get();
    if (recorder == nullptr && !Ordering::enabled()) return own();
    Communicator* const in = communicator_of(comm);
    if (in == nullptr) return own();
    const double begin = recorder == nullptr ? 0 : recorder->now();
    int code = 0;
    if (Ordering::enabled() && !in->inter && !exchange.in_place()) {
        if (in->ordering == nullptr) in->ordering = std::make_unique<Ordering>(*in);
        code = in->ordering->execute(exchange, own);
    } else {
        code = own();
    }
    if (recorder != nullptr)
        recorder->exchange(*in, named(kind, exchange), bytes_of(exchange, *in), begin, recorder->now());
    return code;
}

// One that is only begun.
void begun(const char* kind, const Exchange& exchange, Bits comm) {
    Recorder* const recorder = Recorder::get();
    const Communicator* const in = recorder == nullptr ? nullptr : communicator_of(comm);
    if (in == nullptr) return;
    const double now = recorder->now();
    recorder->exchange(*in, named(kind, exchange), bytes_of(exchange, *in), now, now);
}

void kept(int code, Any request, const char* kind, const Exchange& exchange, Bits comm) {
    Recorder* const recorder = Recorder::get();
    const Communicator* const in = recorder == nullptr || code != 0 ? nullptr : communicator_of(comm);
    if (in == nullptr) return;
    recorder->keep_exchange(made_request(request), *in, named(kind, exchange), bytes_of(exchange, *in));
}

void write_record(const char* how) {
    if (Recorder* const recorder = Recorder::get(); recorder != nullptr) recorder->write(how);
}

bool written = false;

// A program that calls exit without MPI_Finalize.
__attribute__((destructor)) void at_exit() {
    if (written || !Library::used()) return;
    end_orderings();
    write_record("exit");
}

}  // namespace

}  // namespace conset::preload

using namespace conset::preload;

#define CONSET_CALL(NAME, PARAMETERS, ARGUMENTS, ...)                             \
    extern "C" __attribute__((visibility("default"))) int MPI_##NAME PARAMETERS { \
        static const Real<int PARAMETERS> real("MPI_" #NAME);                     \
        const Inside inside;                                                      \
        if (inside.nested()) return real.own ARGUMENTS;                           \
        const auto own = [&] { return real.next ARGUMENTS; };                     \
        __VA_ARGS__                                                               \
    }                                                                             \
    extern "C" __attribute__((visibility("default"), alias("MPI_" #NAME))) int PMPI_##NAME PARAMETERS;

// Messages.
#define CONSET_SEND(NAME, COUNT)                                                               \
    CONSET_CALL(NAME, (From from, COUNT count, Bits type, int target, int tag, Bits comm),     \
                (from, count, type, target, tag, comm), count_send(comm, target, count, type); \
                return own();)
#define CONSET_ISEND(NAME, COUNT)                                                                       \
    CONSET_CALL(NAME, (From from, COUNT count, Bits type, int target, int tag, Bits comm, Any request), \
                (from, count, type, target, tag, comm, request), count_send(comm, target, count, type); \
                return own();)
#define CONSET_SEND_INIT(NAME, COUNT)                                                                   \
    CONSET_CALL(NAME, (From from, COUNT count, Bits type, int target, int tag, Bits comm, Any request), \
                (from, count, type, target, tag, comm, request), const int code = own();                \
                keep_send(code, request, comm, target, count, type); return code;)
#define CONSET_SENDS(LARGE, COUNT)                          \
    CONSET_SEND(Send##LARGE, COUNT)                         \
    CONSET_SEND(Ssend##LARGE, COUNT)                        \
    CONSET_SEND(Bsend##LARGE, COUNT)                        \
    CONSET_SEND(Rsend##LARGE, COUNT)                        \
    CONSET_ISEND(Isend##LARGE, COUNT)                       \
    CONSET_ISEND(Issend##LARGE, COUNT)                      \
    CONSET_ISEND(Ibsend##LARGE, COUNT)                      \
    CONSET_ISEND(Irsend##LARGE, COUNT)                      \
    CONSET_SEND_INIT(Send_init##LARGE, COUNT)               \
    CONSET_SEND_INIT(Ssend_init##LARGE, COUNT)              \
    CONSET_SEND_INIT(Bsend_init##LARGE, COUNT)              \
    CONSET_SEND_INIT(Rsend_init##LARGE, COUNT)              \
    CONSET_SENDRECV(Sendrecv##LARGE, COUNT)                 \
    CONSET_SENDRECV(Isendrecv##LARGE, COUNT)                \
    CONSET_SENDRECV_REPLACE(Sendrecv_replace##LARGE, COUNT) \
    CONSET_SENDRECV_REPLACE(Isendrecv_replace##LARGE, COUNT)
// the last parameter is a status, or a request
#define CONSET_SENDRECV(NAME, COUNT)                                                                           \
    CONSET_CALL(NAME,                                                                                          \
                (From from, COUNT count, Bits type, int target, int tag, Any to, COUNT to_count, Bits to_type, \
                 int source, int to_tag, Bits comm, Any last),                                                 \
                (from, count, type, target, tag, to, to_count, to_type, source, to_tag, comm, last),           \
                count_send(comm, target, count, type);                                                         \
                return own();)
#define CONSET_SENDRECV_REPLACE(NAME, COUNT)                                                                          \
    CONSET_CALL(                                                                                                      \
        NAME, (Any buffer, COUNT count, Bits type, int target, int tag, int source, int to_tag, Bits comm, Any last), \
        (buffer, count, type, target, tag, source, to_tag, comm, last), count_send(comm, target, count, type);        \
        return own();)
CONSET_SENDS(, int)
CONSET_SENDS(_c, Count)

CONSET_CALL(Start, (Any request), (request),
            if (Recorder* const recorder = Recorder::get(); recorder != nullptr)
                recorder->started(made_request(request));
            return own();)
CONSET_CALL(Startall, (int count, Any requests), (count, requests),
            if (Recorder* const recorder = Recorder::get(); recorder != nullptr) for (int k = 0; k < count; ++k)
                recorder->started(request_at(requests, static_cast<std::size_t>(k)));
            return own();)
CONSET_CALL(Request_free, (Any request), (request),
            if (Recorder* const recorder = Recorder::get(); recorder != nullptr) recorder->freed(made_request(request));
            return own();)

// Exchanges: blocking, begun, persistent.
#define CONSET_EXCHANGES(LARGE, COUNT, PLACE, IS_LARGE)                                                               \
    CONSET_EXCHANGE(Alltoall, LARGE, alltoall,                                                                        \
                    (From from, COUNT count, Bits type, Any to, COUNT to_count, Bits to_type, Bits comm),             \
                    (from, count, type, to, to_count, to_type, comm),                                                 \
                    ({Kind::alltoall,                                                                                 \
                      IS_LARGE,                                                                                       \
                      {from, count, nullptr, nullptr, type, nullptr},                                                 \
                      {to, to_count, nullptr, nullptr, to_type, nullptr}}))                                           \
    CONSET_EXCHANGE(Alltoallv, LARGE, alltoallv,                                                                      \
                    (From from, const COUNT* counts, const PLACE* starts, Bits type, Any to, const COUNT* to_counts,  \
                     const PLACE* to_starts, Bits to_type, Bits comm),                                                \
                    (from, counts, starts, type, to, to_counts, to_starts, to_type, comm),                            \
                    ({Kind::alltoallv,                                                                                \
                      IS_LARGE,                                                                                       \
                      {from, 0, counts, starts, type, nullptr},                                                       \
                      {to, 0, to_counts, to_starts, to_type, nullptr}}))                                              \
    CONSET_EXCHANGE(Alltoallw, LARGE, alltoallw,                                                                      \
                    (From from, const COUNT* counts, const PLACE* starts, From types, Any to, const COUNT* to_counts, \
                     const PLACE* to_starts, From to_types, Bits comm),                                               \
                    (from, counts, starts, types, to, to_counts, to_starts, to_types, comm),                          \
                    ({Kind::alltoallw,                                                                                \
                      IS_LARGE,                                                                                       \
                      {from, 0, counts, starts, 0, types},                                                            \
                      {to, 0, to_counts, to_starts, 0, to_types}}))
#define CONSET_OPEN(...) __VA_ARGS__
#define CONSET_EXCHANGE(NAME, LARGE, KIND, PARAMETERS, ARGUMENTS, MADE)                                  \
    CONSET_CALL(NAME##LARGE, PARAMETERS, ARGUMENTS, const Exchange exchange CONSET_OPEN MADE;            \
                return exchanged(#KIND, exchange, comm, own);)                                           \
    CONSET_CALL(I##KIND##LARGE, (CONSET_OPEN PARAMETERS, Any request), (CONSET_OPEN ARGUMENTS, request), \
                const Exchange exchange CONSET_OPEN MADE;                                                \
                begun("i" #KIND, exchange, comm); return own();)                                         \
    CONSET_CALL(NAME##_init##LARGE, (CONSET_OPEN PARAMETERS, Bits info, Any request),                    \
                (CONSET_OPEN ARGUMENTS, info, request), const Exchange exchange CONSET_OPEN MADE;        \
                const int code = own(); kept(code, request, #KIND "_init", exchange, comm); return code;)
CONSET_EXCHANGES(, int, int, false)
CONSET_EXCHANGES(_c, Count, Place, true)

// Other collectives: their calls, and the bytes that this rank gives.
#define CONSET_COLLECTIVES(LARGE, COUNT, PLACE, IS_LARGE)                                                              \
    CONSET_BOTH(Bcast, bcast, LARGE, (Any buffer, COUNT count, Bits type, int root, Bits comm),                        \
                (buffer, count, type, root, comm), count_total(kind, count, type);)                                    \
    CONSET_BOTH(Reduce, reduce, LARGE, (From from, Any to, COUNT count, Bits type, Bits op, int root, Bits comm),      \
                (from, to, count, type, op, root, comm), count_total(kind, count, type);)                              \
    CONSET_BOTH(Allreduce, allreduce, LARGE, (From from, Any to, COUNT count, Bits type, Bits op, Bits comm),          \
                (from, to, count, type, op, comm), count_total(kind, count, type);)                                    \
    CONSET_BOTH(Scan, scan, LARGE, (From from, Any to, COUNT count, Bits type, Bits op, Bits comm),                    \
                (from, to, count, type, op, comm), count_total(kind, count, type);)                                    \
    CONSET_BOTH(Exscan, exscan, LARGE, (From from, Any to, COUNT count, Bits type, Bits op, Bits comm),                \
                (from, to, count, type, op, comm), count_total(kind, count, type);)                                    \
    CONSET_BOTH(Gather, gather, LARGE,                                                                                 \
                (From from, COUNT count, Bits type, Any to, COUNT to_count, Bits to_type, int root, Bits comm),        \
                (from, count, type, to, to_count, to_type, root, comm),                                                \
                count_gather(kind, from, count, type, to_count, to_type);)                                             \
    CONSET_BOTH(Gatherv, gatherv, LARGE,                                                                               \
                (From from, COUNT count, Bits type, Any to, const COUNT* counts, const PLACE* starts, Bits to_type,    \
                 int root, Bits comm),                                                                                 \
                (from, count, type, to, counts, starts, to_type, root, comm),                                          \
                count_gather(kind, from, count, type, 0, to_type);)                                                    \
    CONSET_BOTH(Allgather, allgather, LARGE,                                                                           \
                (From from, COUNT count, Bits type, Any to, COUNT to_count, Bits to_type, Bits comm),                  \
                (from, count, type, to, to_count, to_type, comm),                                                      \
                count_gather(kind, from, count, type, to_count, to_type);)                                             \
    CONSET_BOTH(Allgatherv, allgatherv, LARGE,                                                                         \
                (From from, COUNT count, Bits type, Any to, const COUNT* counts, const PLACE* starts, Bits to_type,    \
                 Bits comm),                                                                                           \
                (from, count, type, to, counts, starts, to_type, comm),                                                \
                count_gather(kind, from, count, type, 0, to_type);)                                                    \
    CONSET_BOTH(Scatter, scatter, LARGE,                                                                               \
                (From from, COUNT count, Bits type, Any to, COUNT to_count, Bits to_type, int root, Bits comm),        \
                (from, count, type, to, to_count, to_type, root, comm),                                                \
                count_gather(kind, to, to_count, to_type, 0, to_type);)                                                \
    CONSET_BOTH(Scatterv, scatterv, LARGE,                                                                             \
                (From from, const COUNT* counts, const PLACE* starts, Bits type, Any to, COUNT to_count, Bits to_type, \
                 int root, Bits comm),                                                                                 \
                (from, counts, starts, type, to, to_count, to_type, root, comm),                                       \
                count_gather(kind, to, to_count, to_type, 0, to_type);)                                                \
    CONSET_BOTH(Reduce_scatter_block, reduce_scatter_block, LARGE,                                                     \
                (From from, Any to, COUNT count, Bits type, Bits op, Bits comm), (from, to, count, type, op, comm),    \
                count_total(kind, count, type);)                                                                       \
    CONSET_BOTH(Reduce_scatter, reduce_scatter, LARGE,                                                                 \
                (From from, Any to, const COUNT* counts, Bits type, Bits op, Bits comm),                               \
                (from, to, counts, type, op, comm),                                                                    \
                count_blocks(kind, comm, {Kind::alltoallv, IS_LARGE, {from, 0, counts, nullptr, type, nullptr}, {}});)
#define CONSET_BOTH(NAME, KIND, LARGE, PARAMETERS, ARGUMENTS, ...)                                                 \
    CONSET_CALL(NAME##LARGE, PARAMETERS, ARGUMENTS, constexpr const char* kind = #KIND; __VA_ARGS__ return own();) \
    CONSET_CALL(I##KIND##LARGE, (CONSET_OPEN PARAMETERS, Any request), (CONSET_OPEN ARGUMENTS, request),           \
                constexpr const char* kind = "i" #KIND;                                                            \
                __VA_ARGS__ return own();)
CONSET_COLLECTIVES(, int, int, false)
CONSET_COLLECTIVES(_c, Count, Place, true)
CONSET_BOTH(Barrier, barrier, , (Bits comm), (comm), count_total(kind, 0, 0);)

// One-sided: what a rank puts and gets.
#define CONSET_RMA(NAME, KIND, LARGE, COUNT)                                                                     \
    CONSET_CALL(                                                                                                 \
        NAME##LARGE,                                                                                             \
        (From from, COUNT count, Bits type, int target, Place place, COUNT to_count, Bits to_type, Bits window), \
        (from, count, type, target, place, to_count, to_type, window), count_total(#KIND, count, type);          \
        return own();)
CONSET_RMA(Put, put, , int)
CONSET_RMA(Get, get, , int)
CONSET_RMA(Put, put, _c, Count)
CONSET_RMA(Get, get, _c, Count)

// Begin and end of a program.
CONSET_CALL(Init, (int* count, char*** words), (count, words), const int code = own(); world(); return code;)
CONSET_CALL(Init_thread, (int* count, char*** words, int asked, int* given), (count, words, asked, given),
            const int code = own();
            world(); return code;)
CONSET_CALL(Session_init, (Bits info, Bits handler, Any session), (info, handler, session), const int code = own();
            if (code == 0) use_session(made_request(session)); return code;)
CONSET_CALL(Finalize, (), (), end_orderings(); write_record("finalize"); written = true; return own();)
CONSET_CALL(Session_finalize, (Any session), (session), end_orderings(); write_record("session"); written = true;
            return own();)
CONSET_CALL(Abort, (Bits comm, int code), (comm, code), Ordering::end(); write_record("abort"); written = true;
            return own();)
