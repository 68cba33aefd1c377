// The functions of conset.h. Each checks the pointers that it is given; what follows is behind `guarded`.
#include "conset.h"

#include <climits>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "application_exchange.hpp"
#include "application_plan.hpp"
#include "application_program.hpp"
#include "border.hpp"
#include "program_mpi.hpp"

namespace {

using conset::Blocks;
using conset::Code;
using conset::Failure;
using conset::Outcome;
using conset::capi::guarded;

static_assert(
    CONSET_SUCCESS == static_cast<int>(Code::fine) && CONSET_ERR_ARGUMENT == static_cast<int>(Code::argument) &&
    CONSET_ERR_FILE == static_cast<int>(Code::file) && CONSET_ERR_MISMATCH == static_cast<int>(Code::mismatch) &&
    CONSET_ERR_STATE == static_cast<int>(Code::state) && CONSET_ERR_SCHEDULE == static_cast<int>(Code::schedule) &&
    CONSET_ERR_TIMEOUT == static_cast<int>(Code::timeout) && CONSET_ERR_MPI == static_cast<int>(Code::mpi) &&
    CONSET_ERR_MEMORY == static_cast<int>(Code::memory) && CONSET_ERR_INTERNAL == static_cast<int>(Code::internal));

void require_given(bool given, const char* name) {
    if (!given) throw Failure(Code::argument, std::string(name) + ": is NULL");
}

// What a pointer of the program's points to; throws Failure where it is NULL or was freed.
template <class Held>
auto& body_of(Held* held, const char* name) {
    require_given(held != nullptr, name);
    if (held->magic != std::remove_const_t<Held>::kMagic)
        throw Failure(Code::state, std::string(name) + ": has been freed, or is none");
    return *held->body;
}

// Ends a program's hold: `*held` is NULL after it, except where it is refused, and stays as it is.
template <class Held>
Outcome release(Held** held, const char* name) {
    require_given(held != nullptr, name);
    if (*held == nullptr) return {};
    auto& body = body_of(*held, name);
    conset::capi::require_running((*held)->finalized);
    Outcome outcome = body.free();
    if (outcome.code == Code::state) return outcome;
    (*held)->magic = 0;
    delete *held;
    *held = nullptr;
    return outcome;
}

template <class Held, class Body>
Held* hold(std::unique_ptr<Body> body, std::uint64_t finalized) {
    auto held = std::make_unique<Held>();
    held->body = std::move(body);
    held->finalized = finalized;
    return held.release();
}

// The program of a connection; throws Failure where the pointer is none.
conset::capi::ApplicationProgram& program_of(const struct conset_connection* connection) {
    require_given(connection != nullptr, "connection");
    return body_of(connection->program, "program");
}

void copy_receives(const Blocks& blocks, int sources[], int counts[], int displs[]) {
    for (std::size_t k = 0; k < blocks.peer.size(); ++k) {
        if (displs != nullptr && blocks.displacement[k] > INT_MAX)
            throw Failure(Code::argument, "displs: block " + std::to_string(k) + " begins at element " +
                                              std::to_string(blocks.displacement[k]) + ", at most " +
                                              std::to_string(INT_MAX) + " fits an int");
        if (sources != nullptr) sources[k] = blocks.peer[k];
        if (counts != nullptr) counts[k] = static_cast<int>(blocks.count[k]);
        if (displs != nullptr) displs[k] = static_cast<int>(blocks.displacement[k]);
    }
}

}  // namespace

extern "C" {

int conset_lib_alltoallv_init(const conset_lib_mpi* mpi, conset_lib_comm comm, int neighbor,
                              const conset_lib_blocks* blocks, const char* options, conset_exchange** exchange) {
    return guarded([&]() -> Outcome {
        require_given(exchange != nullptr, "exchange");
        *exchange = nullptr;
        conset::capi::require_usable(mpi, comm);
        Outcome outcome;
        auto body = conset::capi::make_alltoallv(*mpi, comm, neighbor != 0, *blocks, options, outcome);
        if (body != nullptr) *exchange = hold<conset_exchange>(std::move(body), mpi->finalized);
        return outcome;
    });
}

int conset_lib_alltoallv_update(conset_exchange* exchange, const conset_lib_blocks* blocks) {
    return guarded([&] { return body_of(exchange, "exchange").update(*blocks); });
}

int conset_lib_plan_read(const conset_lib_mpi* mpi, conset_lib_comm comm, const char* path, conset_plan** plan) {
    return guarded([&]() -> Outcome {
        require_given(plan != nullptr, "plan");
        *plan = nullptr;
        conset::capi::require_usable(mpi, comm);
        Outcome outcome;
        auto body = conset::capi::read_plan(*mpi, comm, path, outcome);
        if (body != nullptr) *plan = hold<conset_plan>(std::move(body), mpi->finalized);
        return outcome;
    });
}

int conset_plan_buffers(const conset_plan* plan, int64_t* send_bytes, int64_t* receive_bytes) {
    return guarded([&]() -> Outcome {
        const conset::PlanFile& file = body_of(plan, "plan").file();
        if (send_bytes != nullptr) *send_bytes = file.send_bytes;
        if (receive_bytes != nullptr) *receive_bytes = file.receive_bytes;
        return {};
    });
}

int conset_plan_timeout(conset_plan* plan, double seconds) {
    return guarded([&]() -> Outcome {
        body_of(plan, "plan");
        if (!std::isfinite(seconds) || seconds < 0)
            throw Failure(Code::argument, "seconds: " + std::to_string(seconds) + " must be finite, and not below 0");
        plan->timeout_s = seconds;
        return {};
    });
}

int conset_exchange_init(conset_plan* plan, const void* sendbuf, void* recvbuf, conset_exchange** exchange) {
    return guarded([&]() -> Outcome {
        require_given(exchange != nullptr, "exchange");
        *exchange = nullptr;
        auto& plan_body = body_of(plan, "plan");
        conset::capi::require_running(plan->finalized);
        Outcome outcome;
        auto body = plan_body.exchange(sendbuf, recvbuf, plan->timeout_s, outcome);
        if (body != nullptr) *exchange = hold<conset_exchange>(std::move(body), plan->finalized);
        return outcome;
    });
}

int conset_plan_free(conset_plan** plan) {
    return guarded([&] { return release(plan, "plan"); });
}

int conset_start(conset_exchange* exchange) {
    return guarded([&] { return body_of(exchange, "exchange").start(); });
}

int conset_progress(conset_exchange* exchange, int* done) {
    return guarded([&]() -> Outcome {
        require_given(done != nullptr, "done");
        *done = 0;
        bool ended = false;
        Outcome outcome = body_of(exchange, "exchange").progress(ended);
        *done = ended ? 1 : 0;
        return outcome;
    });
}

int conset_wait(conset_exchange* exchange) {
    return guarded([&] { return body_of(exchange, "exchange").wait(); });
}

int conset_free(conset_exchange** exchange) {
    return guarded([&] { return release(exchange, "exchange"); });
}

int conset_exchange_info(const conset_exchange* exchange, conset_info* info) {
    return guarded([&]() -> Outcome {
        require_given(info != nullptr, "info");
        *info = {};
        body_of(exchange, "exchange").describe(*info);
        return {};
    });
}

int conset_exchange_receives(const conset_exchange* exchange, int* blocks, int sources[], int counts[], int displs[]) {
    return guarded([&]() -> Outcome {
        const Blocks& receives = body_of(exchange, "exchange").receives();
        copy_receives(receives, sources, counts, displs);
        if (blocks != nullptr) *blocks = static_cast<int>(receives.peer.size());
        return {};
    });
}

int conset_lib_program_open(const conset_lib_mpi* mpi, conset_lib_comm comm, const char* path,
                            conset_program** program) {
    return guarded([&]() -> Outcome {
        require_given(program != nullptr, "program");
        *program = nullptr;
        conset::capi::require_usable(mpi, comm);
        Outcome outcome;
        auto body = conset::capi::open_program(*mpi, comm, path, outcome);
        if (body != nullptr) *program = hold<conset_program>(std::move(body), mpi->finalized);
        return outcome;
    });
}

int conset_program_blocks(const conset_program* program, int* count) {
    return guarded([&]() -> Outcome {
        require_given(count != nullptr, "count");
        *count = static_cast<int>(body_of(program, "program").part().names.size());
        return {};
    });
}

int conset_program_block(const conset_program* program, int block, conset_block_info* info) {
    return guarded([&]() -> Outcome {
        require_given(info != nullptr, "info");
        const auto& body = body_of(program, "program");
        conset::capi::describe_block(body.part(), block, body.phases(block), *info);
        return {};
    });
}

int conset_program_phases(const conset_program* program, int block, int* count) {
    return guarded([&]() -> Outcome {
        require_given(count != nullptr, "count");
        *count = static_cast<int>(body_of(program, "program").phases(block));
        return {};
    });
}

int conset_program_find(const conset_program* program, const char* name, int* block) {
    return guarded([&]() -> Outcome {
        require_given(name != nullptr, "name");
        require_given(block != nullptr, "block");
        *block = conset::capi::find_block(body_of(program, "program").part(), name);
        return {};
    });
}

int conset_program_next(const conset_program* program, conset_step* step) {
    return guarded([&]() -> Outcome {
        require_given(step != nullptr, "step");
        *step = conset::capi::step_after(body_of(program, "program"), *step);
        return {};
    });
}

int conset_phase_connections(const conset_program* program, int block, int phase, int* count,
                             conset_connection_info* connections) {
    return guarded([&]() -> Outcome {
        const auto& body = body_of(program, "program");
        conset::capi::describe_connections(body.part(), body.global_phase(block, phase), count, connections);
        return {};
    });
}

int conset_program_packets(conset_program* program, int64_t bytes, int credits) {
    return guarded([&]() -> Outcome {
        body_of(program, "program").set_packets({bytes, credits});
        return {};
    });
}

int conset_program_timeout(conset_program* program, double seconds) {
    return guarded([&]() -> Outcome {
        body_of(program, "program").set_timeout(seconds);
        return {};
    });
}

int conset_instantiate(conset_program* program, int block, int phase) {
    return guarded([&]() -> Outcome {
        auto& body = body_of(program, "program");
        conset::capi::require_running(program->finalized);
        body.instantiate(block, phase);
        return {};
    });
}

int conset_connection(conset_program* program, int peer, int direction, struct conset_connection** connection) {
    return guarded([&]() -> Outcome {
        require_given(connection != nullptr, "connection");
        *connection = nullptr;
        auto& body = body_of(program, "program");
        if (direction != CONSET_SEND && direction != CONSET_RECEIVE)
            throw Failure(Code::argument,
                          "direction: " + std::to_string(direction) + " must be CONSET_SEND or CONSET_RECEIVE");
        *connection = body.connection(peer, direction == CONSET_SEND, program);
        return {};
    });
}

int conset_connection_by_id(conset_program* program, int id, struct conset_connection** connection) {
    return guarded([&]() -> Outcome {
        require_given(connection != nullptr, "connection");
        *connection = nullptr;
        *connection = body_of(program, "program").connection(id, program);
        return {};
    });
}

int conset_lib_send_elements(struct conset_connection* connection, const void* data, int64_t count, uint64_t type) {
    return guarded([&]() -> Outcome {
        program_of(connection).send(*connection, data, count, type);
        return {};
    });
}

int conset_lib_receive_elements(struct conset_connection* connection, void* data, int64_t count, uint64_t type) {
    return guarded([&]() -> Outcome {
        program_of(connection).receive(*connection, data, count, type);
        return {};
    });
}

int conset_lib_send_computed(struct conset_connection* connection, int64_t count, uint64_t type,
                             conset_producer produce, void* state) {
    return guarded([&]() -> Outcome {
        require_given(produce != nullptr, "produce");
        program_of(connection).send_computed(*connection, count, type, produce, state);
        return {};
    });
}

int conset_lib_receive_apply(struct conset_connection* connection, int64_t count, uint64_t type, conset_operator apply,
                             void* state) {
    return guarded([&]() -> Outcome {
        require_given(apply != nullptr, "apply");
        program_of(connection).receive_apply(*connection, count, type, apply, state);
        return {};
    });
}

int conset_lib_spool_send(struct conset_connection* connection, const void* data, int64_t count, uint64_t type) {
    return guarded([&]() -> Outcome {
        program_of(connection).spool_send(*connection, data, count, type);
        return {};
    });
}

int conset_lib_spool_receive(struct conset_connection* connection, void* data, int64_t count, uint64_t type) {
    return guarded([&]() -> Outcome {
        program_of(connection).spool_receive(*connection, data, count, type);
        return {};
    });
}

int conset_spool_wait(struct conset_connection* connection) {
    return guarded([&]() -> Outcome {
        program_of(connection).spool_wait(*connection);
        return {};
    });
}

int conset_program_progress(conset_program* program) {
    return guarded([&]() -> Outcome {
        body_of(program, "program").progress();
        return {};
    });
}

int conset_phase_end(conset_program* program) {
    return guarded([&]() -> Outcome {
        body_of(program, "program").phase_end();
        return {};
    });
}

int conset_program_times(const conset_program* program, conset_switch_times* times) {
    return guarded([&]() -> Outcome {
        require_given(times != nullptr, "times");
        const auto sums = body_of(program, "program").times();
        *times = {sums.phases,  sums.switches, sums.drain_s, sums.synchronization_s,
                  sums.setup_s, sums.packets,  sums.elements};
        return {};
    });
}

int conset_program_close(conset_program** program) {
    return guarded([&] { return release(program, "program"); });
}

const char* conset_error_string(int code) {
    switch (code) {
        case CONSET_SUCCESS: return "no error";
        case CONSET_ERR_ARGUMENT: return "an argument or option is wrong";
        case CONSET_ERR_FILE: return "a file cannot be read, or is none of conset's";
        case CONSET_ERR_MISMATCH: return "ranks do not agree";
        case CONSET_ERR_STATE: return "not possible in this state";
        case CONSET_ERR_SCHEDULE: return "no schedule within the limits";
        case CONSET_ERR_TIMEOUT: return "the deadline has passed";
        case CONSET_ERR_MPI: return "a call of MPI failed";
        case CONSET_ERR_MEMORY: return "not enough memory";
        case CONSET_ERR_INTERNAL: return "internal error of conset";
        default: return "unknown code";
    }
}

const char* conset_error_detail(void) { return conset::capi::last_detail(); }

const char* conset_version(void) { return CONSET_VERSION; }

}  // extern "C"
