#include "conset/runtime/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "conset/runtime/agreement.hpp"

namespace conset {

HostPlace host_place() {
    HostPlace place;
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) {
        Digest digest;
        for (const char letter : name) digest.add(static_cast<std::uint64_t>(letter));
        place.host = digest.value();
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
        place.cores = std::max(1, CPU_COUNT(&cores));
        std::size_t first = 0;
        while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &cores)) ++first;
        place.first_core = static_cast<std::int32_t>(first);
    }
    return place;
}

double ranks_per_core(Array<HostPlace> places) {
    const auto key = [](const HostPlace& place) { return std::tuple(place.host, place.first_core, place.cores); };
    std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    double most = 0;
    for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
        double cores = 0;
        for (end = begin; end < places.size() && places[end].host == places[begin].host; ++end)
            if (end == begin || key(places[end]) != key(places[end - 1])) cores += places[end].cores;
        most = std::max(most, static_cast<double>(end - begin) / cores);
    }
    return most;
}

}  // namespace conset
