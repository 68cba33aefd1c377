// Exchanges that are made of the rows of all ranks, on a toy MPI whose ranks are threads.
#include "conset/runtime/exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/random_rows.hpp"
#include "runtime/toy_calls.hpp"

namespace conset {
namespace {

using toy_ranks::in_ranks;
using toy_ranks::Mpi;

template <class Handle>
ExchangeRequest<Handle> request_of(int rank, RandomRows::Rank& one, const char* options,
                                   int type = toy_ranks::kDouble) {
    ExchangeRequest<Handle> request;
    request.world = toy_ranks::world_of<Handle>(rank);
    request.buffers = {reinterpret_cast<const std::byte*>(one.send.data()),
                       reinterpret_cast<std::byte*>(one.receive.data()), toy_ranks::handle<Handle>(type),
                       toy_ranks::handle<Handle>(type)};
    request.sends = one.sends;
    request.receives = one.receives;
    request.options = ExchangeOptions::parse(options);
    return request;
}

template <class Handle>
void exchange_twice(Exchange<Handle>& exchange, RandomRows::Rank& one) {
    for (int k = 0; k < 2; ++k) {
        std::fill(one.receive.begin(), one.receive.end(), -1);
        ASSERT_TRUE(exchange.start().fine());
        const Outcome waited = exchange.wait();
        ASSERT_TRUE(waited.fine()) << waited.detail;
        EXPECT_TRUE(exchange.wait().fine());
        EXPECT_EQ(one.receive, one.expected);
    }
}

template <class Handle>
void deliver_all(int ranks, const char* options, std::uint64_t seed) {
    Mpi mpi(ranks);
    RandomRows rows(ranks, seed);
    in_ranks(ranks, [&](int rank) {
        Outcome outcome;
        auto exchange = Exchange<Handle>::of_rows(request_of<Handle>(rank, rows.at(rank), options), outcome);
        ASSERT_TRUE(exchange) << outcome.detail;
        exchange_twice(*exchange, rows.at(rank));
        EXPECT_TRUE(exchange->free().fine());
        EXPECT_EQ(exchange->start().code, Code::state);
        EXPECT_EQ(exchange->free().code, Code::state);
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST(Exchange, DeliversWhatRowsSay) {
    const std::array options{"compute=all", "compute=one;method=rs-n;sync=ready",
                             "machine=torus:4x2;method=rs-nl;sync=barrier;",
                             "compute=one;method=coloring;sync=local;seed=3", "method=naive;sync=none"};
    for (std::size_t k = 0; k < options.size(); ++k) {
        deliver_all<int>(8, options[k], k);
        deliver_all<void*>(5 + static_cast<int>(k) % 2, k == 2 ? "" : options[k], k + 100);
    }
    deliver_all<int>(1, "", 7);
}

TEST(Exchange, LearnsSources) {
    for (const char* options : {"compute=all", "compute=one"}) {
        Mpi mpi(6);
        RandomRows rows(6, 11);
        in_ranks(6, [&](int rank) {
            RandomRows::Rank& one = rows.at(rank);
            const std::vector<double> expected = rows.contiguous(rank);
            std::vector<double> receive;
            auto request = request_of<int>(rank, one, options);
            request.buffers.receive = nullptr;
            request.receives = {};
            request.sources_known = false;
            request.receive_buffer = [&](const Blocks& blocks) {
                receive.resize(static_cast<std::size_t>(
                    std::accumulate(blocks.count.begin(), blocks.count.end(), std::int64_t{0})));
                return reinterpret_cast<std::byte*>(receive.data());
            };
            Outcome outcome;
            auto exchange = Exchange<int>::of_rows(request, outcome);
            ASSERT_TRUE(exchange) << outcome.detail;
            ASSERT_TRUE(exchange->start().fine());
            ASSERT_TRUE(exchange->wait().fine());
            EXPECT_EQ(receive, expected);
            EXPECT_TRUE(std::is_sorted(exchange->receives().peer.begin(), exchange->receives().peer.end()));
            EXPECT_TRUE(exchange->free().fine());
        });
        EXPECT_EQ(mpi.left(), 0U);
    }
}

TEST(Exchange, WithoutAReceiveBufferWaitsForOne) {
    Mpi mpi(3);
    in_ranks(3, [&](int rank) {
        const std::array<double, 2> send{rank + 0.5, rank + 0.25};
        std::array<double, 2> receive{};
        ExchangeRequest<int> request;
        request.world = toy_ranks::world_of<int>(rank);
        request.buffers = {reinterpret_cast<const std::byte*>(send.data()), nullptr, toy_ranks::kDouble,
                           toy_ranks::kDouble};
        request.sends = {{(rank + 1) % 3}, {2}, {0}};
        request.sources_known = false;
        Outcome outcome;
        auto exchange = Exchange<int>::of_rows(request, outcome);
        ASSERT_TRUE(exchange) << outcome.detail;
        EXPECT_EQ(exchange->start().code, Code::state);
        ASSERT_EQ(exchange->receives().count, Array<std::int64_t>{2});
        request.buffers.receive = reinterpret_cast<std::byte*>(receive.data());
        ASSERT_TRUE(exchange->update(request.buffers, request.sends, {}).fine());
        ASSERT_TRUE(exchange->start().fine());
        ASSERT_TRUE(exchange->wait().fine());
        EXPECT_EQ(receive, (std::array<double, 2>{(rank + 2) % 3 + 0.5, (rank + 2) % 3 + 0.25}));
        EXPECT_TRUE(exchange->free().fine());
    });
    EXPECT_EQ(mpi.left(), 0U);
}

// A column of two numbers with two between them, that arrives as two numbers; to itself as well.
TEST(Exchange, CarriesDerivedDatatypes) {
    Mpi mpi(2);
    in_ranks(2, [&](int rank) {
        std::array<double, 8> send{};
        for (std::size_t k = 0; k < send.size(); ++k) send[k] = rank * 10 + static_cast<double>(k);
        std::array<double, 4> receive{};
        ExchangeRequest<int> request;
        request.world = toy_ranks::world_of<int>(rank);
        request.buffers = {reinterpret_cast<const std::byte*>(send.data()),
                           reinterpret_cast<std::byte*>(receive.data()), toy_ranks::kColumn, toy_ranks::kDouble};
        request.sends = {{0, 1}, {1, 1}, {0, 1}};
        request.receives = {{1, 0}, {2, 2}, {0, 2}};
        Outcome outcome;
        auto exchange = Exchange<int>::of_rows(request, outcome);
        ASSERT_TRUE(exchange) << outcome.detail;
        ASSERT_TRUE(exchange->start().fine());
        ASSERT_TRUE(exchange->wait().fine());
        const double first = rank == 0 ? 0 : 4;
        EXPECT_EQ(receive, (std::array<double, 4>{10 + first, 13 + first, first, 3 + first}));
        EXPECT_TRUE(exchange->free().fine());
    });
    EXPECT_EQ(mpi.left(), 0U);
}

struct Wrong {
    const char* name;
    Code code;
    std::string detail;
    int rank;  // that is wrong
    void (*spoil)(ExchangeRequest<int>&);
};

// Rank 2 sends 2 numbers to 0 and 1 to 3, ...: a ring in two directions; each has 1 for itself.
ExchangeRequest<int> ring(int rank, std::array<double, 4>& send, std::array<double, 4>& receive) {
    ExchangeRequest<int> request;
    request.world = toy_ranks::world_of<int>(rank);
    request.buffers = {reinterpret_cast<const std::byte*>(send.data()), reinterpret_cast<std::byte*>(receive.data()),
                       toy_ranks::kDouble, toy_ranks::kDouble};
    request.sends = {{(rank + 1) % 4, (rank + 2) % 4, rank}, {1, 2, 1}, {0, 1, 3}};
    request.receives = {{rank, (rank + 2) % 4, (rank + 3) % 4}, {1, 2, 1}, {3, 1, 0}};
    return request;
}

TEST(Exchange, IsRefusedOnEveryRank) {
    const std::array wrong{
        Wrong{"count", Code::argument, "rank 2: sends: block 1: count -2 must be from 0 to 2147483647", 2,
              [](ExchangeRequest<int>& r) { r.sends.count[1] = -2; }},
        Wrong{"peer", Code::argument, "rank 1: receives: block 0: peer 4 must be from 0 to 3", 1,
              [](ExchangeRequest<int>& r) { r.receives.peer[0] = 4; }},
        Wrong{"null", Code::argument, "rank 3: sends: block 0: 1 elements, but there is no buffer", 3,
              [](ExchangeRequest<int>& r) { r.buffers.send = nullptr; }},
        Wrong{"size", Code::mismatch, "rank 3 expects 8 B from rank 1, which sends 16 B", 3,
              [](ExchangeRequest<int>& r) { r.receives.count[1] = 1; }},
        Wrong{"extra send", Code::mismatch, "rank 0 expects nothing from rank 2, which sends 16 B", 0,
              [](ExchangeRequest<int>& r) { r.receives.count[1] = 0; }},
        Wrong{"missing send", Code::mismatch, "rank 1 expects 16 B from rank 3, which sends nothing", 3,
              [](ExchangeRequest<int>& r) { r.sends.count[1] = 0; }},
        Wrong{"own", Code::mismatch, "rank 2 expects 8 B from itself, which sends 16 B", 2,
              [](ExchangeRequest<int>& r) { r.sends.count[2] = 2; }},
        Wrong{"overlap", Code::argument, "rank 0: a block that is received overlaps one that is received", 0,
              [](ExchangeRequest<int>& r) { r.receives.displacement[2] = 2; }},
        Wrong{"in place", Code::argument, "rank 1: a block that is received overlaps one that is sent", 1,
              [](ExchangeRequest<int>& r) { r.buffers.receive = const_cast<std::byte*>(r.buffers.send); }},
        Wrong{"options", Code::mismatch,
              "rank 2: machine, ranks_per_node, method, sync, seed, compute, effort, combine, memory, measure, or "
              "whether a schedule is given or sources are known, are not those of rank 0: must agree",
              2, [](ExchangeRequest<int>& r) { r.options.seed = 1; }},
        Wrong{"compute", Code::argument, "rank 1: options: compute 'two': must be all, one or auto", 1,
              [](ExchangeRequest<int>& r) { r.options.compute = "two"; }},
    };
    for (const Wrong& each : wrong)
        for (const char* compute : {"all", "one"}) {
            Mpi mpi(4);
            in_ranks(4, [&](int rank) {
                std::array<double, 4> send{}, receive{};
                auto request = ring(rank, send, receive);
                request.options.compute = compute;
                if (rank == each.rank) each.spoil(request);
                Outcome outcome;
                EXPECT_FALSE(Exchange<int>::of_rows(request, outcome)) << each.name;
                EXPECT_EQ(outcome.code, each.code) << each.name;
                EXPECT_EQ(outcome.detail, each.detail);
            });
            EXPECT_EQ(mpi.left(), 0U) << each.name;
        }
}

TEST(Exchange, IsRefusedWhereTheCallerOrMpiIs) {
    Mpi mpi(3);
    mpi.fail_send_init_at = 2;
    RandomRows rows(3, 5);
    in_ranks(3, [&](int rank) {
        Outcome outcome;
        if (rank == 1) outcome = {Code::file, "rank 1: no such file"};
        EXPECT_FALSE(Exchange<int>::of_rows(request_of<int>(rank, rows.at(rank), ""), outcome));
        EXPECT_EQ(outcome.detail, "rank 1: no such file");
        outcome = {};
        EXPECT_FALSE(Exchange<int>::of_rows(request_of<int>(rank, rows.at(rank), ""), outcome));
        EXPECT_EQ(outcome.code, Code::mpi);
        EXPECT_EQ(outcome.detail, "rank 2: MPI_Send_init: toy error 15");
        outcome = {};
        EXPECT_FALSE(Exchange<int>::of_rows(request_of<int>(rank, rows.at(rank), "method=best"), outcome));
        EXPECT_EQ(outcome.code, Code::argument);
        outcome = {};
        EXPECT_FALSE(Exchange<int>::of_rows(request_of<int>(rank, rows.at(rank), "machine=no.machine"), outcome));
        EXPECT_EQ(outcome.code, Code::file);
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST(Exchange, SaysWhoIsMissing) {
    Mpi mpi(3);
    in_ranks(3, [&](int rank) {
        std::array<double, 1> send{}, receive{};
        ExchangeRequest<int> request;
        request.world = toy_ranks::world_of<int>(rank);
        request.buffers = {reinterpret_cast<const std::byte*>(send.data()),
                           reinterpret_cast<std::byte*>(receive.data()), toy_ranks::kDouble, toy_ranks::kDouble};
        request.sends = {{(rank + 1) % 3}, {1}, {0}};
        request.receives = {{(rank + 2) % 3}, {1}, {0}};
        request.options = ExchangeOptions::parse("timeout=500ms;sync=barrier");
        Outcome outcome;
        auto exchange = Exchange<int>::of_rows(request, outcome);
        ASSERT_TRUE(exchange) << outcome.detail;
        if (rank == 2) return;  // never starts; the threads of the others end without it
        ASSERT_TRUE(exchange->start().fine());
        EXPECT_EQ(exchange->start().code, Code::state);
        const Outcome waited = exchange->wait();
        if (rank == 1) return;
        EXPECT_EQ(waited.code, Code::timeout);
        EXPECT_EQ(waited.detail.rfind("rank 0: phase 0, sync barrier: no data from 2 after 0.", 0), 0U)
            << waited.detail;
        EXPECT_TRUE(exchange->running());
        EXPECT_EQ(exchange->free().code, Code::state);
    });
}

TEST(Exchange, IsUpdated) {
    for (const char* options : {"compute=all;method=rs-n", "compute=one"}) {
        Mpi mpi(5);
        std::vector<RandomRows> steps;
        for (std::uint64_t seed = 0; seed < 6; ++seed) steps.emplace_back(5, seed / 2);
        in_ranks(5, [&](int rank) {
            Outcome outcome;
            auto exchange = Exchange<int>::of_rows(request_of<int>(rank, steps[0].at(rank), options), outcome);
            ASSERT_TRUE(exchange) << outcome.detail;
            RandomRows::Rank* last = &steps[0].at(rank);
            for (RandomRows& step : steps) {
                RandomRows::Rank& next = step.at(rank);
                auto request = request_of<int>(rank, next, options);
                if (rank == 3 && !request.sends.count.empty()) request.sends.count[0] = -1;
                EXPECT_EQ(exchange->update(request.buffers, request.sends, request.receives).code, Code::argument);
                exchange_twice(*exchange, *last);
                request = request_of<int>(rank, next, options);
                outcome = exchange->update(request.buffers, request.sends, request.receives);
                ASSERT_TRUE(outcome.fine()) << outcome.detail;
                exchange_twice(*exchange, next);
                last = &next;
            }
            EXPECT_TRUE(exchange->free().fine());
        });
        EXPECT_EQ(mpi.left(), 0U);
    }
}

// Whoever has started is in a barrier then: those are other collectives.
TEST(Exchange, IsNotUpdatedWhileItRuns) {
    Mpi mpi(4);
    in_ranks(4, [&](int rank) {
        std::array<double, 4> send{}, receive{};
        auto request = ring(rank, send, receive);
        request.options = ExchangeOptions::parse("sync=barrier;method=first-fit");
        Outcome outcome;
        auto exchange = Exchange<int>::of_rows(request, outcome);
        ASSERT_TRUE(exchange) << outcome.detail;
        ASSERT_GT(exchange->phases(), 1);
        if (rank != 1) {
            EXPECT_TRUE(exchange->start().fine());
        }
        outcome = exchange->update(request.buffers, request.sends, request.receives);
        EXPECT_EQ(outcome.code, Code::state);
        EXPECT_EQ(outcome.detail, "rank 0: update: the exchange is running");
        if (rank == 1) {
            EXPECT_TRUE(exchange->start().fine());
        }
        EXPECT_TRUE(exchange->wait().fine());
        EXPECT_TRUE(exchange->free().fine());
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST(Exchange, ParsesOptions) {
    const auto options = ExchangeOptions::parse(" machine = torus:4x4; method=lp;sync=barrier:2;timeout=1.5 ms;seed=7");
    EXPECT_EQ(options.machine, "torus:4x4");
    EXPECT_EQ(options.method, "lp");
    EXPECT_EQ(options.sync, "barrier:2");
    EXPECT_DOUBLE_EQ(options.timeout_s, 1.5e-3);
    EXPECT_EQ(options.seed, 7U);
    EXPECT_EQ(ExchangeOptions::parse("").compute, "auto");
    EXPECT_EQ(ExchangeOptions::parse("").combine, "auto");
    EXPECT_EQ(ExchangeOptions::parse("combine=none").combine, "none");
    EXPECT_EQ(ExchangeOptions::parse("memory=1.5 KiB").memory, 1536);
    EXPECT_EQ(ExchangeOptions::parse("memory=0").memory, 0);
    for (const char* wrong : {"methods=lp", "method", "seed=-1", "seed=1.5", "timeout=10", "timeout=-1s", "timeout=1h",
                              "seed=1;seed=2", "compute=two", "method=;seed=1", "combine=2x4", "memory=64",
                              "memory=-1B", "memory=1e400B", "combine=none;schedule=x.plan"})
        EXPECT_THROW(ExchangeOptions::parse(wrong), Failure) << wrong;
}

}  // namespace
}  // namespace conset
