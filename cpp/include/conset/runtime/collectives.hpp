// Collectives of MPI that never block: begun, and looked at until they end.
//
// Between two looks a rank yields its core; after 16 that found nothing it naps, longer and longer (ranks may exceed
// cores). What goes on when the deadline passes goes on in MPI: its buffers are never given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "conset/array.hpp"
#include "conset/execution/mpi_calls.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

// What a call of MPI returned, in its library's words and one line.
template <class Handle>
std::string describe_mpi(const Mpi<Handle>& mpi, const char* call, int code);

// Looks again and again, with pauses in between.
class Polling {
public:
    // `nap_s`: longest nap; 0: none.
    explicit Polling(double nap_s) : nap_s_(nap_s) {}
    void pause();
    void found() { looks_ = 0; }

private:
    double nap_s_, nap_ = 0;
    int looks_ = 0;
};

inline constexpr double kLongestNap = 100e-6;  // [s] where ranks exceed cores

template <class Handle>
class Collectives {
public:
    // Throws Failure (Code::mpi).
    explicit Collectives(const MpiWorld<Handle>& world);

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    // Deadline of each collective [s], 0: none; and what one is waited for, in words.
    void set_deadline(double seconds, std::string purpose);
    void set_nap(double seconds) { nap_s_ = seconds; }
    double nap() const { return nap_s_; }

    // All of these throw Failure: Code::mpi, Code::timeout. Bytes of all ranks together are within an int.
    template <class T>
    Array<T> all_gather(const T& own) {
        static_assert(std::is_trivially_copyable_v<T>);
        const Array<std::byte> all = all_gather_bytes(&own, sizeof(T));
        Array<T> values(as_size(ranks_));
        std::memcpy(values.data(), all.data(), all.size());
        return values;
    }
    // What every rank has, one after the other; `bytes` of each rank.
    Array<std::byte> all_gather(View<const std::byte> own, View<const std::int64_t> bytes);
    // The same, at rank 0; nothing elsewhere.
    Array<std::byte> gather(View<const std::byte> own, View<const std::int64_t> bytes);
    // Each rank's part of what rank 0 has; `all` and `bytes` are looked at there only.
    Array<std::byte> scatter(View<const std::byte> all, View<const std::int64_t> bytes, std::int64_t own_bytes);
    void broadcast(View<std::byte> buffer, int root);

private:
    struct Buffers {
        Array<std::byte> send, receive;
        Array<int> counts, starts;
    };
    Array<std::byte> all_gather_bytes(const void* own, std::size_t bytes);
    std::unique_ptr<Buffers> buffers(View<const std::byte> send, View<const std::int64_t> bytes) const;
    void begin(const char* call, int code) const;
    // Waits; the receive buffer.
    Array<std::byte> end(std::unique_ptr<Buffers> buffers, Handle& request);

    MpiWorld<Handle> world_;
    std::unique_ptr<std::byte[]> status_;
    int rank_ = 0, ranks_ = 0;
    double timeout_s_ = 0, nap_s_ = kLongestNap;
    std::string purpose_;
};

extern template class Collectives<int>;
extern template class Collectives<void*>;

}  // namespace conset
