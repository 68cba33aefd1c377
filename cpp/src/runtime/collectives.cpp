#include "conset/runtime/collectives.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

namespace conset {

namespace {

constexpr int kLooksBeforeNap = 16;
constexpr int kShortestNap = 8;  // the first nap is that part of the longest

}  // namespace

template <class Handle>
std::string describe_mpi(const Mpi<Handle>& mpi, const char* call, int code) {
    std::array<char, 4096> text{};  // more than the MPI_MAX_ERROR_STRING of any library
    int length = 0;
    mpi.calls.error_string(code, text.data(), &length);
    std::string said = std::string(call) + ": " + text.data();
    for (std::size_t k = said.find('\n'); k != std::string::npos; k = said.find('\n')) said.replace(k, 1, "; ");
    return said;
}

void Polling::pause() {
    if (nap_s_ == 0 || ++looks_ <= kLooksBeforeNap) {
        sched_yield();
        nap_ = nap_s_ / kShortestNap;
    } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(nap_));
        nap_ = std::min(nap_s_, 2 * nap_);
    }
}

template <class Handle>
Collectives<Handle>::Collectives(const MpiWorld<Handle>& world)
    : world_(world), status_(std::make_unique<std::byte[]>(world.mpi.status_bytes)) {
    begin("MPI_Comm_rank", world_.mpi.calls.comm_rank(world_.comm, &rank_));
    begin("MPI_Comm_size", world_.mpi.calls.comm_size(world_.comm, &ranks_));
}

template <class Handle>
void Collectives<Handle>::set_deadline(double seconds, std::string purpose) {
    timeout_s_ = seconds;
    purpose_ = std::move(purpose);
}

template <class Handle>
void Collectives<Handle>::begin(const char* call, int code) const {
    if (code != 0) throw Failure(Code::mpi, describe_mpi(world_.mpi, call, code));
}

template <class Handle>
Array<std::byte> Collectives<Handle>::end(std::unique_ptr<Buffers> buffers, Handle& request) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    Polling polling(nap_s_);
    for (int ended = 0;; polling.pause()) {
        const int code = world_.mpi.calls.test(&request, &ended, status_.get());
        if (code == 0 && ended != 0) return std::move(buffers->receive);
        const double waited = std::chrono::duration<double>(Clock::now() - began).count();
        if (code == 0 && (timeout_s_ == 0 || waited <= timeout_s_)) continue;
        static_cast<void>(buffers.release());  // they are MPI's for good
        begin("MPI_Test", code);
        std::array<char, 32> after{};
        static_cast<void>(std::snprintf(after.data(), after.size(), "%.1f s", waited));
        throw Failure(Code::timeout, "rank " + std::to_string(rank_) + ": " + purpose_ +
                                         ": other ranks have not come to it after " + after.data());
    }
}

template <class Handle>
Array<std::byte> Collectives<Handle>::all_gather_bytes(const void* own, std::size_t bytes) {
    auto buffers = std::make_unique<Buffers>();
    const auto* first = static_cast<const std::byte*>(own);
    buffers->send.assign(first, first + bytes);
    buffers->receive.resize(bytes * as_size(ranks_));
    const int count = static_cast<int>(bytes);
    Handle request{};
    begin("MPI_Iallgather",
          world_.mpi.calls.iallgather(buffers->send.data(), count, world_.mpi.byte, buffers->receive.data(), count,
                                      world_.mpi.byte, world_.comm, &request));
    return end(std::move(buffers), request);
}

// With counts and starts by rank.
template <class Handle>
std::unique_ptr<typename Collectives<Handle>::Buffers> Collectives<Handle>::buffers(
    View<const std::byte> send, View<const std::int64_t> bytes) const {
    auto buffers = std::make_unique<Buffers>();
    buffers->send.assign(send.begin(), send.end());
    std::int64_t start = 0;
    for (const std::int64_t each : bytes) {
        buffers->counts.push_back(static_cast<int>(each));
        buffers->starts.push_back(static_cast<int>(start));
        start += each;
    }
    buffers->receive.resize(as_size(start));
    return buffers;
}

template <class Handle>
Array<std::byte> Collectives<Handle>::all_gather(View<const std::byte> own, View<const std::int64_t> bytes) {
    auto all = buffers(own, bytes);
    Handle request{};
    begin("MPI_Iallgatherv", world_.mpi.calls.iallgatherv(all->send.data(), static_cast<int>(own.size()),
                                                          world_.mpi.byte, all->receive.data(), all->counts.data(),
                                                          all->starts.data(), world_.mpi.byte, world_.comm, &request));
    return end(std::move(all), request);
}

template <class Handle>
Array<std::byte> Collectives<Handle>::gather(View<const std::byte> own, View<const std::int64_t> bytes) {
    auto all = buffers(own, rank_ == 0 ? bytes : View<const std::int64_t>{});
    Handle request{};
    begin("MPI_Igatherv", world_.mpi.calls.igatherv(all->send.data(), static_cast<int>(own.size()), world_.mpi.byte,
                                                    all->receive.data(), all->counts.data(), all->starts.data(),
                                                    world_.mpi.byte, 0, world_.comm, &request));
    return end(std::move(all), request);
}

template <class Handle>
Array<std::byte> Collectives<Handle>::scatter(View<const std::byte> all, View<const std::int64_t> bytes,
                                              std::int64_t own_bytes) {
    auto parts = buffers(rank_ == 0 ? all : View<const std::byte>{}, rank_ == 0 ? bytes : View<const std::int64_t>{});
    parts->receive.assign(as_size(own_bytes), std::byte{0});
    Handle request{};
    begin("MPI_Iscatterv",
          world_.mpi.calls.iscatterv(parts->send.data(), parts->counts.data(), parts->starts.data(), world_.mpi.byte,
                                     parts->receive.data(), static_cast<int>(own_bytes), world_.mpi.byte, 0,
                                     world_.comm, &request));
    return end(std::move(parts), request);
}

template <class Handle>
void Collectives<Handle>::broadcast(View<std::byte> buffer, int root) {
    auto copy = std::make_unique<Buffers>();
    copy->receive.assign(buffer.begin(), buffer.end());
    Handle request{};
    begin("MPI_Ibcast", world_.mpi.calls.ibcast(copy->receive.data(), static_cast<int>(buffer.size()), world_.mpi.byte,
                                                root, world_.comm, &request));
    const Array<std::byte> came = end(std::move(copy), request);
    std::copy(came.begin(), came.end(), buffer.begin());
}

template class Collectives<int>;
template class Collectives<void*>;
template std::string describe_mpi(const Mpi<int>&, const char*, int);
template std::string describe_mpi(const Mpi<void*>&, const char*, int);

}  // namespace conset
