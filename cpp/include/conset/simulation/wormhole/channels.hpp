// Channels: pools of equal channels, each with those who wait for one, first come, first served.
//
// A message waits for one channel at a time, so the queues are lists through the messages: 4 bytes each.
#pragma once

#include <cstdint>

#include "conset/array.hpp"

namespace conset {

class Channels {
public:
    Channels(const Array<std::int32_t>& capacity, std::size_t messages)
        : pools_(capacity.size()), behind_(messages, -1) {
        for (std::size_t k = 0; k < capacity.size(); ++k) pools_[k].free = capacity[k];
    }

    // Whether m gets one at once; else it waits behind the others.
    bool ask(std::int32_t channel, std::int32_t m) {
        Pool& pool = pools_[channel];
        if (pool.free > 0) {  // then nobody waits
            --pool.free;
            return true;
        }
        (pool.first < 0 ? pool.first : behind_[pool.last]) = m;
        pool.last = m;
        behind_[m] = -1;
        return false;
    }

    // Gives one back: the message that has it now, -1 where nobody waited.
    std::int32_t release(std::int32_t channel) {
        Pool& pool = pools_[channel];
        const std::int32_t next = pool.first;
        if (next < 0) {
            ++pool.free;
        } else {
            pool.first = behind_[next];
        }
        return next;
    }

private:
    struct Pool {
        std::int32_t free = 0, first = -1, last = -1;
    };
    Array<Pool> pools_;
    Array<std::int32_t> behind_;
};

}  // namespace conset
