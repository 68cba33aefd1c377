// A toy MPI inside one thread: ranks are communicator handles, requests numbers, and whoever tests is told the truth as
// of now. It is unkind where the standard allows it: MPI_Startall starts in any order, messages of different pairs take
// different times, a message above the eager limit leaves when its receive is there. What the standard forbids throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "conset/execution/mpi_calls.hpp"
#include "conset/random.hpp"

namespace conset::toy {

// A datatype: of every `extent` bytes the first `bytes` travel.
struct Type {
    int bytes, extent;
};
inline constexpr int kByte = 77, kSparse = 78;  // MPI_BYTE; 4 of 12 bytes

struct Request {
    bool send;
    std::byte* buffer;
    Type type;
    int elements, count;  // count: bytes that travel
    int peer, tag, rank;
    bool persistent = true, active = false, freed = false, ended = false;
    bool barrier = false;
    std::size_t group = 0;   // of a barrier
    std::int64_t looks = 0;  // so many until it is seen to end, once it has
    std::vector<std::byte> on_its_way;

    template <class Copy>
    void each_element(Copy copy) const {
        for (int k = 0; k < elements; ++k) copy(buffer + k * type.extent, static_cast<std::size_t>(k * type.bytes));
    }
    std::vector<std::byte> packed() const {
        std::vector<std::byte> bytes(static_cast<std::size_t>(count));
        each_element([&](const std::byte* from, std::size_t at) {
            std::copy_n(from, type.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(at));
        });
        return bytes;
    }
};

struct Counters {
    std::int64_t startalls = 0, starts = 0, tests = 0, idle_tests = 0, barriers = 0;
    std::int64_t receives_open = 0, most_receives_open = 0, sends_open = 0, most_sends_open = 0;
};

// What a rank did to a request, of data or a signal.
struct Event {
    int rank, peer, tag;
    bool send, started;  // else seen to have ended
    const std::byte* buffer;
};

class Network {
public:
    Network(int ranks, std::uint64_t seed, int eager_bytes, int most_looks)
        : counters(static_cast<std::size_t>(ranks)),
          random_(seed),
          eager_(eager_bytes),
          most_looks_(most_looks),
          at_barrier_(static_cast<std::size_t>(ranks), 0) {
        here() = this;
    }
    ~Network() { here() = nullptr; }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    static Network*& here() {
        static Network* network = nullptr;
        return network;
    }

    std::vector<Counters> counters;  // by rank
    int fail_after = -1;             // so many calls of MPI_Send_init go well, then none does
    bool logged = false;             // whether there is a log
    std::vector<Event> log;

    std::size_t left() const {
        return static_cast<std::size_t>(std::count_if(requests_.begin(), requests_.end(),
                                                      [](const Request& r) { return r.persistent && !r.freed; }));
    }

    int make(bool send, void* buffer, int elements, int type, int peer, int tag, int rank) {
        if (send && fail_after == 0) return -1;
        if (send && fail_after > 0) --fail_after;
        if (type != kByte && type != kSparse) throw std::logic_error("a datatype that does not exist");
        const Type found = type == kByte ? Type{1, 1} : Type{4, 12};
        requests_.push_back({send,
                             static_cast<std::byte*>(buffer),
                             found,
                             elements,
                             elements * found.bytes,
                             peer,
                             tag,
                             rank,
                             true,
                             false,
                             false,
                             false,
                             false,
                             0,
                             0,
                             {}});
        return static_cast<int>(requests_.size());
    }

    // A receive of a message that a probe has found.
    int receive(void* buffer, int elements, int type, int source, int tag, int rank) {
        const int made = make(false, buffer, elements, type, source, tag, rank);
        at(made).persistent = false;
        start(made);
        return made;
    }

    // Whose message has come to a rank: from `source` or, below 0, from anyone; -1: none, or none that is seen yet.
    int probe(int source, int tag, int rank) {
        std::vector<int> found;
        for (const auto& [key, queue] : queues_)
            if (const auto [from, to, with] = key;
                to == rank && with == tag && !queue.first.empty() && (source < 0 || source == from))
                found.push_back(from);
        return found.empty() || random_.below(3) == 0 ? -1 : found[random_.below(found.size())];
    }

    template <class Handle>
    void startall(int count, Handle* handles) {
        std::vector<int> numbers(static_cast<std::size_t>(count));
        for (int k = 0; k < count; ++k) numbers[static_cast<std::size_t>(k)] = number(handles[k]);
        random_.shuffle(std::span(numbers));
        ++counters[static_cast<std::size_t>(at(numbers[0]).rank)].startalls;
        for (const int k : numbers) start(k);
    }

    int barrier(int rank) {
        requests_.push_back({true,
                             nullptr,
                             {1, 1},
                             0,
                             0,
                             -1,
                             0,
                             rank,
                             false,
                             true,
                             false,
                             false,
                             true,
                             at_barrier_[static_cast<std::size_t>(rank)]++,
                             looks(),
                             {}});
        ++counters[static_cast<std::size_t>(rank)].barriers;
        return static_cast<int>(requests_.size());
    }

    bool test(int number) {
        Request& request = at(number);
        Counters& counter = counters[static_cast<std::size_t>(request.rank)];
        ++counter.tests;
        if (!request.active) {
            ++counter.idle_tests;
            return true;
        }
        if (request.barrier) {
            for (const std::size_t passed : at_barrier_)
                if (passed <= request.group) return false;
            request.ended = true;
        }
        if (!request.ended || request.looks-- > 0) return false;
        request.active = request.ended = false;
        if (logged) note(request, false);
        if (!request.barrier && request.count > 0) --(request.send ? counter.sends_open : counter.receives_open);
        return true;
    }

    void free(int number) {
        Request& request = at(number);
        if (request.active || request.freed) throw std::logic_error("a request is freed that is active, or was freed");
        request.freed = true;
    }

    template <class Handle>
    static int number(Handle handle) {
        if constexpr (std::is_pointer_v<Handle>)
            return static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
        else
            return handle;
    }

    template <class Handle>
    static Handle handle(int number) {
        if constexpr (std::is_pointer_v<Handle>)
            return reinterpret_cast<Handle>(static_cast<std::intptr_t>(number));
        else
            return number;
    }

private:
    Request& at(int number) { return requests_.at(static_cast<std::size_t>(number - 1)); }
    void note(const Request& request, bool started) {
        log.push_back({request.rank, request.peer, request.tag, request.send, started, request.buffer});
    }
    int looks() { return most_looks_ == 0 ? 0 : static_cast<int>(random_.below(most_looks_)); }

    void start(int number) {
        Request& request = at(number);
        if (request.active || request.freed) throw std::logic_error("a request is started that is active or freed");
        request.active = true;
        request.ended = false;
        if (logged) note(request, true);
        request.looks = looks();
        Counters& counter = counters[static_cast<std::size_t>(request.rank)];
        ++counter.starts;
        std::int64_t& open = request.send ? counter.sends_open : counter.receives_open;
        std::int64_t& most = request.send ? counter.most_sends_open : counter.most_receives_open;
        if (request.count > 0) most = std::max(most, ++open);  // signals are not counted
        const auto key = request.send ? std::tuple(request.rank, request.peer, request.tag)
                                      : std::tuple(request.peer, request.rank, request.tag);
        auto& [sent, expected] = queues_[key];
        if (request.send) {
            request.on_its_way = request.packed();
            request.ended = request.count <= eager_;  // at the sender; the copy travels
        } else {
            request.each_element([&](std::byte* to, std::size_t) { std::fill_n(to, request.type.bytes, kUndefined); });
        }
        (request.send ? sent : expected).push_back(number);
        while (!sent.empty() && !expected.empty()) {
            deliver(at(sent.front()), at(expected.front()));
            sent.pop_front();
            expected.pop_front();
        }
    }

    static void deliver(Request& send, Request& receive) {
        if (send.count != receive.count) throw std::logic_error("a message meets a receive of another size");
        if (!send.ended && send.packed() != send.on_its_way)
            throw std::logic_error("what is sent was changed before it had left");
        const std::byte* from = send.on_its_way.data();
        receive.each_element([&](std::byte* to, std::size_t at) { std::copy_n(from + at, receive.type.bytes, to); });
        send.on_its_way.clear();
        send.ended = receive.ended = true;
    }

    static constexpr std::byte kUndefined{0xCD};  // in a receive's buffer until it has ended

    Random random_;
    int eager_, most_looks_;
    std::vector<std::size_t> at_barrier_;
    std::deque<Request> requests_;
    std::map<std::tuple<int, int, int>, std::pair<std::deque<int>, std::deque<int>>> queues_;
};

// The table of the toy, in either binary interface. A communicator is the number of its rank and 1.
template <class Handle>
MpiWorld<Handle> world_of(int rank) {
    MpiCalls<Handle> calls{};
    calls.send_init = [](const void* from, int count, Handle type, int target, int tag, Handle comm, Handle* request) {
        const int made = Network::here()->make(true, const_cast<void*>(from), count, Network::number(type), target, tag,
                                               Network::number(comm) - 1);
        if (made < 0) return 15;
        *request = Network::handle<Handle>(made);
        return 0;
    };
    calls.recv_init = [](void* to, int count, Handle type, int source, int tag, Handle comm, Handle* request) {
        *request = Network::handle<Handle>(
            Network::here()->make(false, to, count, Network::number(type), source, tag, Network::number(comm) - 1));
        return 0;
    };
    calls.irecv = [](void* to, int count, Handle type, int source, int tag, Handle comm, Handle* request) {
        *request = Network::handle<Handle>(
            Network::here()->receive(to, count, Network::number(type), source, tag, Network::number(comm) - 1));
        return 0;
    };
    calls.iprobe = [](int source, int tag, Handle comm, int* found, void* status) {
        const int from = Network::here()->probe(source, tag, Network::number(comm) - 1);
        *found = from >= 0 ? 1 : 0;
        std::memcpy(status, &from, sizeof from);
        return 0;
    };
    calls.startall = [](int count, Handle* requests) {
        Network::here()->startall(count, requests);
        return 0;
    };
    calls.test = [](Handle* request, int* ended, void*) {
        *ended = Network::here()->test(Network::number(*request)) ? 1 : 0;
        return 0;
    };
    calls.ibarrier = [](Handle comm, Handle* request) {
        *request = Network::handle<Handle>(Network::here()->barrier(Network::number(comm) - 1));
        return 0;
    };
    calls.request_free = [](Handle* request) {
        Network::here()->free(Network::number(*request));
        return 0;
    };
    calls.error_string = [](int code, char* text, int* length) {
        const std::string said = "toy error " + std::to_string(code);
        std::memcpy(text, said.c_str(), said.size() + 1);
        *length = static_cast<int>(said.size());
        return 0;
    };
    return {{calls, Network::handle<Handle>(kByte), Handle{}, 24, 0, -1, 0}, Network::handle<Handle>(rank + 1)};
}

}  // namespace conset::toy
