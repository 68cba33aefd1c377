// Calls of MPI on one communicator as connections make them: bytes, requests, and Failure (Code::mpi) with MPI's text
// where one does not succeed. None of them blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "conset/execution/mpi_calls.hpp"
#include "conset/runtime/collectives.hpp"

namespace conset {

// Memory that MPI may still use is kept as long as the process.
template <class Memory>
void keep_for_mpi(Memory memory) {
    static std::mutex guard;
    static auto* const kept = new std::vector<Memory>;
    const std::scoped_lock lock(guard);
    kept->push_back(std::move(memory));
}

// What is sent on the communicator of an open program. Each of the connections from a rank to another has tags of its
// own, and so many are below 2^15, which MPI has at least.
enum class PacketTag : int { elements = 1, credits = 2, waits = 3 };
constexpr int kMostCopies = 10000;
constexpr int tag_of(PacketTag tag, int copy) { return static_cast<int>(tag) + 3 * copy; }

template <class Handle>
class CheckedMpi {
public:
    CheckedMpi(const MpiWorld<Handle>& world, int rank)
        : world_(world), rank_(rank), status_(std::make_unique<std::byte[]>(world.mpi.status_bytes)) {}

    const MpiWorld<Handle>& world() const { return world_; }
    int rank() const { return rank_; }
    // Whether a call has not succeeded.
    bool failed() const { return failed_; }

    Handle send(const void* from, std::int64_t bytes, int target, PacketTag tag, int copy = 0) {
        Handle request{};
        require("MPI_Isend", calls().isend(from, static_cast<int>(bytes), world_.mpi.byte, target, tag_of(tag, copy),
                                           world_.comm, &request));
        return request;
    }
    Handle receive(void* to, std::int64_t bytes, int source, PacketTag tag, int copy = 0) {
        Handle request{};
        require("MPI_Irecv", calls().irecv(to, static_cast<int>(bytes), world_.mpi.byte, source, tag_of(tag, copy),
                                           world_.comm, &request));
        return request;
    }
    Handle make_send(const void* from, std::int64_t bytes, int target, PacketTag tag, int copy = 0) {
        Handle request{};
        require("MPI_Send_init", calls().send_init(from, static_cast<int>(bytes), world_.mpi.byte, target,
                                                   tag_of(tag, copy), world_.comm, &request));
        return request;
    }
    Handle make_receive(void* to, std::int64_t bytes, int source, PacketTag tag, int copy = 0) {
        Handle request{};
        require("MPI_Recv_init", calls().recv_init(to, static_cast<int>(bytes), world_.mpi.byte, source,
                                                   tag_of(tag, copy), world_.comm, &request));
        return request;
    }
    Handle barrier() {
        Handle request{};
        require("MPI_Ibarrier", calls().ibarrier(world_.comm, &request));
        return request;
    }
    void start(Handle& request) { require("MPI_Start", calls().start(&request)); }
    // Of a request that is active, once.
    bool ended(Handle& request) {
        int flag = 0;
        require("MPI_Test", calls().test(&request, &flag, status_.get()));
        return flag != 0;
    }
    void free(Handle& request) { require("MPI_Request_free", calls().request_free(&request)); }
    // Ends a persistent receive that is started, and frees it.
    void withdraw(Handle& request) {
        require("MPI_Cancel", calls().cancel(&request));
        while (!ended(request)) continue;
        free(request);
    }
    // The same of one whose message may be under way. False: it is, and request and memory stay MPI's.
    bool try_withdraw(Handle& request) {
        require("MPI_Cancel", calls().cancel(&request));
        for (int look = 0; look < kLooksAtCancelled; ++look)
            if (ended(request)) {
                free(request);
                return true;
            }
        return false;
    }
    // Whether there is a message that nobody receives yet; from whom, and its bytes.
    bool probe(PacketTag tag, int& source, int& bytes) {
        int found = 0;
        require("MPI_Iprobe",
                calls().iprobe(world_.mpi.any_source, static_cast<int>(tag), world_.comm, &found, status_.get()));
        if (found == 0) return false;
        std::memcpy(&source, status_.get() + world_.mpi.source_at, sizeof(source));
        require("MPI_Get_count", calls().get_count(status_.get(), world_.mpi.byte, &bytes));
        return true;
    }

private:
    static constexpr int kLooksAtCancelled = 1000;

    const MpiCalls<Handle>& calls() const { return world_.mpi.calls; }
    void require(const char* call, int code) {
        if (code == 0) return;
        failed_ = true;
        throw Failure(Code::mpi, "rank " + std::to_string(rank_) + ": " + describe_mpi(world_.mpi, call, code));
    }

    MpiWorld<Handle> world_;
    int rank_;
    bool failed_ = false;
    std::unique_ptr<std::byte[]> status_;
};

}  // namespace conset
