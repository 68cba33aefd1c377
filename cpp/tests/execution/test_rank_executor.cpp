// The executor on a toy network: every policy, whatever the network does that the standard allows.
#include "conset/execution/rank_executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "execution/toy_exchange.hpp"

namespace conset {
namespace {

using toy::Exchange, toy::executors_of, toy::kPolicies, toy::Message, toy::messages_of, toy::run, toy::State;

template <class Handle>
class Executors : public ::testing::Test {};
using Handles = ::testing::Types<int, void*>;
TYPED_TEST_SUITE(Executors, Handles);

TYPED_TEST(Executors, EveryByteArrivesUnderEveryPolicy) {
    Random random(7);
    for (const auto& [sync, every] : kPolicies)
        for (const std::int64_t in_flight : {0, 1, 2, 5})
            for (int trial = 0; trial < 10; ++trial) {
                const int ranks = 2 + int(random.below(6)), phases = 1 + int(random.below(7));
                const auto messages = messages_of(ranks, 60, phases, random);
                toy::Network network(ranks, random.next(), 64, 5);
                Exchange exchange(ranks, messages, sync, every, in_flight);
                auto executors = executors_of<TypeParam>(exchange);
                for (int repetition = 0; repetition < 3; ++repetition) {
                    exchange.spoil();
                    ASSERT_TRUE(run(executors, random)) << "policy " << int(sync) << ", " << every;
                    ASSERT_EQ(exchange.receive, exchange.expected);
                }
                for (const toy::Counters& counter : network.counters) {
                    EXPECT_LE(counter.most_sends_open, in_flight == 0 ? 60 : in_flight);
                    EXPECT_EQ(counter.sends_open + counter.receives_open, 0);
                }
                for (auto& executor : executors) executor->release();
                EXPECT_EQ(network.left(), 0U);
            }
}

// Under detect a rank that is exchanges ahead hides no other, and what it sent stays for later.
TYPED_TEST(Executors, WhoIsAheadIsReceivedInItsTurn) {
    toy::Network network(3, 5, 64, 0);
    Exchange exchange(3, {{0, 1, 0, 8}, {0, 1, 0, 8}, {2, 1, 0, 8}}, SyncKind::detect, 1, 0);
    auto executors = executors_of<TypeParam>(exchange);
    for (int ahead = 0; ahead < 3; ++ahead) EXPECT_EQ(executors[0]->start(), State::ended);
    exchange.spoil();
    EXPECT_EQ(executors[1]->start(), State::waiting);
    for (int turn = 0; turn < 50; ++turn) EXPECT_EQ(executors[1]->progress(), State::waiting);
    EXPECT_EQ(executors[1]->describe(executors[1]->missing()), "all phases, sync detect: no data from 2");
    for (int repetition = 0; repetition < 3; ++repetition) {
        EXPECT_EQ(executors[2]->start(), State::ended);
        for (int turn = 0; turn < 50; ++turn) executors[1]->progress();
        EXPECT_FALSE(executors[1]->running());
        EXPECT_EQ(exchange.receive, exchange.expected);
        if (repetition == 2) break;
        exchange.spoil();
        EXPECT_EQ(executors[1]->start(), State::waiting);
    }
    EXPECT_EQ(network.counters[1].receives_open, 0);
    for (auto& executor : executors) executor->release();
    EXPECT_EQ(network.left(), 0U);
}

// What a rank does is looked for once: whoever has ended is not asked again.
TYPED_TEST(Executors, NothingThatHasEndedIsAskedAgain) {
    Random random(3);
    for (const auto& [sync, every] : kPolicies) {
        toy::Network network(5, 11, 64, 4);
        Exchange exchange(5, messages_of(5, 80, 6, random), sync, every, 0);
        auto executors = executors_of<TypeParam>(exchange);
        ASSERT_TRUE(run(executors, random));
        for (const toy::Counters& counter : network.counters) EXPECT_EQ(counter.idle_tests, 0);
        for (auto& executor : executors) executor->release();
    }
}

TYPED_TEST(Executors, MessagesOfOnePairNeverStandInOneStart) {
    // 0 sends 1, 2, 1, 3, 1 a message each: the second and third to 1 begin a new call
    toy::Network network(4, 1, 64, 0);
    Exchange exchange(4, {{0, 1, 0, 8}, {0, 2, 0, 8}, {0, 1, 0, 8}, {0, 3, 0, 8}, {0, 1, 0, 8}}, SyncKind::none, 1, 0);
    auto executors = executors_of<TypeParam>(exchange);
    Random random(1);
    ASSERT_TRUE(run(executors, random));
    EXPECT_EQ(exchange.receive, exchange.expected);
    EXPECT_EQ(network.counters[0].startalls, 3);
    EXPECT_EQ(network.counters[1].startalls, 3);
    EXPECT_EQ(network.counters[2].startalls, 1);
    for (auto& executor : executors) executor->release();
}

TYPED_TEST(Executors, BarriersAreOfAllRanksAndNoReceivesArePostedBeyondAGroup) {
    // 0 sends 1 a message in each of 6 phases; 2 has none and takes part in the barriers
    std::vector<Message> messages;
    for (int phase = 0; phase < 6; ++phase) messages.push_back({0, 1, phase, 8});
    for (const std::int64_t every : {1, 2, 4, 6, 9}) {
        toy::Network network(3, 5, 64, 3);
        Exchange exchange(3, messages, SyncKind::barrier, every, 0);
        auto executors = executors_of<TypeParam>(exchange);
        Random random(2);
        ASSERT_TRUE(run(executors, random));
        for (const toy::Counters& counter : network.counters) EXPECT_EQ(counter.barriers, (6 - 1) / every);
        EXPECT_EQ(network.counters[1].most_receives_open, std::min<std::int64_t>(every, 6));
        for (auto& executor : executors) executor->release();
    }
}

TYPED_TEST(Executors, WhoeverEndsFirstMakesPlace) {
    // two in flight: the first is large and its target does not come; the others follow each other
    toy::Network network(5, 1, 64, 0);
    Exchange exchange(5, {{0, 1, 0, 999}, {0, 2, 0, 8}, {0, 3, 0, 8}, {0, 4, 0, 8}}, SyncKind::none, 1, 2);
    auto executors = executors_of<TypeParam>(exchange);
    EXPECT_EQ(executors[0]->start(), State::waiting);
    for (const std::size_t r : {2U, 3U, 4U}) {
        EXPECT_EQ(executors[r]->start(), State::ended) << r;
        EXPECT_EQ(exchange.receive[r], exchange.expected[r]);
    }
    const MissingPeers missing = executors[0]->missing();
    EXPECT_EQ(missing.taken, Array<std::int32_t>{1});
    EXPECT_TRUE(missing.data.empty() && missing.signals.empty() && missing.noticed.empty());
    EXPECT_EQ(executors[0]->wait(0.001, 0.0001), State::waiting);
    EXPECT_EQ(executors[1]->start(), State::ended);
    EXPECT_EQ(executors[0]->wait(10, 0), State::ended);
    EXPECT_EQ(network.counters[0].most_sends_open, 2);
    for (auto& executor : executors) executor->release();
}

TYPED_TEST(Executors, MissingPeersByPolicy) {
    for (const auto sync : {SyncKind::none, SyncKind::ready, SyncKind::barrier}) {
        toy::Network network(3, 1, 64, 0);
        // 0 → 1 in phase 0, 2 → 0 and 0 → 2 in phase 1; 2 does not come
        Exchange exchange(3, {{0, 1, 0, 8}, {2, 0, 1, 8}, {0, 2, 1, 999}}, sync, 1, 0);
        auto executors = executors_of<TypeParam>(exchange);
        executors[0]->start();
        executors[1]->start();
        EXPECT_EQ(executors[0]->wait(0, 0), State::waiting);
        const MissingPeers missing = executors[0]->missing();
        const Array<std::int32_t> two{2}, none{};
        EXPECT_EQ(missing.barrier, sync == SyncKind::barrier);
        EXPECT_EQ(missing.step, sync == SyncKind::ready ? 1 : 0);
        EXPECT_EQ(missing.data, sync == SyncKind::barrier ? none : two);
        EXPECT_EQ(missing.signals, sync == SyncKind::ready ? two : none);
        EXPECT_EQ(missing.taken, sync == SyncKind::none ? two : none);
        EXPECT_EQ(executors[0]->describe(missing),
                  sync == SyncKind::none    ? "all phases, sync none: no data from 2; data not taken by 2"
                  : sync == SyncKind::ready ? "phase 1, sync ready: no data from 2; no signal from 2"
                                            : "phase 0, sync barrier: other ranks not at the barrier");
        executors[2]->start();
        for (int turn = 0; turn < 100; ++turn)
            for (auto& executor : executors) executor->progress();
        for (auto& executor : executors) EXPECT_FALSE(executor->running());
        EXPECT_EQ(exchange.receive, exchange.expected);
        for (auto& executor : executors) executor->release();
    }
}

TYPED_TEST(Executors, AFailureIsACodeAndLeavesNothing) {
    toy::Network network(2, 1, 64, 0);
    network.fail_after = 1;
    Exchange exchange(2, {{0, 1, 0, 8}, {0, 1, 0, 8}}, SyncKind::none, 1, 0);
    const RankBuffers<TypeParam> buffers{exchange.send[0].data(), exchange.receive[0].data(), TypeParam{}, TypeParam{}};
    RankExecutor<TypeParam> executor(toy::world_of<TypeParam>(0), exchange.plans[0], RankItems{}, buffers);
    EXPECT_FALSE(executor.prepare());
    EXPECT_EQ(executor.failure().code, 15);
    EXPECT_EQ(executor.describe(executor.failure()), "MPI_Send_init: toy error 15");
    executor.release();
    EXPECT_EQ(network.left(), 0U);
}

TYPED_TEST(Executors, EveryMissingPeerIsNamedOnce) {
    // phases 0 to 2 are empty, and their barrier passes as soon as all have come
    toy::Network network(4, 1, 64, 0);
    Exchange exchange(4, {{2, 0, 4, 8}, {3, 0, 4, 8}, {2, 0, 5, 8}, {0, 1, 5, 8}}, SyncKind::barrier, 3, 0);
    auto executors = executors_of<TypeParam>(exchange);
    for (const std::size_t r : {1U, 2U, 3U, 0U}) EXPECT_EQ(executors[r]->start(), State::waiting);
    EXPECT_EQ(executors[0]->describe(executors[0]->missing()), "phases 3 to 5, sync barrier:3: no data from 2, 3");
    for (const std::size_t r : {1U, 2U, 3U, 0U}) EXPECT_EQ(executors[r]->wait(10, 0), State::ended);
    EXPECT_EQ(exchange.receive, exchange.expected);
    for (auto& executor : executors) executor->release();
}

// A program on a box of k × k ranks: rows, then columns. Every rank has `bytes` bytes for every other; what travels on
// is packed with what else goes there. The plan is written here as MPI programmers would, message by message.
class Box : public ::testing::TestWithParam<std::tuple<int, SyncKind, std::int64_t>> {
protected:
    static constexpr int kBytes = 40;

    static std::byte byte_of(int source, int target, int k) {
        return std::byte((source * 131 + target * 31 + k * 7) % 251);
    }

    // Rank (x, y) sends in phase 0 to (x', y) all that it has for column x', in phase 1 to (x, y') what its row and
    // itself have for it.
    static Exchange plans(int k, SyncKind sync, std::int64_t in_flight) {
        const int n = k * k;
        Exchange exchange(n, {}, sync, 1, in_flight);
        for (int me = 0; me < n; ++me) {
            RankPlan& plan = exchange.plans[std::size_t(me)];
            plan.phases = 2;
            const int x = me % k, y = me / k;
            for (int t = 0; t < n; ++t)
                for (int b = 0; b < kBytes; ++b) {
                    exchange.send[std::size_t(me)].push_back(byte_of(me, t, b));
                    exchange.expected[std::size_t(me)].push_back(t == me ? std::byte(0) : byte_of(t, me, b));
                }
            exchange.receive[std::size_t(me)].resize(std::size_t(n * kBytes));
            std::int64_t at = 0;  // end of what the work area holds
            plan.packs.offsets.push_back(0);
            plan.unpacks.offsets.push_back(0);
            plan.needs.offsets.push_back(0);
            const auto operation = [&](RankOperations& to, std::int32_t phase, int peer, std::int64_t offset, bool work,
                                       int messages) {
                Exchange::add(to, phase, peer, std::size_t(offset), messages * kBytes);
                to.work.push_back(work ? 1 : 0);
            };
            const auto copy = [&](RankCopies& copies, bool work, std::int64_t source, std::int64_t target) {
                copies.work.push_back(work ? 1 : 0);
                copies.source.push_back(source);
                copies.target.push_back(target);
                copies.bytes.push_back(kBytes);
            };
            Array<std::int64_t> from_row(as_size(k), -1);
            for (int i = 0; i < k; ++i) {
                if (i == x) continue;
                // k messages, for (x, 0) … (x, k - 1), from (i, y)
                from_row[i] = at;
                operation(plan.receives, 0, y * k + i, at, true, k);
                copy(plan.unpacks, true, at + y * kBytes, (y * k + i) * kBytes);
                plan.unpacks.offsets.push_back(static_cast<std::int64_t>(plan.unpacks.bytes.size()));
                at += k * kBytes;
            }
            for (int i = 0; i < k; ++i) {
                if (i == x) continue;
                operation(plan.sends, 0, y * k + i, at, true, k);
                for (int j = 0; j < k; ++j, at += kBytes) copy(plan.packs, false, (j * k + i) * kBytes, at);
                plan.packs.offsets.push_back(static_cast<std::int64_t>(plan.packs.bytes.size()));
                plan.needs.offsets.push_back(static_cast<std::int64_t>(plan.needs.operations.size()));
            }
            for (int j = 0; j < k; ++j) {
                if (j == y) continue;
                // from the whole row of (x, j), in order; straight into the receive buffer
                operation(plan.receives, 1, j * k + x, j * k * kBytes, false, k);
                plan.unpacks.offsets.push_back(static_cast<std::int64_t>(plan.unpacks.bytes.size()));
                operation(plan.sends, 1, j * k + x, at, true, k);
                for (int i = 0; i < k; ++i, at += kBytes)
                    copy(plan.packs, i != x, i == x ? (j * k + x) * kBytes : from_row[i] + j * kBytes, at);
                plan.packs.offsets.push_back(static_cast<std::int64_t>(plan.packs.bytes.size()));
                for (int r = 0; r < k - 1; ++r) plan.needs.operations.push_back(r);
                plan.needs.offsets.push_back(static_cast<std::int64_t>(plan.needs.operations.size()));
            }
            plan.work_bytes = at;
        }
        return exchange;
    }
};

TEST_P(Box, EveryByteArrivesThroughOtherRanks) {
    const auto [k, sync, in_flight] = GetParam();
    Random random(9);
    toy::Network network(k * k, 21, 64, 6);
    Exchange exchange = plans(k, sync, in_flight);
    auto executors = executors_of<void*>(exchange);
    for (int repetition = 0; repetition < 4; ++repetition) {
        exchange.spoil();
        for (int me = 0; me < k * k; ++me)
            std::fill_n(exchange.receive[std::size_t(me)].begin() + me * kBytes, kBytes, std::byte(0));
        ASSERT_TRUE(run(executors, random));
        ASSERT_EQ(exchange.receive, exchange.expected);
    }
    for (const toy::Counters& counter : network.counters) EXPECT_EQ(counter.idle_tests, 0);
    for (auto& executor : executors) executor->release();
    EXPECT_EQ(network.left(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Programs, Box,
                         ::testing::Combine(::testing::Values(2, 3, 4, 6),
                                            ::testing::Values(SyncKind::none, SyncKind::local, SyncKind::ready,
                                                              SyncKind::barrier),
                                            ::testing::Values(0, 1, 3)));

// Messages on random paths: in phase h each takes its h-th hop, together with all that go from and to the same ranks.
// Every bundle is packed and arrives in the work area, but those of one message that ends: they go straight.
class RandomProgram {
public:
    RandomProgram(int ranks, int messages, int hops, Random& random)
        : exchange(ranks, {}, SyncKind::none, 1, 0), ranks_(ranks) {
        for (int m = 0; m < messages; ++m) paths_.push_back(path(1 + int(random.below(hops)), random));
        for (RankPlan& plan : exchange.plans) {
            plan.phases = hops;
            plan.packs.offsets = plan.unpacks.offsets = plan.needs.offsets = {0};
        }
        place_.resize(paths_.size());
        for (int hop = 0; hop < hops; ++hop)
            for (int p = 0; p < ranks; ++p)
                for (int q = 0; q < ranks; ++q) bundle(hop, p, q);
    }

    Exchange exchange;

private:
    struct Path {
        std::vector<int> ranks;
        int bytes;
        std::size_t from, to;  // in the buffers
    };
    struct Place {
        std::int64_t at;
        std::int32_t receive;
    };

    Path path(int hops, Random& random) {
        Path path{{int(random.below(ranks_))}, 1 + int(random.below(90)), 0, 0};
        while (hops-- > 0) path.ranks.push_back((path.ranks.back() + 1 + int(random.below(ranks_ - 1))) % ranks_);
        auto& send = exchange.send[std::size_t(path.ranks.front())];
        auto& expected = exchange.expected[std::size_t(path.ranks.back())];
        path.from = send.size();
        path.to = expected.size();
        for (int b = 0; b < path.bytes; ++b) {
            send.push_back(std::byte(random.below(256)));
            expected.push_back(send.back());
        }
        exchange.receive[std::size_t(path.ranks.back())].resize(expected.size());
        return path;
    }

    static void copy(RankCopies& copies, bool work, std::int64_t source, std::int64_t target, int bytes) {
        copies.work.push_back(work ? 1 : 0);
        copies.source.push_back(source);
        copies.target.push_back(target);
        copies.bytes.push_back(bytes);
    }

    void bundle(int hop, int p, int q) {
        std::vector<std::size_t> inside;
        const auto next = std::size_t(hop) + 1;
        int bytes = 0;
        for (std::size_t m = 0; m < paths_.size(); ++m)
            if (paths_[m].ranks.size() > next && paths_[m].ranks[next - 1] == p && paths_[m].ranks[next] == q) {
                inside.push_back(m);
                bytes += paths_[m].bytes;
            }
        if (inside.empty()) return;
        RankPlan& out = exchange.plans[std::size_t(p)];
        RankPlan& in = exchange.plans[std::size_t(q)];
        const bool straight = inside.size() == 1 && paths_[inside[0]].ranks.size() == next + 1;
        const std::int64_t from = out.work_bytes, to = straight ? std::int64_t(paths_[inside[0]].to) : in.work_bytes;
        out.work_bytes += bytes;
        in.work_bytes += straight ? 0 : bytes;
        Exchange::add(out.sends, hop, q, std::size_t(from), bytes);
        out.sends.work.push_back(1);
        Exchange::add(in.receives, hop, p, std::size_t(to), bytes);
        in.receives.work.push_back(straight ? 0 : 1);
        const auto receive = static_cast<std::int32_t>(in.receives.size() - 1);
        std::int64_t at = 0;
        for (const std::size_t m : inside) {
            if (hop > 0) out.needs.operations.push_back(place_[m].receive);
            copy(out.packs, hop > 0, hop > 0 ? place_[m].at : std::int64_t(paths_[m].from), from + at, paths_[m].bytes);
            place_[m] = {to + at, receive};
            if (!straight && paths_[m].ranks.size() == next + 1)
                copy(in.unpacks, true, to + at, std::int64_t(paths_[m].to), paths_[m].bytes);
            at += paths_[m].bytes;
        }
        out.packs.offsets.push_back(static_cast<std::int64_t>(out.packs.bytes.size()));
        out.needs.offsets.push_back(static_cast<std::int64_t>(out.needs.operations.size()));
        in.unpacks.offsets.push_back(static_cast<std::int64_t>(in.unpacks.bytes.size()));
    }

    int ranks_;
    std::vector<Path> paths_;
    std::vector<Place> place_;
};

TYPED_TEST(Executors, RandomProgramsDeliverEveryByte) {
    Random random(17);
    for (const auto& [sync, every] : kPolicies)
        for (const std::int64_t in_flight : {0, 1, 3})
            for (int trial = 0; trial < 10; ++trial) {
                const int ranks = 2 + int(random.below(6)), hops = 1 + int(random.below(4));
                toy::Network network(ranks, random.next(), 64, 5);
                RandomProgram program(ranks, 40, hops, random);
                for (RankPlan& plan : program.exchange.plans) {
                    plan.sync = sync;
                    plan.every = every;
                    plan.in_flight = in_flight;
                }
                auto executors = executors_of<TypeParam>(program.exchange);
                for (int repetition = 0; repetition < 3; ++repetition) {
                    program.exchange.spoil();
                    ASSERT_TRUE(run(executors, random)) << "policy " << int(sync) << ", " << every;
                    ASSERT_EQ(program.exchange.receive, program.exchange.expected);
                }
                for (const toy::Counters& counter : network.counters) EXPECT_EQ(counter.idle_tests, 0);
                for (auto& executor : executors) executor->release();
                EXPECT_EQ(network.left(), 0U);
            }
}

// Messages of which some must follow others that they share a rank with; what the policy keeps by itself is waited for
// as well, which changes nothing.
class Ordered {
public:
    Ordered(int ranks, int count, int phases, SyncKind sync, std::int64_t every, std::int64_t in_flight, Random& random)
        : messages(messages_of(ranks, count, phases, random)), exchange(ranks, messages, sync, every, in_flight) {
        Array<std::int32_t> sends(as_size(ranks), 0), receives(as_size(ranks), 0);
        for (const Message& m : messages) place_.push_back({sends[m.source]++, receives[m.target]++});
        std::vector<Needs> needs(as_size(ranks)), signals(as_size(ranks));
        for (std::size_t j = 0; j < messages.size(); ++j) {
            const Message& m = messages[j];
            Array<std::int32_t> at_source, at_target;
            for (std::size_t i = 0; i < j; ++i) {
                if (random.below(6) != 0) continue;
                const Message& b = messages[i];
                // the same rank as source and target of both: all four cases
                if (b.target == m.source)
                    at_source.push_back(place_[i].receive);
                else if (b.source == m.source)
                    at_source.push_back(receives[m.source] + place_[i].send);
                else if (b.target == m.target)
                    at_target.push_back(place_[i].receive);
                else if (b.source == m.target)
                    at_target.push_back(receives[m.target] + place_[i].send);
                else
                    continue;
                pairs.emplace_back(i, j);
            }
            needs[std::size_t(m.source)].push_back(at_source);
            signals[std::size_t(m.target)].push_back(at_target);
            exchange.plans[std::size_t(m.source)].signalled.push_back(at_target.empty() ? 0 : 1);
        }
        for (std::size_t r = 0; r < exchange.plans.size(); ++r) {
            exchange.plans[r].needs = rows(needs[r]);
            exchange.plans[r].signals = rows(signals[r]);
        }
    }

    // Whether the log has the end of i at a rank that it shares with j, then the start of j where it is sent.
    bool kept(const std::vector<toy::Event>& log, std::size_t i, std::size_t j) const {
        const Message &a = messages[i], &b = messages[j];
        const auto start =
            std::find_if(log.begin(), log.end(), [&](const toy::Event& e) { return e.started && is_end(e, j, true); });
        const int shared = a.target == b.source || a.source == b.source ? b.source : b.target;
        return start != log.end() && std::any_of(log.begin(), start, [&](const toy::Event& e) {
                   return !e.started && e.rank == shared && is_end(e, i, a.target != shared);
               });
    }

    std::vector<Message> messages;
    Exchange exchange;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;

private:
    using Needs = std::vector<Array<std::int32_t>>;
    struct Place {
        std::int32_t send, receive;
    };

    static RankNeeds rows(const Needs& needs) {
        RankNeeds found;
        found.offsets.push_back(0);
        for (const auto& row : needs) {
            for (const std::int32_t operation : row) found.operations.push_back(operation);
            found.offsets.push_back(static_cast<std::int64_t>(found.operations.size()));
        }
        return found;
    }

    // Whether it is the send, or the receive, of message m.
    bool is_end(const toy::Event& e, std::size_t m, bool send) const {
        if (e.tag != 1 || e.send != send) return false;
        const auto rank = std::size_t(send ? messages[m].source : messages[m].target);
        const RankPlan& plan = exchange.plans[rank];
        return send ? e.rank == messages[m].source &&
                          e.buffer == exchange.send[rank].data() + plan.sends.offset[place_[m].send]
                    : e.rank == messages[m].target &&
                          e.buffer == exchange.receive[rank].data() + plan.receives.offset[place_[m].receive];
    }

    std::vector<Place> place_;
};

TYPED_TEST(Executors, MessagesInOrderFollowEachOtherUnderEveryPolicy) {
    Random random(29);
    for (const auto& [sync, every] : kPolicies)
        for (const std::int64_t in_flight : {0, 1, 3})
            for (int trial = 0; trial < 10; ++trial) {
                const int ranks = 2 + int(random.below(6));
                toy::Network network(ranks, random.next(), 64, 5);
                Ordered ordered(ranks, 40, 1 + trial % 3, sync, every, in_flight, random);
                ASSERT_FALSE(ordered.pairs.empty());
                auto executors = executors_of<TypeParam>(ordered.exchange);
                network.logged = true;
                for (int repetition = 0; repetition < 3; ++repetition) {
                    ordered.exchange.spoil();
                    network.log.clear();
                    ASSERT_TRUE(run(executors, random)) << "policy " << int(sync) << ", " << every;
                    ASSERT_EQ(ordered.exchange.receive, ordered.exchange.expected);
                    for (const auto& [i, j] : ordered.pairs)
                        ASSERT_TRUE(ordered.kept(network.log, i, j)) << i << " before " << j;
                }
                for (const toy::Counters& counter : network.counters) EXPECT_EQ(counter.idle_tests, 0);
                for (auto& executor : executors) executor->release();
                EXPECT_EQ(network.left(), 0U);
            }
}

// Without what they need some overtake: the test above would see it.
TYPED_TEST(Executors, MessagesOvertakeEachOtherWhereNothingWaits) {
    Random random(31);
    toy::Network network(6, 3, 64, 5);
    Ordered ordered(6, 60, 1, SyncKind::none, 1, 0, random);
    for (RankPlan& plan : ordered.exchange.plans) {
        plan.needs = plan.signals = {};
        plan.signalled = {};
    }
    auto executors = executors_of<TypeParam>(ordered.exchange);
    network.logged = true;
    ASSERT_TRUE(run(executors, random));
    EXPECT_FALSE(std::all_of(ordered.pairs.begin(), ordered.pairs.end(),
                             [&](const auto& pair) { return ordered.kept(network.log, pair.first, pair.second); }));
    for (auto& executor : executors) executor->release();
}

TYPED_TEST(Executors, ASignalThatIsNotGivenIsNamed) {
    // 0 → 1, then 2 → 1, whose source waits for 1 to have the first
    toy::Network network(3, 1, 64, 0);
    Exchange exchange(3, {{0, 1, 0, 8}, {2, 1, 0, 8}}, SyncKind::none, 1, 0);
    exchange.plans[1].signals = {{0, 0, 1}, {0}};
    exchange.plans[2].signalled = {1};
    auto executors = executors_of<TypeParam>(exchange);
    EXPECT_EQ(executors[2]->start(), State::waiting);
    EXPECT_EQ(executors[1]->start(), State::waiting);
    EXPECT_EQ(executors[2]->describe(executors[2]->missing()), "all phases, sync none: no signal from 1");
    EXPECT_EQ(executors[0]->start(), State::ended);
    EXPECT_EQ(executors[1]->progress(), State::waiting);
    EXPECT_EQ(executors[2]->progress(), State::ended);
    EXPECT_EQ(executors[1]->progress(), State::ended);
    EXPECT_EQ(exchange.receive, exchange.expected);
    for (auto& executor : executors) executor->release();
    EXPECT_EQ(network.left(), 0U);
}

}  // namespace
}  // namespace conset
