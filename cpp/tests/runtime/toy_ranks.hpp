// A toy MPI whose ranks are threads: messages, collectives, communicators and datatypes as far as an exchange is made
// with them. It checks what a library may not: that all ranks come to the same collectives in the same order, that
// sizes of messages agree; and counts what is left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "conset/execution/mpi_calls.hpp"
#include "conset/random.hpp"

namespace conset::toy_ranks {

inline constexpr int kByte = 77, kDouble = 78, kColumn = 79;  // a column: 2 doubles, 3 apart; MPI_BYTE is a byte
inline constexpr int kMostRanks = 64;

// Bytes of an element that are data, from their offset on.
struct Type {
    int size, extent;
    bool named;
    std::vector<std::pair<int, int>> parts;  // offset, bytes
};

inline const Type& type_of(int handle) {
    static const std::map<int, Type> types{{kByte, {1, 1, true, {{0, 1}}}},
                                           {kDouble, {8, 8, true, {{0, 8}}}},
                                           {kColumn, {16, 32, false, {{0, 8}, {24, 8}}}}};
    return types.at(handle);
}

inline std::vector<std::byte> packed(const void* from, int count, int type) {
    std::vector<std::byte> data;
    const auto* first = static_cast<const std::byte*>(from);
    for (int k = 0; k < count; ++k)
        for (const auto& [offset, bytes] : type_of(type).parts) {
            const std::byte* part = first + k * type_of(type).extent + offset;
            data.insert(data.end(), part, part + bytes);
        }
    return data;
}

// `most`: what a receive has place for; a message may be shorter.
inline void unpack(const std::vector<std::byte>& data, void* to, int count, int type, bool most = false) {
    if (most) count = std::min(count, static_cast<int>(data.size()) / type_of(type).size);
    if (data.size() != static_cast<std::size_t>(count) * static_cast<std::size_t>(type_of(type).size))
        throw std::logic_error("a message of " + std::to_string(data.size()) + " B meets a receive of another size");
    auto* first = static_cast<std::byte*>(to);
    const std::byte* next = data.data();
    for (int k = 0; k < count; ++k)
        for (const auto& [offset, bytes] : type_of(type).parts) {
            std::memcpy(first + k * type_of(type).extent + offset, next, static_cast<std::size_t>(bytes));
            next += bytes;
        }
}

struct Request {
    bool send = true, persistent = false, active = false, ended = false, freed = false;
    void* buffer = nullptr;
    int count = 0, type = kByte, peer = 0, tag = 0, comm = 0, rank = 0;
    bool collective = false;
    std::vector<std::byte> data;  // of a send
    std::uint32_t looks = 0;      // so many until it is seen to end, once it has
};

// A collective that some ranks have come to.
struct Collective {
    std::string name;
    std::map<int, std::vector<std::byte>> given;                 // by rank
    std::map<int, std::function<void(const Collective&)>> take;  // by rank
    std::vector<int> requests;
};

class Mpi {
public:
    explicit Mpi(int ranks) : ranks_(ranks) { here() = this; }
    ~Mpi() { here() = nullptr; }
    Mpi(const Mpi&) = delete;
    Mpi& operator=(const Mpi&) = delete;
    static Mpi*& here() {
        static Mpi* mpi = nullptr;
        return mpi;
    }

    std::mutex mutex;
    int fail_send_init_at = -1;                 // rank
    int fail_isend_at = -1;                     // rank
    bool short_messages = false;                // a receive may have place for more than is sent
    std::uint32_t most_looks = 0;               // at a request that has ended, until it is seen to
    std::function<void(Request&)> sent{};       // called with every send that starts
    std::function<void(Request&)> cancelled{};  // and with every receive that is cancelled

    int ranks() const { return ranks_; }
    // Persistent requests and duplicated communicators that were not freed.
    std::size_t left() {
        const std::scoped_lock lock(mutex);
        std::size_t count = static_cast<std::size_t>(communicators_);
        for (const Request& request : requests_) count += request.persistent && !request.freed ? 1 : 0;
        return count;
    }

    int make(Request request) {
        requests_.push_back(std::move(request));
        return static_cast<int>(requests_.size());
    }
    Request& at(int number) { return requests_.at(static_cast<std::size_t>(number - 1)); }

    void start(int number) {
        Request& request = at(number);
        if (request.active || request.freed) throw std::logic_error("a request is started that is active or freed");
        request.active = true;
        request.ended = false;
        if (request.send) request.data = packed(request.buffer, request.count, request.type);
        const auto key = request.send ? std::tuple(request.comm, request.rank, request.peer, request.tag)
                                      : std::tuple(request.comm, request.peer, request.rank, request.tag);
        request.looks = most_looks == 0 ? 0 : random_.below(most_looks);
        if (request.send && sent) sent(request);
        auto& [leaving, expected] = queues_[key];
        (request.send ? leaving : expected).push_back(number);
        while (!leaving.empty() && !expected.empty()) {
            Request &from = at(leaving.front()), &to = at(expected.front());
            leaving.pop_front();
            expected.pop_front();
            unpack(from.data, to.buffer, to.count, to.type, short_messages);
            from.ended = to.ended = true;
        }
    }

    bool test(int number) {
        Request& request = at(number);
        if (!request.active) return true;
        if (!request.ended || request.looks-- > 0) return false;
        request.looks = 0;
        request.active = false;
        return true;
    }

    void free(int number) {
        Request& request = at(number);
        if ((request.active && request.persistent) || request.freed)
            throw std::logic_error("a request is freed that is active, or was freed");
        request.freed = true;
    }

    // Of a receive.
    void cancel(int number) {
        Request& request = at(number);
        if (!request.active || request.send) throw std::logic_error("what is cancelled is no active receive");
        for (auto& [key, queues] : queues_)
            if (const auto found = std::find(queues.second.begin(), queues.second.end(), number);
                found != queues.second.end())
                queues.second.erase(found);
        request.ended = true;
        if (cancelled) cancelled(request);
    }

    // Messages that nobody has received.
    std::size_t unreceived() const {
        std::size_t count = 0;
        for (const auto& [key, queues] : queues_) count += queues.first.size();
        return count;
    }

    // A source that has sent to this rank what it has not received, and how many bytes; -1: none has.
    std::pair<int, std::size_t> probe(int comm, int rank, int tag) {
        for (auto& [key, queues] : queues_)
            if (std::get<0>(key) == comm && std::get<2>(key) == rank && std::get<3>(key) == tag &&
                !queues.first.empty())
                return {std::get<1>(key), at(queues.first.front()).data.size()};
        return {-1, 0};
    }

    int collective(const std::string& name, int comm, int rank, std::vector<std::byte> given,
                   std::function<void(const Collective&)> take) {
        Collective& each = collectives_[{comm, turns_[{comm, rank}]++}];
        if (each.name.empty()) each.name = name;
        if (each.name != name) throw std::logic_error(each.name + " meets " + name);
        Request request;
        request.active = request.collective = true;
        const int number = make(request);
        each.requests.push_back(number);
        each.given[rank] = std::move(given);
        each.take[rank] = std::move(take);
        if (static_cast<int>(each.requests.size()) == ranks_) {
            for (auto& [other, taken] : each.take) taken(each);
            for (const int other : each.requests) at(other).ended = true;
        }
        return number;
    }

    int duplicate(int comm, int rank) {
        const auto [entry, fresh] = copies_.try_emplace({comm, duplicates_[{comm, rank}]++}, 0);
        if (fresh) entry->second = ++last_communicator_;
        ++communicators_;
        return entry->second;
    }
    void forget_communicator() { --communicators_; }

private:
    int ranks_, last_communicator_ = 0, communicators_ = 0;
    std::deque<Request> requests_;
    Random random_{1};
    std::map<std::tuple<int, int, int, int>, std::pair<std::deque<int>, std::deque<int>>> queues_;
    std::map<std::pair<int, int>, Collective> collectives_;
    std::map<std::pair<int, int>, int> turns_, duplicates_, copies_;
};

template <class Handle>
int number(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
        return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
    else
        return handle;
}
template <class Handle>
Handle handle(int number) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<Handle>(static_cast<std::intptr_t>(number));
    else
        return number;
}
template <class Handle>
int rank_in(Handle comm) {
    return number(comm) % kMostRanks;
}

// A communicator is its number × kMostRanks + the rank; numbers begin with 1.
template <class Handle>
MpiWorld<Handle> world_of(int rank);

// Calls work(rank) in as many threads at once; what one throws is thrown.
template <class Work>
void in_ranks(int ranks, Work work) {
    std::vector<std::thread> threads;
    std::exception_ptr error;
    std::mutex mutex;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                work(rank);
            } catch (...) {
                const std::scoped_lock lock(mutex);
                error = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace conset::toy_ranks
