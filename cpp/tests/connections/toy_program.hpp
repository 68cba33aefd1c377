// Programs by hand, and their ranks as threads over the toy MPI of runtime/toy_ranks.hpp.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "conset/connections/open_program.hpp"
#include "runtime/toy_calls.hpp"

namespace conset::toy_program {

using Pair = std::pair<int, int>;  // from, to

struct Phase {
    int context;
    std::vector<Pair> pairs;
};

// One schedule of these phases for each block; rank r lives on node 10 + r.
inline RankConnections part_of(int rank, int ranks, const std::vector<std::vector<Phase>>& blocks) {
    RankConnections part;
    part.rank = rank;
    part.ranks = ranks;
    for (int each = 0; each < ranks; ++each) part.node.push_back(10 + each);
    part.schedule_phases = {0};
    part.offsets = {0};
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        part.names.push_back("b" + std::to_string(block));
        part.repeat.push_back(1);
        part.turns.push_back(0);
        part.block_schedule.push_back(static_cast<std::int32_t>(block));
        for (const Phase& phase : blocks[block]) {
            std::vector<std::tuple<int, int, int>>
                ends;  // whether this rank sends, the peer, the place among the pairs
            for (int id = 0; id < static_cast<int>(phase.pairs.size()); ++id) {
                const auto& [from, to] = phase.pairs[static_cast<std::size_t>(id)];
                if (from == rank) ends.emplace_back(1, to, id);
                if (to == rank) ends.emplace_back(0, from, id);
            }
            std::sort(ends.begin(), ends.end());
            for (const auto& [send, peer, id] : ends) {
                part.id.push_back(id);
                part.peer.push_back(peer);
                part.send.push_back(static_cast<std::uint8_t>(send));
                part.bytes.push_back(8);
                part.order.push_back(0);
                part.bandwidth.push_back(std::numeric_limits<double>::infinity());
                part.latency.push_back(0);
            }
            part.phase_context.push_back(phase.context);
            part.offsets.push_back(static_cast<std::int64_t>(part.peer.size()));
        }
        part.schedule_phases.push_back(static_cast<std::int64_t>(part.phase_context.size()));
    }
    return part;
}

// At most that many packets of a connection are sent and not known to be read; throws where there are more.
class PacketCount {
public:
    PacketCount(toy_ranks::Mpi& mpi, int credits) : credits_(credits) {
        mpi.sent = [this](toy_ranks::Request& request) { count(request); };
        // a sender that closes its connection hears of no more packets that are read
        mpi.cancelled = [this](toy_ranks::Request& request) {
            if (request.tag == 2) open_[{request.rank, request.peer}] = read_[{request.rank, request.peer}] = 0;
        };
    }

private:
    void count(const toy_ranks::Request& request) {
        if (request.tag == 1 && ++open_[{request.rank, request.peer}] > credits_)
            throw std::logic_error("more packets than credits");
        if (request.tag != 2) return;
        std::int64_t read = 0;
        std::memcpy(&read, request.data.data(), sizeof(read));
        const Pair pair{request.peer, request.rank};
        open_[pair] -= read - read_[pair];
        read_[pair] = read;
    }
    int credits_;
    std::map<Pair, std::int64_t> open_, read_;
};

// work(rank, program) on every rank, then closed; `packets` etc. of all. Nothing is left after it.
template <class Handle>
void run(int ranks, const std::vector<std::vector<Phase>>& blocks, const Packets& packets, double timeout_s,
         const std::function<void(int, OpenProgram<Handle>&)>& work) {
    toy_ranks::in_ranks(ranks, [&](int rank) {
        OpenProgram<Handle> program(toy_ranks::world_of<Handle>(rank), part_of(rank, ranks, blocks), packets,
                                    timeout_s);
        work(rank, program);
        program.close();
    });
}

}  // namespace conset::toy_program
