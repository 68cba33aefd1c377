// Random programs against a direct interpretation: all transfers stand in one order, every rank does its own in it. A
// receiver knows what element k of a connection is, in every phase.
#include <gtest/gtest.h>

#include "connections/toy_program.hpp"
#include "conset/random.hpp"

namespace conset {
namespace {

using toy_program::Pair;
using toy_program::Phase;

struct Transfer {
    Pair pair;
    std::int64_t count;
};

struct Step {
    int block, phase;
    std::vector<Transfer> transfers;
};

struct RandomProgram {
    int ranks;
    Packets packets;
    std::vector<std::vector<Phase>> blocks;
    std::vector<Step> steps;
    std::map<Pair, std::int64_t> element_bytes;
};

std::vector<Pair> draw_pairs(Random& random, int ranks) {
    std::vector<Pair> pairs;
    for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to)
            if (random.below(3) == 0) pairs.emplace_back(from, to);
    return pairs;
}

RandomProgram draw(std::uint64_t seed) {
    Random random(seed);
    RandomProgram drawn{static_cast<int>(1 + random.below(4)), {}, {}, {}, {}};
    drawn.packets = {8 + random.below(60), static_cast<std::int32_t>(1 + random.below(4))};
    const auto blocks = 1 + random.below(2);
    for (std::uint32_t block = 0; block < blocks; ++block) {
        drawn.blocks.emplace_back();
        const auto phases = 1 + random.below(3);
        for (std::uint32_t phase = 0; phase < phases; ++phase)
            drawn.blocks.back().push_back({static_cast<int>(random.below(2)), draw_pairs(random, drawn.ranks)});
    }
    for (int from = 0; from < drawn.ranks; ++from)
        for (int to = 0; to < drawn.ranks; ++to)
            drawn.element_bytes[{from, to}] = 1 + random.below(from == to ? 8 : 24);  // to itself: one fits a packet
    const auto steps = 1 + random.below(4);
    for (std::uint32_t k = 0; k < steps; ++k) {
        const int block = static_cast<int>(random.below(blocks));
        const auto& phases = drawn.blocks[as_size(block)];
        const auto phase = random.below(phases.size());
        Step step{block, static_cast<int>(phase), {}};
        const auto& pairs = phases[phase].pairs;
        const auto transfers = pairs.empty() ? 0 : random.below(40);
        for (std::uint32_t each = 0; each < transfers; ++each) {
            const Pair pair = pairs[random.below(pairs.size())];
            const std::int64_t in_packet = drawn.packets.bytes / drawn.element_bytes[pair];
            // to itself a rank sends first: no more than a packet holds
            const std::int64_t most = pair.first == pair.second ? in_packet : 12;
            step.transfers.push_back({pair, 1 + random.below(most)});
        }
        drawn.steps.push_back(step);
    }
    return drawn;
}

// Byte b of element k of a connection in step s.
std::byte expected(std::size_t step, const Pair& pair, std::int64_t element, std::int64_t byte) {
    return static_cast<std::byte>(31 * step + 7 * as_size(pair.first) + 13 * as_size(pair.second) +
                                  101 * as_size(element) + as_size(byte));
}

struct Elements {
    std::size_t step;
    Pair pair;
    std::int64_t first, bytes;
    bool right = true;

    std::vector<std::byte> values(std::int64_t count) const {
        std::vector<std::byte> made;
        for (std::int64_t k = 0; k < count; ++k)
            for (std::int64_t b = 0; b < bytes; ++b) made.push_back(expected(step, pair, first + k, b));
        return made;
    }
};

void check_elements(const void* from, std::int64_t count, void* state) {
    auto& elements = *static_cast<Elements*>(state);
    const auto values = elements.values(count);
    elements.right = elements.right && std::memcmp(values.data(), from, values.size()) == 0;
    elements.first += count;
}

void make_elements(void* to, std::int64_t count, void* state) {
    auto& elements = *static_cast<Elements*>(state);
    const auto values = elements.values(count);
    std::memcpy(to, values.data(), values.size());
    elements.first += count;
}

// One rank's part of a step.
class Steps {
public:
    Steps(const RandomProgram& drawn, OpenProgram<int>& program, int rank)
        : drawn_(&drawn), program_(&program), rank_(rank), random_(static_cast<std::uint64_t>(rank) + 99) {}

    void run(std::size_t number) {
        const Step& step = drawn_->steps[number];
        program_->instantiate(step.block, step.phase);
        std::map<Pair, std::int64_t> sent, received;
        for (const auto& [pair, count] : step.transfers) {
            if (random_.below(10) == 0) program_->progress();
            if (pair.first == rank_) send({number, pair, sent[pair], bytes(pair)}, count);
            if (pair.second == rank_) receive({number, pair, received[pair], bytes(pair)}, count);
            sent[pair] += count;
            received[pair] += count;
        }
        program_->phase_end();
        for (const auto& [elements, data, count] : spooled_)
            EXPECT_EQ(data, elements.values(count)) << "spooled to " << rank_;
        spooled_.clear();
        spooled_sends_.clear();
    }

private:
    std::int64_t bytes(const Pair& pair) const { return drawn_->element_bytes.at(pair); }
    bool whole(const Pair& pair) const { return bytes(pair) <= drawn_->packets.bytes; }

    void send(Elements elements, std::int64_t count) {
        const int to = program_->connection(elements.pair.second, true);
        const auto way = random_.below(4);
        const auto values = elements.values(count);
        if (way == 0) {
            spooled_sends_.push_back(values);
            program_->spool_send(to, spooled_sends_.back().data(), count, elements.bytes);
        } else if (way == 1 && whole(elements.pair)) {
            program_->send_computed(to, count, elements.bytes, make_elements, &elements);
        } else if (way == 2) {
            for (std::int64_t k = 0; k < count; ++k)
                program_->send(to, values.data() + k * elements.bytes, 1, elements.bytes);
        } else {
            program_->send(to, values.data(), count, elements.bytes);
        }
    }

    void receive(Elements elements, std::int64_t count) {
        const int from = program_->connection(elements.pair.first, false);
        const auto way = random_.below(4);
        if (way == 0) {
            spooled_.push_back({elements, std::vector<std::byte>(as_size(count * elements.bytes)), count});
            program_->spool_receive(from, std::get<1>(spooled_.back()).data(), count, elements.bytes);
            // what a rank has for itself is read before it sends more
            if (random_.below(2) == 0 || elements.pair.first == rank_) program_->spool_wait(from);
        } else if (way == 1 && whole(elements.pair)) {
            program_->receive_apply(from, count, elements.bytes, check_elements, &elements);
            EXPECT_TRUE(elements.right) << "applied at " << rank_;
        } else {
            std::vector<std::byte> data(as_size(count * elements.bytes));
            const std::int64_t first = way == 2 ? count / 2 : count;
            program_->receive(from, data.data(), first, elements.bytes);
            program_->receive(from, data.data() + first * elements.bytes, count - first, elements.bytes);
            EXPECT_EQ(data, elements.values(count)) << "received by " << rank_;
        }
    }

    const RandomProgram* drawn_;
    OpenProgram<int>* program_;
    int rank_;
    Random random_;
    std::deque<std::vector<std::byte>> spooled_sends_;
    std::deque<std::tuple<Elements, std::vector<std::byte>, std::int64_t>> spooled_;
};

void run_program(std::uint64_t seed) {
    const RandomProgram drawn = draw(seed);
    toy_ranks::Mpi mpi(drawn.ranks);
    mpi.short_messages = true;
    mpi.most_looks = seed % 3 == 0 ? 0 : 12;
    const toy_program::PacketCount count(mpi, drawn.packets.credits);
    toy_program::run<int>(drawn.ranks, drawn.blocks, drawn.packets, 60, [&](int rank, OpenProgram<int>& program) {
        Steps steps(drawn, program, rank);
        for (std::size_t k = 0; k < drawn.steps.size(); ++k) steps.run(k);
        EXPECT_EQ(program.times().phases, static_cast<std::int64_t>(drawn.steps.size()));
    });
    EXPECT_EQ(mpi.left(), 0U);
    EXPECT_EQ(mpi.unreceived(), 0U);
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, receive_what_was_sent_in_order) {
    for (int k = 0; k < 250; ++k) {
        const auto seed = static_cast<std::uint64_t>(250 * GetParam() + k);
        ASSERT_NO_THROW(run_program(seed)) << "seed " << seed;
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Many, RandomPrograms, testing::Range(0, 8));

}  // namespace
}  // namespace conset
