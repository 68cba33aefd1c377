// What a rank copies itself: items by index lists, own blocks, messages to itself, datatypes.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conset/execution/items.hpp"
#include "conset/execution/rank_executor.hpp"
#include "execution/toy_exchange.hpp"

namespace conset {
namespace {

using toy::Exchange, toy::executors_of, toy::kPolicies, toy::Message, toy::messages_of, toy::run, toy::State;
using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t count, Random& random) {
    Bytes bytes(count);
    for (std::byte& each : bytes) each = std::byte(random.below(256));
    return bytes;
}

// The arrays of a rank, whose items lie there in any order, some unused; and the lists that name them.
struct Arrays {
    RankItems items;
    Bytes send, receive;
};

Array<std::int64_t> places_of(std::size_t count, Random& random) {
    std::vector<std::int64_t> places(count + 3);
    std::iota(places.begin(), places.end(), std::int64_t{0});
    random.shuffle(std::span(places));
    places.resize(count);
    return places;
}

// What an exchange has in its contiguous send buffers, spread over arrays.
std::vector<Arrays> arrays_of(const Exchange& exchange, std::int64_t item_bytes, Random& random) {
    std::vector<Arrays> arrays;
    const std::size_t each = as_size(item_bytes);
    for (std::size_t r = 0; r < exchange.plans.size(); ++r) {
        Arrays found;
        found.items.item_bytes = item_bytes;
        found.items.send_items = places_of(exchange.send[r].size() / each, random);
        found.items.receive_items = places_of(exchange.expected[r].size() / each, random);
        found.send = random_bytes(exchange.send[r].size() + 3 * each, random);
        found.receive = random_bytes(exchange.expected[r].size() + 3 * each, random);
        for (std::size_t k = 0; k < found.items.send_items.size(); ++k)
            std::memcpy(found.send.data() + as_size(found.items.send_items[k]) * each,
                        exchange.send[r].data() + k * each, each);
        arrays.push_back(std::move(found));
    }
    return arrays;
}

template <class Handle>
auto executors_on(const Exchange& exchange, std::vector<Arrays>& arrays) {
    std::vector<std::unique_ptr<RankExecutor<Handle>>> executors;
    for (std::size_t r = 0; r < arrays.size(); ++r) {
        const RankBuffers<Handle> buffers{arrays[r].send.data(), arrays[r].receive.data(), Handle{}, Handle{}};
        executors.push_back(std::make_unique<RankExecutor<Handle>>(toy::world_of<Handle>(static_cast<int>(r)),
                                                                   exchange.plans[r], arrays[r].items, buffers));
        EXPECT_TRUE(executors.back()->prepare());
    }
    return executors;
}

// Messages of whole items, some of a rank to itself.
std::vector<Message> messages_of_items(int ranks, int phases, int item_bytes, Random& random) {
    std::vector<Message> messages;
    for (int k = 0; k < 50; ++k)
        messages.push_back({int(random.below(ranks)), int(random.below(ranks)), std::int32_t(random.below(phases)),
                            item_bytes * int(random.below(9))});
    std::stable_sort(messages.begin(), messages.end(), [](auto& a, auto& b) { return a.phase < b.phase; });
    return messages;
}

// Two parts of a message, whose bytes follow each other, cut at `edge`; the second may be posted first.
void add_parts(RankOperations& to, const RankOperations& whole, std::size_t k, std::int64_t edge) {
    const auto first = [&] { Exchange::add(to, whole.phase[k], whole.peer[k], as_size(whole.offset[k]), int(edge)); };
    if (edge % 2 == 0) first();
    Exchange::add(to, whole.phase[k], whole.peer[k], as_size(whole.offset[k] + edge), int(whole.bytes[k] - edge));
    if (edge % 2 != 0) first();
}

// Cuts every message anywhere in two.
void cut(Exchange& exchange, Random& random) {
    std::map<std::pair<int, int>, std::vector<std::int64_t>> edges;  // by source and target, in order
    const int ranks = int(exchange.plans.size());
    for (int r = 0; r < ranks; ++r) {
        RankOperations parts, &sends = exchange.plans[std::size_t(r)].sends;
        for (std::size_t k = 0; k < sends.size(); ++k) {
            auto& known = edges[{r, sends.peer[k]}];
            known.push_back(static_cast<std::int64_t>(random.below(sends.bytes[k] + 1)));
            add_parts(parts, sends, k, known.back());
        }
        sends = parts;
    }
    for (int r = 0; r < ranks; ++r) {
        RankOperations parts, &receives = exchange.plans[std::size_t(r)].receives;
        std::map<std::int32_t, std::size_t> next;
        for (std::size_t k = 0; k < receives.size(); ++k) {
            const std::int32_t peer = receives.peer[k];
            add_parts(parts, receives, k, edges[{peer, r}][next[peer]++]);
        }
        receives = parts;
    }
}

// All that a rank has for itself becomes copies, no messages.
void own(Exchange& exchange) {
    for (std::size_t r = 0; r < exchange.plans.size(); ++r) {
        RankPlan& plan = exchange.plans[r];
        const auto take = [&](RankOperations& operations, Array<std::int64_t>& offsets, Array<std::int64_t>* bytes) {
            RankOperations others;
            for (std::size_t k = 0; k < operations.size(); ++k) {
                if (as_size(operations.peer[k]) != r) {
                    Exchange::add(others, operations.phase[k], operations.peer[k], as_size(operations.offset[k]),
                                  int(operations.bytes[k]));
                    continue;
                }
                offsets.push_back(operations.offset[k]);
                if (bytes != nullptr) bytes->push_back(operations.bytes[k]);
            }
            operations = others;
        };
        take(plan.sends, plan.own.source, &plan.own.bytes);
        take(plan.receives, plan.own.target, nullptr);
    }
}

TEST(RankItems, EveryItemIsPutInItsPlaceAndNoOther) {
    Random random(5);
    for (const auto& [sync, every] : kPolicies)
        for (const int item_bytes : {1, 4, 8, 16, 24, 3})
            for (int trial = 0; trial < 8; ++trial) {
                const int ranks = 1 + int(random.below(5)), phases = 1 + int(random.below(4));
                toy::Network network(ranks, random.next(), 64, 5);
                Exchange exchange(ranks, messages_of_items(ranks, phases, item_bytes, random), sync, every,
                                  std::int64_t(random.below(3)));
                if (trial % 2 != 0) cut(exchange, random);
                if (trial % 4 > 1) own(exchange);
                auto arrays = arrays_of(exchange, item_bytes, random);
                auto executors = executors_on<void*>(exchange, arrays);
                for (int repetition = 0; repetition < 2; ++repetition) {
                    std::vector<Bytes> expected;
                    for (std::size_t r = 0; r < arrays.size(); ++r) {
                        std::ranges::copy(random_bytes(arrays[r].receive.size(), random), arrays[r].receive.begin());
                        expected.push_back(arrays[r].receive);
                        for (std::size_t k = 0; k < arrays[r].items.receive_items.size(); ++k)
                            std::memcpy(expected[r].data() + arrays[r].items.receive_items[k] * item_bytes,
                                        exchange.expected[r].data() + k * std::size_t(item_bytes),
                                        std::size_t(item_bytes));
                    }
                    ASSERT_TRUE(run(executors, random));
                    for (std::size_t r = 0; r < arrays.size(); ++r)
                        ASSERT_EQ(arrays[r].receive, expected[r])
                            << "rank " << r << ", items of " << item_bytes << ", trial " << trial;
                }
                for (auto& executor : executors) executor->release();
                EXPECT_EQ(network.left(), 0U);
            }
}

// Ranks 1 to 7 send rank 0 a number each, the last in the first phase, which it adds to the same place: the sum depends
// on the order.
TEST(RankItems, SumsAreTheSameWhateverArrivesFirst) {
    Random random(8);
    const std::vector<float> numbers{1e8F, 1.0F, 1.0F, 1.0F, -1e8F, 3.0F, 0.3F};
    float expected = 0.25F;
    for (const float number : numbers) expected += number;
    for (int trial = 0; trial < 50; ++trial) {
        std::vector<Message> messages;
        for (int source = 1; source < 8; ++source) messages.push_back({source, 0, 0, 4});
        toy::Network network(8, random.next(), trial % 2 == 0 ? 64 : 0, 9);
        Exchange exchange(8, messages, trial % 3 == 0 ? SyncKind::none : SyncKind::local, 1, 0);
        RankOperations& receives = exchange.plans[0].receives;
        std::reverse(receives.peer.begin(), receives.peer.end());
        std::reverse(receives.offset.begin(), receives.offset.end());
        std::iota(receives.phase.begin(), receives.phase.end(), 0);
        std::vector<Arrays> arrays(8);
        for (std::size_t r = 0; r < 8; ++r) {
            RankItems& items = arrays[r].items;
            items = {4, {}, {}, true, ItemType::float32};
            exchange.plans[r].phases = 7;
            for (std::int32_t& phase : exchange.plans[r].sends.phase) phase = 7 - static_cast<std::int32_t>(r);
            arrays[r].send.resize(4);
            arrays[r].receive.resize(4);
            if (r == 0) items.receive_items.assign(7, 0);
            if (r != 0) items.send_items = {0};
            if (r != 0) std::memcpy(arrays[r].send.data(), &numbers[r - 1], 4);
        }
        constexpr float kBefore = 0.25F;
        std::memcpy(arrays[0].receive.data(), &kBefore, 4);
        auto executors = executors_on<int>(exchange, arrays);
        ASSERT_TRUE(run(executors, random));
        float sum = 0;
        std::memcpy(&sum, arrays[0].receive.data(), 4);
        EXPECT_EQ(sum, expected);
        for (auto& executor : executors) executor->release();
    }
}

template <class Number>
void check_sums(ItemType type, std::size_t numbers) {
    Random random(2);
    Exchange exchange(3, {{1, 0, 0, 4 * 96}, {0, 0, 0, 2 * 96}, {2, 0, 0, 96}}, SyncKind::none, 1, 0);
    const auto item_bytes = static_cast<std::int64_t>(numbers * sizeof(Number));
    toy::Network network(3, 4, 64, 3);
    own(exchange);
    auto arrays = arrays_of(exchange, item_bytes, random);
    std::vector<Number> sums;
    for (Arrays& each : arrays) {
        each.items.add = true;
        each.items.type = type;
        for (Bytes* bytes : {&each.send, &each.receive})  // small whole numbers, which every type has
            for (std::size_t k = 0; k < bytes->size() / sizeof(Number); ++k) {
                const auto number = static_cast<Number>(random.below(1000));
                std::memcpy(bytes->data() + k * sizeof(Number), &number, sizeof(Number));
            }
    }
    const auto number_at = [](const Bytes& bytes, std::size_t k) {
        Number number;
        std::memcpy(&number, bytes.data() + k * sizeof(Number), sizeof(Number));
        return number;
    };
    for (std::size_t k = 0; k < arrays[0].receive.size() / sizeof(Number); ++k)
        sums.push_back(number_at(arrays[0].receive, k));
    std::size_t next = 0;  // in the receive buffer: from 1, from 0, from 2
    for (const std::size_t source : {1U, 0U, 2U})
        for (const std::int64_t item : arrays[source].items.send_items) {
            const std::size_t to = as_size(arrays[0].items.receive_items[next++]);
            for (std::size_t n = 0; n < numbers; ++n)
                sums[to * numbers + n] += number_at(arrays[source].send, as_size(item) * numbers + n);
        }
    auto executors = executors_on<void*>(exchange, arrays);
    ASSERT_TRUE(run(executors, random));
    for (std::size_t k = 0; k < sums.size(); ++k) ASSERT_EQ(number_at(arrays[0].receive, k), sums[k]) << k;
    for (auto& executor : executors) executor->release();
}

TEST(RankItems, EveryTypeIsAdded) {
    for (const std::size_t numbers : {1U, 2U, 3U, 4U}) {
        check_sums<std::int32_t>(ItemType::int32, numbers);
        check_sums<std::int64_t>(ItemType::int64, numbers == 4 ? 6 : numbers);
        check_sums<float>(ItemType::float32, numbers);
        check_sums<double>(ItemType::float64, numbers);
    }
    check_sums<float>(ItemType::complex64, 2);
    check_sums<double>(ItemType::complex128, 6);
}

TEST(RankOwn, BlocksAreCopiedAndMessagesToOneselfArriveUnderEveryPolicy) {
    Random random(4);
    for (const auto& [sync, every] : kPolicies)
        for (const bool copies : {false, true})
            for (int trial = 0; trial < 10; ++trial) {
                const int ranks = 1 + int(random.below(4));
                toy::Network network(ranks, random.next(), 64, 5);
                Exchange exchange(ranks, messages_of_items(ranks, 4, 17, random), sync, every, trial % 3);
                if (copies) own(exchange);
                auto executors = executors_of<int>(exchange);
                for (int repetition = 0; repetition < 3; ++repetition) {
                    exchange.spoil();
                    ASSERT_TRUE(run(executors, random)) << "policy " << int(sync) << ", " << every;
                    ASSERT_EQ(exchange.receive, exchange.expected);
                }
                for (auto& executor : executors) executor->release();
            }
}

// 4 of 12 bytes travel, from holes of one buffer into another without any.
TEST(RankTypes, ElementsOfADatatypeAreCounted) {
    toy::Network network(2, 1, 8, 2);
    Random random(6);
    const Bytes sent = random_bytes(120, random);
    Bytes received(40);
    RankPlan plan;
    plan.phases = 1;
    for (const int peer : {1, 0}) {  // rank 0 sends rank 1 and itself: to itself what lies at byte 60
        Exchange::add(plan.sends, 0, peer, peer == 1 ? 0U : 60U, 20);
        plan.sends.count.push_back(5);
    }
    Exchange::add(plan.receives, 0, 0, 20, 20);
    plan.receives.count.push_back(20);
    RankPlan other;
    other.phases = 1;
    Exchange::add(other.receives, 0, 0, 0, 20);
    const auto type = [](int number) { return toy::Network::handle<void*>(number); };
    RankExecutor<void*> from(toy::world_of<void*>(0), plan, {},
                             {sent.data(), received.data(), type(toy::kSparse), type(toy::kByte)});
    RankExecutor<void*> to(toy::world_of<void*>(1), other, {}, {nullptr, received.data(), type(0), type(0)});
    ASSERT_TRUE(from.prepare() && to.prepare());
    from.start();
    to.start();
    EXPECT_EQ(from.wait(10, 0), State::ended);
    EXPECT_EQ(to.wait(10, 0), State::ended);
    for (std::size_t k = 0; k < 40; ++k) {
        const std::size_t element = k % 20 / 4, start = k < 20 ? 0 : 60;
        EXPECT_EQ(received[k], sent[start + 12 * element + k % 4]) << k;
    }
    from.release();
    to.release();
    EXPECT_EQ(network.left(), 0U);
}

}  // namespace
}  // namespace conset
