// Exchanges of a communicator in the order of a plan, where that is faster than the library's own.
//
// An order is only an order: it lists every ordered pair of members at most once, pairs that it does not list come
// last. So both ends of a message know from their own counts whether it exists, whatever the counts are, and no call
// needs an agreement. The communicator's rank 0 finds the orders and hands them out: ranks need no common folder, and
// a plan that is refused is refused on all of them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "conset/array.hpp"
#include "exchange.hpp"
#include "plans.hpp"

namespace conset::preload {

// Which of two is faster: four calls of each in turn, the first of each not counted, by the longest time of each call
// over all ranks. After two of each an order that is clearly slower is given up. Tried again after 1,000 calls.
class Trial {
public:
    static constexpr int kCalls = 8;
    using Times = std::array<double, kCalls>;

    bool ordered_next() const { return calls_ < kCalls ? calls_ % 2 == 1 : ordered_; }
    bool decided() const { return calls_ >= kCalls; }
    // As another communicator with the same members has decided.
    void adopt(bool ordered) {
        ordered_ = ordered;
        calls_ = kCalls;
    }
    // True where the times are to be agreed on.
    bool add(double seconds);
    void decide(const Times& longest);
    void restart() { calls_ = 0; }

    Times times{};                      // of this rank
    double own_s = -1, ordered_s = -1;  // medians of the last decision; negative before the first
    bool ordered() const { return ordered_; }

private:
    std::int64_t calls_ = 0;
    bool ordered_ = false;
};

// What became of an order, over all communicators with the same members.
struct Result {
    bool first = false;  // whether this is the members' rank 0
    int ranks = 0;
    std::int64_t calls = 0, ordered = 0, bytes = 0;
    Trial trial;  // as it was decided last
};

// What makes plans while the program runs, on the rank 0 that has started it.
struct Adviser {
    pid_t process = 0;  // before it is started; -1: it cannot be
    std::string folder;
    bool ended = false;
};

class Ordering {
public:
    // At the end of the program: reports what was done.
    static void end();
    // Whether calls are intercepted in this process.
    static bool enabled();

    explicit Ordering(Communicator& in) : in_(in) {}
    Ordering(const Ordering&) = delete;
    Ordering& operator=(const Ordering&) = delete;
    ~Ordering();

    // MPI is about to be over: the communicator is left to it.
    void leave() { own_ = 0; }
    // Executes a blocking exchange that is not in place. Collective. `own`: the library's own call. Returns what MPI
    // does.
    int execute(const Exchange& exchange, const std::function<int()>& own);

private:
    enum class State : std::uint8_t { unknown, advising, ready, refused };
    struct Position {
        Order order;
        Trial trial;
        Result* result = nullptr;
        int width = -1;  // of the bytes to a rank, of alltoall
    };
    struct Plans {
        State state = State::unknown;
        std::int64_t calls = 0;
        Adviser* adviser = nullptr;
        Array<Position> positions;
    };

    void look(const Exchange& exchange, Plans& plans);
    void ask(const Exchange& exchange, Plans& plans);
    void hand_out(Kind kind, Plans& plans, const std::string& folder);
    bool make_own();
    State agreed(State state) const;
    int run(const Exchange& exchange, const Order& order);
    template <class Handle>
    int run_with(const Exchange& exchange, const Order& order);
    void after(Position& position, double seconds);

    const Communicator& in_;
    Bits own_ = 0;  // a communicator of ours with the same ranks
    double nap_s_ = 0;
    std::map<Kind, Plans> plans_;
};

}  // namespace conset::preload
