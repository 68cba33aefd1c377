// Router of the flit model: its state as bit masks, and the two allocators.
//
// Lanes of a router are numbered port * lanes + lane, in and out alike, so that one word of bits holds them all. A
// `Shape` says how many ports and lanes there are: fixed where a network is usual, so that loops unroll.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace conset {

template <int Ports, int Lanes>
struct FixedShape {
    using Mask = std::conditional_t<(Ports * Lanes <= 32), std::uint32_t, std::uint64_t>;
    static constexpr int most_ports = Ports, most_lanes = Ports * Lanes;
    FixedShape(std::int32_t, std::int32_t) {}
    static constexpr std::uint32_t ports() { return Ports; }
    static constexpr std::uint32_t lanes() { return Lanes; }
};

struct AnyShape {
    using Mask = std::uint64_t;
    static constexpr int most_ports = 64, most_lanes = 64;
    AnyShape(std::int32_t ports, std::int32_t lanes)
        : ports_(static_cast<std::uint32_t>(ports)), lanes_(static_cast<std::uint32_t>(lanes)) {}
    std::uint32_t ports() const { return ports_; }
    std::uint32_t lanes() const { return lanes_; }

private:
    std::uint32_t ports_, lanes_;
};

// The number of the lowest bit of `mask`, which is not 0: std::countr_zero also asks whether it is.
inline std::uint32_t lowest_bit(std::uint32_t mask) { return static_cast<std::uint32_t>(__builtin_ctz(mask)); }
inline std::uint32_t lowest_bit(std::uint64_t mask) { return static_cast<std::uint32_t>(__builtin_ctzll(mask)); }

// The first bit of `mask` (not 0) at or after bit `turn`, cyclically.
template <class Mask>
std::uint32_t first_after(Mask mask, std::uint32_t turn) {
    const Mask above = mask & ~((Mask{1} << turn) - 1);
    return lowest_bit(above != 0 ? above : mask);
}

template <class Mask>
Mask bit(std::uint32_t k) {
    return Mask{1} << k;
}

// Takes the lowest bit off `mask` (not 0) and returns its number.
template <class Mask>
std::uint32_t pop_bit(Mask& mask) {
    const std::uint32_t k = lowest_bit(mask);
    mask &= mask - 1;
    return k;
}

// Small counts, one a lane, eight in a word: many are raised at once and without a branch.
template <int Lanes>
class LaneCounts {
public:
    explicit LaneCounts(std::uint8_t count = 0) { words_.fill(ones * count); }

    // Adds 1 to every lane in `mask`.
    template <class Mask>
    void add(Mask mask) {
        for (std::size_t k = 0; k < words_.size(); ++k)
            words_[k] += spread[static_cast<std::uint64_t>(mask) >> 8 * k & 0xff];
    }

    // Subtracts `count` from a lane; whether nothing is left there.
    bool drop(std::uint32_t lane, std::uint64_t count = 1) {
        std::uint64_t& word = words_[lane / 8];
        const std::uint32_t shift = lane % 8 * 8;
        word -= count << shift;
        return (word >> shift & 0xff) == 0;
    }

    bool any(std::uint32_t lane) const { return (words_[lane / 8] >> lane % 8 * 8 & 0xff) != 0; }

private:
    static constexpr std::uint64_t ones = 0x0101010101010101;
    static constexpr std::array<std::uint64_t, 256> spread = [] {
        std::array<std::uint64_t, 256> table{};
        for (std::uint64_t k = 0; k < 256; ++k) table[k] = ((k * ones & 0x8040201008040201) + 0x7f * ones) >> 7 & ones;
        return table;
    }();

    std::array<std::uint64_t, as_size(Lanes + 7) / 8> words_;
};

// Halves of the lanes of a link: a worm may take lanes of the halves in its `Half` mask.
using Half = std::uint8_t;
constexpr Half lower = 1, upper = 2, either = 3;

template <class Shape>
struct FlitRouter {
    using Mask = typename Shape::Mask;
    template <class T>
    using PerPort = std::array<T, Shape::most_ports>;
    template <class T>
    using PerLane = std::array<T, Shape::most_lanes>;

    static constexpr std::uint8_t none = 255;
    static constexpr Mask top = Mask{1} << (8 * sizeof(Mask) - 1);

    Mask filled = 0;                       // input lanes that have a flit
    Mask open = 0;                         // input lanes whose worm in front has an output lane with a credit
    Mask free = 0;                         // output lanes that no worm holds
    Mask starved = 0;                      // output lanes without a credit
    Mask changed = 0;                      // outputs (one bit a port) where VA may find something to grant
    PerPort<Mask> held{};                  // per output: input lanes that hold a lane of it
    PerPort<std::array<Mask, 2>> asked{};  // per output and half: input lanes that wait for it
    PerPort<std::uint8_t> output_turn{}, input_turn{}, lane_turn{};
    PerLane<std::uint8_t> grant_turn{}, accept_turn{};
    LaneCounts<Shape::most_lanes> flits;    // of an input lane: in its buffer
    LaneCounts<Shape::most_lanes> credits;  // of an output lane
    PerLane<std::uint8_t> out;              // of an input lane: the output lane that the worm in front holds, or none
    PerLane<std::uint8_t> holder{};         // of an output lane that is not free: the input lane that holds it
    PerLane<std::int32_t> left{};           // of an input lane: flits of the worm in front still to come through
    PerLane<std::int32_t> worm{};           // of an input lane: in front
    PerLane<std::uint8_t> first{}, last{};  // of an input lane: its places in the queue of worms to come through

    FlitRouter(const Shape& shape, std::uint8_t buffer) : credits(buffer) {
        out.fill(none);
        for (std::uint32_t port = 0; port < shape.ports(); ++port) free |= lanes_of(shape, port);
    }

    bool idle() const { return (filled & open) == 0 && changed == 0; }

    void ask(std::uint32_t in, std::uint32_t output, Half halves) {
        if ((halves & lower) != 0) asked[output][0] |= bit<Mask>(in);
        if ((halves & upper) != 0) asked[output][1] |= bit<Mask>(in);
        changed |= bit<Mask>(output);
    }

    // A worm has gone: its output lane is free again, to be granted from the next cycle on.
    void release(std::uint32_t in, std::uint32_t output) {
        open &= ~bit<Mask>(in);
        held[output] &= ~bit<Mask>(in);
        free |= bit<Mask>(out[in]);
        out[in] = none;
        if ((asked[output][0] | asked[output][1]) != 0) changed |= bit<Mask>(output);
    }

    // VA: calls bind(input lane, output, output lane) for every match.
    template <class Bind>
    void match_lanes(const Shape& shape, Bind&& bind) {
        PerLane<Mask> granted;
        Mask winners = 0;
        for (Mask outputs = changed; outputs != 0;) grant_lanes(shape, pop_bit(outputs), granted, winners);
        const std::uint32_t lanes = shape.lanes(), count = shape.ports() * lanes;
        while (winners != 0) {
            const std::uint32_t in = pop_bit(winners);
            const std::uint32_t taken = first_after(granted[in], accept_turn[in]), o = taken / lanes;
            grant_turn[taken] = static_cast<std::uint8_t>(in + 1 == count ? 0 : in + 1);
            accept_turn[in] = static_cast<std::uint8_t>(taken + 1 == count ? 0 : taken + 1);
            free &= ~conset::bit<Mask>(taken);
            asked[o][0] &= ~conset::bit<Mask>(in);
            asked[o][1] &= ~conset::bit<Mask>(in);
            held[o] |= conset::bit<Mask>(in);
            out[in] = static_cast<std::uint8_t>(taken);
            holder[taken] = static_cast<std::uint8_t>(in);
            bind(in, o, taken);
        }
        for (Mask outputs = changed; outputs != 0;) settle(shape, pop_bit(outputs));
    }

    // SA among the input lanes in `able` (not 0): calls cross(input lane, output) for every match.
    template <class Cross>
    void match_ports(const Shape& shape, Mask able, Cross&& cross) {
        const std::uint32_t lanes = shape.lanes(), ports = shape.ports();
        if ((able & (able - 1)) == 0) {
            const std::uint32_t in_lane = lowest_bit(able), in = in_lane / lanes, o = out[in_lane] / lanes;
            move_turns(shape, in, o, in_lane - in * lanes);
            cross(in_lane, o);
            return;
        }
        // Without branches, which would be mispredicted half of the time: an output that nobody asks grants to a port
        // beyond the last.
        std::array<Mask, std::max(8, Shape::most_ports)> granted{};
        Mask winners = 0;
        for (std::uint32_t o = 0; o < ports; ++o) {
            const Mask asking = able & held[o], above = asking & (~Mask{0} << (output_turn[o] * lanes));
            const std::uint32_t in = lowest_bit((above != 0 ? above : asking) | top) / lanes;
            granted[in] |= bit<Mask>(o);
            winners |= bit<Mask>(in);
        }
        winners &= (Mask{1} << ports) - 1;
        while (winners != 0) {
            const std::uint32_t in = pop_bit(winners), o = first_after(granted[in], input_turn[in]);
            const Mask mine = (able & held[o] & lanes_of(shape, in)) >> (in * lanes);
            const std::uint32_t lane = first_after(mine, lane_turn[in]);
            move_turns(shape, in, o, lane);
            cross(in * lanes + lane, o);
        }
    }

    static Mask lanes_of(const Shape& shape, std::uint32_t port) {
        return ((Mask{1} << shape.lanes()) - 1) << (port * shape.lanes());
    }

private:
    void grant_lanes(const Shape& shape, std::uint32_t o, PerLane<Mask>& granted, Mask& winners) {
        const std::uint32_t lanes = shape.lanes(), middle = o * lanes + lanes / 2;
        for (Mask vacant = free & lanes_of(shape, o); vacant != 0;) {
            const std::uint32_t taken = pop_bit(vacant);
            const Mask asking = asked[o][taken < middle ? 0 : 1];
            if (asking == 0) continue;
            const std::uint32_t in = first_after(asking, grant_turn[taken]);
            granted[in] = ((winners >> in & 1U) != 0 ? granted[in] : Mask{0}) | bit<Mask>(taken);
            winners |= bit<Mask>(in);
        }
    }

    void move_turns(const Shape& shape, std::uint32_t in, std::uint32_t o, std::uint32_t lane) {
        output_turn[o] = static_cast<std::uint8_t>(in + 1 == shape.ports() ? 0 : in + 1);
        input_turn[in] = static_cast<std::uint8_t>(o + 1 == shape.ports() ? 0 : o + 1);
        lane_turn[in] = static_cast<std::uint8_t>(lane + 1 == shape.lanes() ? 0 : lane + 1);
    }

    // An output where a free lane and a worm that may take it remain is tried again.
    void settle(const Shape& shape, std::uint32_t o) {
        const std::uint32_t lanes = shape.lanes();
        const Mask low = (Mask{1} << (lanes / 2)) - 1, high = ((Mask{1} << lanes) - 1) & ~low;
        const Mask vacant = free >> (o * lanes);
        const bool again = (asked[o][0] != 0 && (vacant & low) != 0) || (asked[o][1] != 0 && (vacant & high) != 0);
        if (!again) changed &= ~bit<Mask>(o);
    }
};

}  // namespace conset
