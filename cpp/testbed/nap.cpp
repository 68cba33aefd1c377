// libconset-nap.so, for LD_PRELOAD: ranks that wait for sockets sleep in the kernel.
//
// MPI libraries look at their sockets again and again without blocking; with many ranks on few cores that starves the
// network that is emulated beside them. Here a poll or epoll_wait without time-out that has found nothing CONSET_SPIN
// times in a row (4) waits in the kernel for at most CONSET_NAP_US microseconds (500) instead, and wakes at once when a
// socket has something. Nothing else is changed.
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace {

int from_environment(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    if (text == nullptr) return otherwise;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    return end == text || *end != 0 || value < 0 || value > 999'999 ? otherwise : static_cast<int>(value);
}

thread_local int idle = 0;

// Whether this look, which has found nothing, is to be a wait; `nap` is then how long.
bool may_nap(int found, timespec& nap) {
    static const int spin = from_environment("CONSET_SPIN", 4);
    static const int nap_us = from_environment("CONSET_NAP_US", 500);
    if (found != 0) {
        idle = 0;
        return false;
    }
    if (++idle <= spin || nap_us == 0) return false;
    nap = {0, nap_us * 1000L};
    return true;
}

int after_nap(long found) {
    if (found > 0) idle = 0;
    return found < 0 && errno == EINTR ? 0 : static_cast<int>(found);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int epoll_wait(int file, epoll_event* events, int most, int timeout) {
    using Call = int (*)(int, epoll_event*, int, int);
    static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "epoll_wait"));
    const int found = call(file, events, most, timeout);
    timespec nap{};
    if (timeout != 0 || !may_nap(found, nap)) return found;
    return after_nap(syscall(SYS_epoll_pwait2, file, events, most, &nap, nullptr, 8L));
}

__attribute__((visibility("default"))) int poll(pollfd* files, nfds_t count, int timeout) {
    using Call = int (*)(pollfd*, nfds_t, int);
    static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "poll"));
    const int found = call(files, count, timeout);
    timespec nap{};
    if (timeout != 0 || count == 0 || !may_nap(found, nap)) return found;
    return after_nap(ppoll(files, count, &nap, nullptr));
}

}  // extern "C"
