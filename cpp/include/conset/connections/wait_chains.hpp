// Whom a rank waits for, who that one waits for, and so on: what is said when a deadline passes.
//
// A rank that waits answers who asks: whom it waits for, and the number of its wait. One whose deadline has passed asks
// along the chain. Where the chain comes back to itself, all its members are asked again: if each is still in the same
// wait, none can ever end, and all ranks are told; those in the cycle end their waits with the same words. Who does not
// answer within the grace computes, or has ended. A rank that has come to a switch waits for all others: the lowest
// that has not come is next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "conset/array.hpp"
#include "conset/connections/checked_mpi.hpp"

namespace conset {

enum class WaitKind : std::int32_t {
    none,     // it computes
    element,  // of the peer
    credit,   // the peer has to read
    end,      // of the phase, at the peer
    read,     // before connections are closed, the peer has to read
    all,      // it has come to a switch
};

// A rank, and what it waits for.
struct Wait {
    std::int32_t rank = 0;
    WaitKind kind = WaitKind::none;
    std::int32_t peer = -1;
    std::int32_t unused = 0;
    std::int64_t number = 0;  // of this wait among those of its rank
    bool operator==(const Wait&) const = default;
};

// `0 waits for an element of 3, 3 waits for 5 to read, 5 computes, or has ended`
std::string describe(const Array<Wait>& chain);

template <class Handle>
class WaitChains {
public:
    WaitChains(CheckedMpi<Handle>& mpi, int ranks) : mpi_(&mpi), ranks_(ranks) {}
    WaitChains(const WaitChains&) = delete;
    WaitChains& operator=(const WaitChains&) = delete;
    // Calls nothing of MPI: what has not left stays MPI's.
    ~WaitChains();

    // Receives what there is, and answers who has asked; `own`: this rank's wait.
    void answer(const Wait& own);
    // The cycle that this rank's wait is part of, in words, where another rank has found one; else empty.
    std::string told(const Wait& own) const;
    // Asks along the chain that begins with `own`, and says what it has found; `pause` between two looks.
    std::string diagnose(const Wait& own, double grace_s, const std::function<void()>& pause);
    // Frees what was sent; what has not left stays MPI's.
    void close();

private:
    enum class Kind : std::int64_t { query, reply, cycle };
    struct Message {
        std::unique_ptr<Array<std::byte>> bytes;
        Handle request;
    };
    void send(int target, Kind kind, std::int64_t question, const Array<Wait>& waits);
    // The answers of ranks, by rank; rank -1 where none has come before the grace was over.
    Array<Wait> ask(const Array<int>& ranks, const Wait& own, double grace_s, const std::function<void()>& pause);
    // Who is next in the chain; none: its end is in `chain`.
    std::optional<Wait> next(Array<Wait>& chain, double grace_s, const std::function<void()>& pause);
    bool still(const Wait& own, const Array<Wait>& cycle, double grace_s, const std::function<void()>& pause);

    CheckedMpi<Handle>* mpi_;
    int ranks_;
    std::deque<Message> outbox_;
    std::int64_t question_ = 0;
    Array<Wait> answers_;  // to the question
    Array<Wait> cycle_;    // that another rank has found
};

extern template class WaitChains<int>;
extern template class WaitChains<void*>;

}  // namespace conset
