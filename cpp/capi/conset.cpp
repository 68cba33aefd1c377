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
