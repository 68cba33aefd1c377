// conset-switches: the emulated network of a bed.
//
// usage: conset-switches DESCRIPTION     (description.hpp)
//
// In every endpoint's network namespace a TUN device `id0` is made; what a program sends there crosses the switches in
// real time and comes out of its target's device. The line `ready` on stdout says that all devices exist. SIGUSR1
// writes the counters of all links to stderr, one JSON object a line; SIGTERM and SIGINT end it.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "description.hpp"

namespace conset::testbed {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t counters_requested = 0;

constexpr std::int64_t ethernet_header = 14;  // counted per packet, as the kernel's queues do
constexpr std::size_t ip_header = 20;
constexpr std::size_t most_bytes = 65536;
constexpr Nanoseconds longest_wait = 50'000'000;
constexpr long kernel_signals = 8;  // bytes of the kernel's own signal set

Nanoseconds now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// An open file that closes itself.
class File {
public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    File& operator=(File&&) = delete;
    int operator*() const { return descriptor_; }

private:
    int descriptor_;
};

File open_file(const std::string& path, int flags) {
    const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
    if (descriptor < 0) fail(path);
    return File(descriptor);
}

// A TUN device `id0` in a network namespace; the process stays in that namespace.
File open_device(const std::string& name_space) {
    const File space = open_file(name_space, O_RDONLY);
    if (setns(*space, CLONE_NEWNET) != 0) fail(name_space);
    File device = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    std::memcpy(request.ifr_name, "id0", sizeof "id0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(*device, TUNSETIFF, &request) != 0) fail("TUNSETIFF in " + name_space);
    return device;
}

class TunSwitches {
public:
    explicit TunSwitches(Description what)
        : endpoints_(what.network.endpoints),
          readable_(as_size(endpoints_), false),
          switches_(make_switches(std::move(what.network), what.options,
                                  {[this](PacketPointer packet, Nanoseconds) { deliver(*packet); },
                                   [this](std::int32_t endpoint, Nanoseconds time) { take(endpoint, time); }})),
          poll_(epoll_create1(EPOLL_CLOEXEC)) {
        const File own = open_file("/proc/self/ns/net", O_RDONLY);
        for (std::int32_t endpoint = 0; endpoint < endpoints_; ++endpoint) {
            devices_.push_back(open_device(what.namespaces[as_size(endpoint)]));
            epoll_event event{};
            event.events = static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLET);
            event.data.u32 = static_cast<std::uint32_t>(endpoint);
            if (epoll_ctl(*poll_, EPOLL_CTL_ADD, *devices_.back(), &event) != 0) fail("epoll");
        }
        if (setns(*own, CLONE_NEWNET) != 0) fail("setns");
    }

    void run() {
        std::array<epoll_event, 256> events{};
        while (stop_requested == 0) {
            Nanoseconds wait = longest_wait;
            if (!switches_->idle()) wait = std::clamp<Nanoseconds>(switches_->next_time() - now(), 0, longest_wait);
            timespec limit{0, static_cast<long>(wait)};
            const long ready =
                syscall(SYS_epoll_pwait2, *poll_, events.data(), events.size(), &limit, nullptr, kernel_signals);
            if (ready < 0 && errno != EINTR) fail("epoll_pwait2");
            const Nanoseconds time = now();
            switches_->run_until(time);
            for (long k = 0; k < ready; ++k) {
                const auto endpoint = static_cast<std::int32_t>(events[as_size(k)].data.u32);
                readable_[endpoint] = true;
                take(endpoint, time);
            }
            switches_->run_until(time);
            if (counters_requested != 0) {
                counters_requested = 0;
                print_counters();
            }
        }
    }

private:
    void deliver(const Packet& packet) {
        const ssize_t written = write(*devices_[as_size(packet.target)], packet.data.data(), packet.data.size());
        if (written != static_cast<ssize_t>(packet.data.size())) ++lost_;
    }

    // Packets of an endpoint's device while its FIFO has room.
    void take(std::int32_t endpoint, Nanoseconds time) {
        while (readable_[endpoint] && switches_->has_room(endpoint)) {
            const ssize_t length = read(*devices_[as_size(endpoint)], buffer_.data(), buffer_.size());
            if (length < 0) {
                readable_[endpoint] = false;
                return;
            }
            const auto bytes = static_cast<std::size_t>(length);
            if (bytes < ip_header || std::to_integer<int>(buffer_[0]) >> 4 != 4) continue;
            std::uint32_t address = 0;
            std::memcpy(&address, &buffer_[16], sizeof address);
            const std::int32_t target = endpoint_of_address(ntohl(address), endpoints_);
            if (target < 0) continue;
            auto packet = std::make_unique<Packet>();
            *packet = {endpoint, target, length + ethernet_header, {buffer_.begin(), buffer_.begin() + length}};
            switches_->inject(std::move(packet), time);
        }
    }

    void print_counters() {
        std::string text =
            "{\"injected\": " + std::to_string(switches_->injected()) +
            ", \"delivered\": " + std::to_string(switches_->delivered()) + ", \"lost\": " + std::to_string(lost_) +
            ", \"worst_lateness_ns\": " + std::to_string(switches_->take_worst_lateness()) + ", \"links\": [";
        const char* separator = "";
        for (const LinkCounters& link : switches_->counters()) {
            text += separator;
            text += "[" + std::to_string(link.bytes) + ", " + std::to_string(link.packets) + ", " +
                    std::to_string(link.busy) + "]";
            separator = ", ";
        }
        text += "]}\n";
        (void)std::fputs(text.c_str(), stderr);
    }

    std::int32_t endpoints_;
    Array<char> readable_;  // by endpoint: whether its device may hold something
    std::unique_ptr<Switches> switches_;
    File poll_;
    std::vector<File> devices_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(most_bytes);
    std::int64_t lost_ = 0;
};

int main_of(const std::vector<std::string>& arguments) {
    if (arguments.size() != 2) throw std::invalid_argument("usage: conset-switches DESCRIPTION");
    std::ifstream file(arguments[1]);
    if (!file) fail(arguments[1]);
    TunSwitches switches(read_description(file));
    prctl(PR_SET_TIMERSLACK, 1000UL);
    struct sigaction action{};
    action.sa_handler = [](int) { stop_requested = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    action.sa_handler = [](int) { counters_requested = 1; };
    sigaction(SIGUSR1, &action, nullptr);
    (void)std::puts("ready");
    (void)std::fflush(stdout);
    switches.run();
    return 0;
}

}  // namespace
}  // namespace conset::testbed

int main(int argc, char** argv) {
    try {
        return conset::testbed::main_of({argv, argv + argc});
    } catch (const std::exception& error) {
        (void)std::fprintf(stderr, "conset-switches: %s\n", error.what());
        return 1;
    }
}
