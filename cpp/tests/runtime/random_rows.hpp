// Rows of all ranks at random: who sends how many elements to whom, where they lie, and what must arrive where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "conset/random.hpp"
#include "conset/runtime/exchange.hpp"

namespace conset {

struct RandomRows {
    struct Rank {
        Blocks sends, receives;
        std::vector<double> send, receive, expected;
    };
    std::vector<Rank> ranks;

    // Messages of a pair: none, one or two; some of no elements.
    RandomRows(int count, std::uint64_t seed) : ranks(static_cast<std::size_t>(count)) {
        Random random(seed);
        std::map<std::pair<int, int>, std::vector<std::int64_t>> sizes;
        for (int source = 0; source < count; ++source)
            for (int target = 0; target < count; ++target)
                for (std::uint32_t k = random.below(3); k > 0; --k) sizes[{source, target}].push_back(random.below(6));
        for (int rank = 0; rank < count; ++rank) {
            std::vector<std::pair<int, std::int64_t>> sent, received;
            for (const auto& [pair, each] : sizes)
                for (const std::int64_t size : each) {
                    if (pair.first == rank) sent.emplace_back(pair.second, size);
                    if (pair.second == rank) received.emplace_back(pair.first, size);
                }
            Rank& one = ranks[static_cast<std::size_t>(rank)];
            one.send.resize(place(random, one.sends, sent));
            one.receive.resize(place(random, one.receives, received), -1);
            for (std::size_t k = 0; k < one.send.size(); ++k) one.send[k] = rank * 1000 + static_cast<double>(k);
        }
        for (Rank& one : ranks) one.expected = one.receive;
        for (int source = 0; source < count; ++source)
            for (int target = 0; target < count; ++target) deliver(source, target);
    }

    // What arrives where sources are not known: by source, without gaps.
    std::vector<double> contiguous(int rank) const {
        std::vector<double> all;
        for (int source = 0; source < static_cast<int>(ranks.size()); ++source)
            for (const std::size_t k : blocks(at(rank).receives, source)) {
                const auto begin = at(rank).expected.begin() + at(rank).receives.displacement[k];
                all.insert(all.end(), begin, begin + at(rank).receives.count[k]);
            }
        return all;
    }
    Rank& at(int rank) { return ranks[static_cast<std::size_t>(rank)]; }
    const Rank& at(int rank) const { return ranks[static_cast<std::size_t>(rank)]; }

private:
    // Lists pairs in any order, those of one peer in theirs, with gaps in between; the size of the buffer.
    static std::size_t place(Random& random, Blocks& blocks, std::vector<std::pair<int, std::int64_t>> given) {
        std::vector<std::uint32_t> key(1000);
        for (std::uint32_t& each : key) each = random.below(1000);
        std::stable_sort(given.begin(), given.end(), [&](const auto& a, const auto& b) {
            return key[static_cast<std::size_t>(a.first)] < key[static_cast<std::size_t>(b.first)];
        });
        std::int64_t next = 0;
        for (const auto& [peer, size] : given) {
            next += random.below(2);
            blocks.peer.push_back(peer);
            blocks.count.push_back(size);
            blocks.displacement.push_back(next);
            next += size;
        }
        return static_cast<std::size_t>(next);
    }
    static std::vector<std::size_t> blocks(const Blocks& blocks, int peer) {
        std::vector<std::size_t> found;
        for (std::size_t k = 0; k < blocks.peer.size(); ++k)
            if (blocks.peer[k] == peer && blocks.count[k] > 0) found.push_back(k);
        return found;
    }
    void deliver(int source, int target) {
        Rank &from = at(source), &to = at(target);
        const auto sent = blocks(from.sends, target), received = blocks(to.receives, source);
        for (std::size_t k = 0; k < sent.size(); ++k)
            std::copy_n(from.send.begin() + from.sends.displacement[sent[k]], from.sends.count[sent[k]],
                        to.expected.begin() + to.receives.displacement[received[k]]);
    }
};

}  // namespace conset
