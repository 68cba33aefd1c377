#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "connections/toy_program.hpp"

namespace conset {
namespace {

using toy_program::Phase;
using toy_program::run;

constexpr std::int64_t kEight = 8;

void send(OpenProgram<int>& program, int peer, std::int64_t value) {
    program.send(program.connection(peer, true), reinterpret_cast<const std::byte*>(&value), 1, kEight);
}

std::int64_t receive(OpenProgram<int>& program, int peer) {
    std::int64_t value = -1;
    program.receive(program.connection(peer, false), reinterpret_cast<std::byte*>(&value), 1, kEight);
    return value;
}

template <class Work>
Failure failure_of(Work work) {
    try {
        work();
    } catch (const Failure& failure) {
        return failure;
    }
    ADD_FAILURE() << "nothing has failed";
    return {Code::fine, ""};
}

template <class Work>
void expect_failure(Code code, const std::string& text, Work work) {
    const Failure failure = failure_of(work);
    EXPECT_EQ(failure.code, code) << failure.what();
    EXPECT_EQ(failure.what(), text);
}

class OpenPrograms : public testing::Test {
protected:
    OpenPrograms() : mpi(3) { mpi.short_messages = true; }
    toy_ranks::Mpi mpi;
    const std::vector<std::vector<Phase>> ring{{{0, {{0, 1}, {1, 2}, {2, 0}}}, {1, {{1, 0}, {2, 1}, {0, 2}}}}};
};

TEST_F(OpenPrograms, a_connection_outside_the_phase_names_block_phase_and_nodes) {
    run<int>(3, ring, {}, 0, [](int rank, OpenProgram<int>& program) {
        expect_failure(Code::state, "no phase is open: instantiate one", [&] { program.connection(0, true); });
        program.instantiate(0, 0);
        if (rank == 0) {
            expect_failure(
                Code::argument,
                "block 'b0', phase 0: no connection from rank 0 (node 10) to rank 2 (node 12); phase 1 has it",
                [&] { program.connection(2, true); });
            expect_failure(Code::argument,
                           "block 'b0', phase 0: no connection from rank 0 (node 10) to rank 0 (node 10)",
                           [&] { program.connection(0, false); });
            expect_failure(Code::argument, "peer 3: there are 3 ranks", [&] { program.connection(3, true); });
            expect_failure(Code::argument, "block 1: there are 1", [&] { program.phases(1); });
            expect_failure(Code::state,
                           "block 'b0', phase 0: rank 0 (node 10) opens another phase before it has ended "
                           "this one",
                           [&] { program.instantiate(0, 1); });
        }
        program.phase_end();
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, connections_of_one_pair_are_known_by_their_ids) {
    const std::vector<std::vector<Phase>> twice{{{0, {{0, 1}, {1, 0}, {0, 1}}}, {0, {{0, 1}}}, {1, {{0, 1}, {0, 1}}}}};
    run<int>(3, twice, {}, 0, [](int rank, OpenProgram<int>& program) {
        for (int phase = 0; phase < 3; ++phase) {
            const int last = phase == 0 ? 2 : 1;
            program.instantiate(0, phase);
            if (phase == 1) {
                if (rank == 0) send(program, 1, 7);
                if (rank == 1) EXPECT_EQ(receive(program, 0), 7);
            } else if (rank == 0) {
                EXPECT_NE(program.connection(0), program.connection(last));
                for (const std::int64_t id : {0, last})
                    program.send(program.connection(static_cast<int>(id)), reinterpret_cast<const std::byte*>(&id), 1,
                                 kEight);
                if (phase == 0) {
                    expect_failure(Code::argument,
                                   "block 'b0', phase 0: connections 0, 2 from rank 0 (node 10) to rank 1 (node 11): "
                                   "one is chosen by its id",
                                   [&] { program.connection(1, true); });
                    expect_failure(Code::argument, "block 'b0', phase 0: no connection 3 at rank 0 (node 10)",
                                   [&] { program.connection(3); });
                }
            } else if (rank == 1) {
                for (const int id : {last, 0}) {  // the other way round
                    std::int64_t value = -1;
                    program.receive(program.connection(id), reinterpret_cast<std::byte*>(&value), 1, kEight);
                    EXPECT_EQ(value, id);
                }
            }
            program.phase_end();
        }
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, what_is_received_and_what_was_sent_are_counted) {
    run<int>(3, ring, {}, 0, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        for (int k = 0; k < 3; ++k) send(program, (rank + 1) % 3, k);
        EXPECT_EQ(receive(program, (rank + 2) % 3), 0);
        if (rank == 1) {
            expect_failure(
                Code::mismatch,
                "block 'b0', phase 0: rank 1 (node 11) has received 1 of 3 elements of rank 0 (node 10) when "
                "the phase ends",
                [&] { program.phase_end(); });
            EXPECT_FALSE(program.in_phase());
        } else {
            receive(program, (rank + 2) % 3);
            receive(program, (rank + 2) % 3);
            if (rank == 2)
                expect_failure(
                    Code::mismatch,
                    "block 'b0', phase 0: rank 2 (node 12) receives 4 elements of rank 1 (node 11), which has "
                    "sent 3",
                    [&] { receive(program, 1); });
            program.phase_end();
        }
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, elements_keep_their_size_within_a_phase) {
    run<int>(3, ring, {}, 0, [](int rank, OpenProgram<int>& program) {
        const int target = (rank + 1) % 3, source = (rank + 2) % 3;
        program.instantiate(0, 0);
        send(program, target, 5);
        std::byte four[4]{};
        const std::string here =
            "block 'b0', phase 0: rank " + std::to_string(rank) + " (node 1" + std::to_string(rank) + ") ";
        const std::string to = "rank " + std::to_string(target) + " (node 1" + std::to_string(target) + ")";
        const std::string from = "rank " + std::to_string(source) + " (node 1" + std::to_string(source) + ")";
        expect_failure(Code::mismatch, here + "sends an element of 4 B to " + to + ", its first was of 8 B",
                       [&] { program.send(program.connection(target, true), four, 1, 4); });
        expect_failure(Code::mismatch, here + "receives an element of 4 B, " + from + " sends elements of 8 B",
                       [&] { program.receive(program.connection(source, false), four, 1, 4); });
        EXPECT_EQ(receive(program, source), 5);
        program.phase_end();
    });
}

TEST_F(OpenPrograms, a_cycle_of_waits_is_named_on_every_rank_of_it) {
    std::atomic<int> said = 0;
    run<int>(3, ring, {}, 0.3, [&](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        const Failure failure = failure_of([&] { receive(program, (rank + 2) % 3); });
        EXPECT_EQ(failure.code, Code::timeout);
        const std::string text = failure.what();
        for (int waits = 0; waits < 3; ++waits)
            EXPECT_NE(text.find(std::to_string(waits) + " waits for an element of " + std::to_string((waits + 2) % 3)),
                      std::string::npos)
                << text;
        EXPECT_TRUE(program.failed());
        ++said;
    });
    EXPECT_EQ(said, 3);
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, who_waits_in_no_cycle_hears_where_the_chain_ends) {
    std::atomic<int> failed = 0;
    run<int>(3, ring, {}, 0.3, [&](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        if (rank == 0)
            while (failed < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (rank == 1) {
            const Failure failure = failure_of([&] { receive(program, 0); });
            EXPECT_NE(std::string(failure.what()).find("1 waits for an element of 0, 0 computes, or has ended"),
                      std::string::npos)
                << failure.what();
            ++failed;
        }
        if (rank == 2) {
            const Failure failure = failure_of([&] { program.phase_end(); });
            EXPECT_NE(std::string(failure.what()).find("2 ends the phase and waits for 1's end"), std::string::npos)
                << failure.what();
            ++failed;
        }
        if (rank == 0) {
            program.set_timeout(0.1);
            EXPECT_EQ(failure_of([&] { program.phase_end(); }).code, Code::timeout);
        }
    });
}

// Rank r computes element k of what it sends from element k - 1 of what it receives: runs of one.
struct Chain {
    OpenProgram<int>* program;
    int rank, k;
    std::vector<std::int64_t> seen;
};

TEST_F(OpenPrograms, a_producer_may_receive_what_depends_on_what_it_has_sent) {
    const Packets packets{64, 1};
    run<int>(3, ring, packets, 20, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        Chain chain{&program, rank, 0, {}};
        const auto produce = [](void* to, std::int64_t count, void* state) {
            auto& own = *static_cast<Chain*>(state);
            EXPECT_EQ(count, 1);
            std::int64_t value = 100 * own.rank + own.k;
            if (own.k > 0) own.seen.push_back(receive(*own.program, (own.rank + 2) % 3));
            ++own.k;
            std::memcpy(to, &value, sizeof(value));
        };
        const int to = program.connection((rank + 1) % 3, true);
        for (int k = 0; k < 50; ++k) program.send_computed(to, 1, kEight, produce, &chain);
        chain.seen.push_back(receive(program, (rank + 2) % 3));
        for (int k = 0; k < 50; ++k) EXPECT_EQ(chain.seen[static_cast<std::size_t>(k)], 100 * ((rank + 2) % 3) + k);
        program.phase_end();
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, an_operator_may_not_use_its_own_connection) {
    run<int>(3, ring, {}, 20, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        for (int k = 0; k < 3; ++k) send(program, (rank + 1) % 3, k);
        struct Own {
            OpenProgram<int>* program;
            int source;
            std::int64_t seen;
        } own{&program, (rank + 2) % 3, 0};
        const auto apply = [](const void* /*elements*/, std::int64_t count, void* state) {
            auto& here = *static_cast<Own*>(state);
            EXPECT_EQ(failure_of([&] { receive(*here.program, here.source); }).code, Code::state);
            EXPECT_EQ(failure_of([&] { here.program->phase_end(); }).code, Code::state);
            here.seen += count;
        };
        program.receive_apply(program.connection(own.source, false), 3, kEight, apply, &own);
        EXPECT_EQ(own.seen, 3);
        program.phase_end();
    });
}

TEST_F(OpenPrograms, switches_are_counted_and_phases_of_a_context_share_connections) {
    const std::vector<Phase> phases{{0, {{0, 1}, {1, 0}}}, {0, {{0, 2}}}, {1, {{0, 1}, {2, 0}}}};
    run<int>(3, {phases}, {}, 20, [](int rank, OpenProgram<int>& program) {
        for (int round = 0; round < 4; ++round)
            for (int phase = 0; phase < 3; ++phase) {
                program.instantiate(0, phase);
                if (rank == 0 && phase == 1) send(program, 2, round);
                if (rank == 2 && phase == 1) {
                    EXPECT_EQ(receive(program, 0), round);
                }
                program.phase_end();
            }
        const SwitchTimes times = program.times();
        EXPECT_EQ(times.phases, 12);
        EXPECT_EQ(times.switches, 7);
        EXPECT_EQ(times.elements, rank == 0 ? 4 : 0);
        EXPECT_GT(times.synchronization_s, 0);
    });
    EXPECT_EQ(mpi.left(), 0U);
    EXPECT_EQ(mpi.unreceived(), 0U);
}

TEST_F(OpenPrograms, ranks_agree_on_packets_and_phases) {
    toy_ranks::in_ranks(3, [&](int rank) {
        OpenProgram<int> program(toy_ranks::world_of<int>(rank), toy_program::part_of(rank, 3, ring), {64, 1 + rank},
                                 0);
        expect_failure(Code::mismatch, "rank 1: packets of 64 B and 2 credits, rank 0 has others",
                       [&] { program.instantiate(0, 0); });
        expect_failure(Code::argument, "credits: 0 must be from 1 to 1048576", [&] { program.set_packets({64, 0}); });
        program.set_packets({64, 2});
        program.instantiate(0, 0);
        expect_failure(Code::state, "packets: connections are open already; set them before the first phase",
                       [&] { program.set_packets({64, 2}); });
        program.phase_end();
        program.close();
    });
    EXPECT_EQ(mpi.left(), 0U);
}

TEST_F(OpenPrograms, failures_of_mpi_have_its_text) {
    mpi.fail_isend_at = 1;
    toy_ranks::in_ranks(3, [&](int rank) {
        OpenProgram<int> program(toy_ranks::world_of<int>(rank), toy_program::part_of(rank, 3, ring), {}, 0);
        program.instantiate(0, 0);
        if (rank != 1) return;  // without a call of MPI in the destructor
        expect_failure(Code::mpi, "rank 1: MPI_Isend: toy error 16", [&] { program.phase_end(); });
        EXPECT_EQ(failure_of([&] { program.phase_end(); }).code, Code::state);
        program.close();
    });
}

TEST_F(OpenPrograms, ranks_in_different_phases_hear_of_it_and_may_close) {
    const std::vector<Phase> phases{{0, {{0, 1}}}, {0, {{0, 1}}}};
    run<int>(3, {phases}, {}, 0.3, [](int rank, OpenProgram<int>& program) {
        if (rank == 2) return program.instantiate(0, 0), program.phase_end();
        program.instantiate(0, rank);
        if (rank == 1) {
            expect_failure(Code::mismatch,
                           "block 'b0', phase 1: rank 1 (node 11) hears of rank 0 (node 10) in block 'b0', phase 0: "
                           "ranks open different phases",
                           [&] { receive(program, 0); });
            EXPECT_TRUE(program.failed());
            return;
        }
        send(program, 1, 5);
        program.phase_end();
        const Failure failure = failure_of([&] { program.close(); });
        EXPECT_EQ(failure.code, Code::timeout);
        EXPECT_NE(std::string(failure.what()).find("0 closes connections and waits for 1 to read"), std::string::npos)
            << failure.what();
    });
}

TEST_F(OpenPrograms, an_interrupt_ends_a_wait) {
    struct Stop {};
    run<int>(3, ring, {}, 0, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        program.set_interrupt([] { throw Stop{}; });
        EXPECT_THROW(receive(program, (rank + 2) % 3), Stop);
        EXPECT_TRUE(program.failed());
    });
}

TEST_F(OpenPrograms, a_set_up_without_memory_leaves_a_program_to_close) {
    std::atomic<bool> first = true;
    mpi.cancelled = [&](const toy_ranks::Request& request) {
        if (request.rank == 1 && first.exchange(false)) throw std::bad_alloc();
    };
    run<int>(3, ring, {}, 0.2, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        program.phase_end();
        if (rank == 1) {
            EXPECT_THROW(program.instantiate(0, 1), std::bad_alloc);
            EXPECT_TRUE(program.failed());
            EXPECT_EQ(failure_of([&] { program.instantiate(0, 1); }).code, Code::state);
        } else {
            program.instantiate(0, 1);
            EXPECT_EQ(failure_of([&] { program.phase_end(); }).code, Code::timeout);
        }
    });
}

TEST_F(OpenPrograms, an_operator_may_not_close_the_program_that_has_failed) {
    std::atomic<bool> finished = false;
    run<int>(3, {{{0, {{0, 1}, {1, 0}, {2, 0}}}}}, {}, 0.2, [&](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        if (rank == 1) send(program, 0, 5);
        if (rank == 1) {
            EXPECT_EQ(failure_of([&] { receive(program, 0); }).code, Code::timeout);
        }
        if (rank == 2)
            while (!finished) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (rank == 0) {
            const auto apply = [](const void* /*elements*/, std::int64_t /*count*/, void* state) {
                auto& own = *static_cast<OpenProgram<int>*>(state);
                EXPECT_EQ(failure_of([&] { receive(own, 2); }).code, Code::timeout);
                EXPECT_EQ(failure_of([&] { own.close(); }).code, Code::state);
            };
            program.receive_apply(program.connection(1, false), 1, kEight, apply, &program);
            finished = true;
        }
        if (rank == 2) {
            EXPECT_EQ(failure_of([&] { program.phase_end(); }).code, Code::timeout);
        }
    });
}

TEST_F(OpenPrograms, close_waits_for_no_packet_that_is_under_way_after_a_timeout) {
    mpi.cancelled = [](toy_ranks::Request& request) {
        if (request.tag == 1) request.ended = false;  // it has begun to arrive: it cannot be cancelled
    };
    run<int>(3, ring, {}, 0.2, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        EXPECT_EQ(failure_of([&] { receive(program, (rank + 2) % 3); }).code, Code::timeout);
    });
    EXPECT_GT(mpi.left(), 0U);
}

TEST_F(OpenPrograms, what_is_spooled_goes_on_where_nothing_waits) {
    const std::vector<Phase> phases{{0, {{0, 1}, {0, 2}}}};
    std::atomic<int> read = 0;
    run<int>(3, {phases}, {8, 4}, 5, [&](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        const std::int64_t sent[5]{1, 2, 3, 4, 5};
        if (rank == 0) {
            program.spool_send(program.connection(1, true), reinterpret_cast<const std::byte*>(sent), 5, kEight);
            while (read < 4) std::this_thread::yield();
            send(program, 2, 7);  // there are credits: it need not wait
            while (read < 5) std::this_thread::yield();
        }
        try {
            for (; rank == 1 && read < 5; ++read) EXPECT_EQ(receive(program, 0), sent[read]);
        } catch (const Failure& failure) {
            read = 5;
            ADD_FAILURE() << failure.what();
        }
        if (rank == 2) {
            EXPECT_EQ(receive(program, 0), 7);
        }
        program.phase_end();
    });
}

TEST_F(OpenPrograms, more_elements_than_64_bits_hold_are_counted_right) {
    const std::vector<Phase> phases{{0, {{0, 1}}}};
    run<int>(3, {phases}, {}, 5, [](int rank, OpenProgram<int>& program) {
        program.instantiate(0, 0);
        const std::byte sent[3]{};
        if (rank == 0) program.send(program.connection(1, true), sent, 3, 1);
        if (rank == 1) {
            const auto ignore = [](const void* /*elements*/, std::int64_t /*count*/, void* /*state*/) {};
            std::byte received{};
            const int from = program.connection(0, false);
            program.receive(from, &received, 1, 1);
            expect_failure(
                Code::mismatch,
                "block 'b0', phase 0: rank 1 (node 11) receives 9223372036854775808 elements of rank 0 "
                "(node 10), which has sent 3",
                [&] { program.receive_apply(from, std::numeric_limits<std::int64_t>::max(), 1, ignore, nullptr); });
        }
        program.phase_end();
    });
}

TEST(OpenProgramsOfPointers, do_the_same) {
    toy_ranks::Mpi mpi(2);
    mpi.short_messages = true;
    run<void*>(2, {{{0, {{0, 1}, {1, 0}, {0, 0}}}}}, {}, 20, [](int rank, OpenProgram<void*>& program) {
        program.instantiate(0, 0);
        const std::int64_t sent = 7 + rank;
        std::int64_t received = 0;
        program.send(program.connection(1 - rank, true), reinterpret_cast<const std::byte*>(&sent), 1, kEight);
        program.receive(program.connection(1 - rank, false), reinterpret_cast<std::byte*>(&received), 1, kEight);
        EXPECT_EQ(received, 8 - rank);
        program.phase_end();
    });
    EXPECT_EQ(mpi.left(), 0U);
}

}  // namespace
}  // namespace conset
