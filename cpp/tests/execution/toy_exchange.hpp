// Exchanges on the toy network: buffers and plans of all ranks, and ranks that take turns.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "conset/execution/rank_executor.hpp"
#include "execution/toy_network.hpp"

namespace conset::toy {

using State = ExchangeState;

struct Message {
    int source, target;
    std::int32_t phase;
    int bytes;
};

// Buffers and plans of ranks that send each other messages, in the order of the list.
struct Exchange {
    std::vector<RankPlan> plans;
    std::vector<std::vector<std::byte>> send, receive, expected;

    Exchange(int ranks, const std::vector<Message>& messages, SyncKind sync, std::int64_t every, std::int64_t in_flight)
        : plans(static_cast<std::size_t>(ranks)), send(plans.size()), receive(plans.size()), expected(plans.size()) {
        std::int64_t phases = 0;
        for (const Message& m : messages) phases = std::max<std::int64_t>(phases, m.phase + 1);
        for (RankPlan& plan : plans) {
            plan.phases = phases;
            plan.sync = sync;
            plan.every = every;
            plan.in_flight = in_flight;
        }
        unsigned value = 1;
        for (const Message& m : messages) {
            add(plans[std::size_t(m.source)].sends, m.phase, m.target, send[std::size_t(m.source)].size(), m.bytes);
            add(plans[std::size_t(m.target)].receives, m.phase, m.source, expected[std::size_t(m.target)].size(),
                m.bytes);
            for (int b = 0; b < m.bytes; ++b) {
                value = value * 1103515245 + 12345;
                send[std::size_t(m.source)].push_back(std::byte(value >> 16U));
                expected[std::size_t(m.target)].push_back(std::byte(value >> 16U));
            }
        }
        for (std::size_t r = 0; r < plans.size(); ++r) receive[r].resize(expected[r].size());
    }

    static void add(RankOperations& operations, std::int32_t phase, int peer, std::size_t offset, int bytes) {
        operations.phase.push_back(phase);
        operations.peer.push_back(peer);
        operations.offset.push_back(static_cast<std::int64_t>(offset));
        operations.bytes.push_back(bytes);
    }

    void spoil() {
        for (std::size_t r = 0; r < plans.size(); ++r)
            for (std::size_t b = 0; b < receive[r].size(); ++b) receive[r][b] = ~expected[r][b];
    }
};

template <class Handle>
std::vector<std::unique_ptr<RankExecutor<Handle>>> executors_of(Exchange& exchange) {
    std::vector<std::unique_ptr<RankExecutor<Handle>>> executors;
    for (std::size_t r = 0; r < exchange.plans.size(); ++r) {
        const RankBuffers<Handle> buffers{exchange.send[r].data(), exchange.receive[r].data(), Handle{}, Handle{}};
        executors.push_back(std::make_unique<RankExecutor<Handle>>(world_of<Handle>(static_cast<int>(r)),
                                                                   exchange.plans[r], RankItems{}, buffers));
        EXPECT_TRUE(executors.back()->prepare());
    }
    return executors;
}

// Ranks take turns in a random order; false where they do not end.
template <class Executors>
bool run(Executors& executors, Random& random) {
    std::vector<std::size_t> order(executors.size());
    std::iota(order.begin(), order.end(), 0U);
    random.shuffle(std::span(order));
    for (const std::size_t r : order) EXPECT_NE(executors[r]->start(), State::failed);
    for (int turn = 0; turn < 100000; ++turn) {
        bool running = false;
        random.shuffle(std::span(order));
        for (const std::size_t r : order) {
            if (random.below(3) != 0) {
                EXPECT_NE(executors[r]->progress(), State::failed);
            }
            running = running || executors[r]->running();
        }
        if (!running) return true;
    }
    return false;
}

inline std::vector<Message> messages_of(int ranks, int count, int phases, Random& random) {
    std::vector<Message> messages;
    for (int k = 0; k < count; ++k) {
        const int source = int(random.below(ranks)), target = int(random.below(ranks));
        const int bytes = random.below(2) != 0 ? 1 + int(random.below(20)) : 100 + int(random.below(200));
        if (source != target) messages.push_back({source, target, std::int32_t(random.below(phases)), bytes});
    }
    std::stable_sort(messages.begin(), messages.end(), [](auto& a, auto& b) { return a.phase < b.phase; });
    return messages;
}

inline constexpr struct {
    SyncKind sync;
    std::int64_t every;
} kPolicies[] = {{SyncKind::none, 1},    {SyncKind::local, 1},     {SyncKind::ready, 1}, {SyncKind::barrier, 1},
                 {SyncKind::barrier, 3}, {SyncKind::barrier, 100}, {SyncKind::detect, 1}};

}  // namespace conset::toy
