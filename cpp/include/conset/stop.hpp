// Stop: what a long search shares with whoever watches it: a wish to stop, the best so far, and its bound.
//
// Every thread has a search of its own, so that searches in two threads do not stop each other. A thread that works for
// another one shares that one's (`share_search`; conset/stopping.py does so for the pools of Python): a wish to stop
// reaches all who work on the same thing. Who watches holds the `Search`: the command line sets the wish when Ctrl-C
// arrives (conset/cli/signals.py) and shows incumbent, bound and gap after two seconds (conset/cli/output.py), or
// how many messages a simulation has delivered. Who searches, in C++ or in Python (the same names in conset._core):
//
//     for (sweep = ...) {
//         if (should_stop(have_schedule)) { stopped = true; break; }  // once a sweep; throws where there is nothing
//         ...
//         if (better) publish(phases, bound);  // 0 where no bound is known; any unit, the same for both
//     }
//
// and the binding hands `stopped` on, so that the method can say `Phases(..., stopped_early=stopped)`. A search checks
// once a sweep, never by clock: a run that nobody interrupts gives the same bytes whoever watches. A cheap first
// schedule is made without looking, so that a method after the wish (the next block of a program) still has an answer;
// one that takes long looks by `StopPoll`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace conset {

// Thrown by a search that is to stop and has nothing to give; in Python a KeyboardInterrupt.
class Interrupted : public std::exception {
public:
    const char* what() const noexcept override { return "interrupted before there was a schedule"; }
};

// Shared from itself: what Python hands back is the same owner, and no thread keeps an object of Python alive.
struct Search : std::enable_shared_from_this<Search> {
    std::atomic<bool> stop{false};
    std::atomic<double> incumbent{0}, bound{0};  // 0: none yet
    std::atomic<std::int64_t> delivered{0};      // messages, of a simulation
};

// This thread's search; its own until it shares another's.
inline std::shared_ptr<Search>& search_of_thread() {
    thread_local std::shared_ptr<Search> search = std::make_shared<Search>();
    return search;
}

inline Search& running_search() { return *search_of_thread(); }

// This thread works on `search` from now on; what it worked on before.
inline std::shared_ptr<Search> share_search(std::shared_ptr<Search> search) {
    return std::exchange(search_of_thread(), std::move(search));
}

inline void ask_stop() noexcept { running_search().stop.store(true, std::memory_order_relaxed); }

inline bool stop_asked() noexcept { return running_search().stop.load(std::memory_order_relaxed); }

// Whether to end the search now; throws Interrupted where it would end without a schedule.
inline bool should_stop(bool have_schedule) {
    if (!stop_asked()) return false;
    if (!have_schedule) throw Interrupted();
    return true;
}

// What has nothing to give before its end looks for the wish once in so many steps and never before: a cheap schedule
// is made whatever was wished.
class StopPoll {
public:
    static constexpr std::size_t kPollInterval = 1 << 16;

    // `steps` more are done; as should_stop.
    bool count(std::size_t steps = 1, bool have_schedule = false) {
        steps_ += steps;
        if (steps_ < kPollInterval) return false;
        steps_ = 0;
        return should_stop(have_schedule);
    }

private:
    std::size_t steps_ = 0;
};

// The best so far and what cannot be beaten, in one unit; a bound of 0 leaves the one that is known.
inline void publish(double incumbent, double bound) noexcept {
    running_search().incumbent.store(incumbent, std::memory_order_relaxed);
    if (bound > 0) running_search().bound.store(bound, std::memory_order_relaxed);
}

// How far a simulation is; published now and then, where it also looks for a wish to stop.
inline void publish_progress(std::int64_t messages) noexcept {
    running_search().delivered.store(messages, std::memory_order_relaxed);
}

// Before a search that is watched.
inline void reset_search() noexcept {
    running_search().stop.store(false, std::memory_order_relaxed);
    running_search().incumbent.store(0, std::memory_order_relaxed);
    running_search().bound.store(0, std::memory_order_relaxed);
    running_search().delivered.store(0, std::memory_order_relaxed);
}

}  // namespace conset
