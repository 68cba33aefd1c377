// The two ends of an open connection: packets in order, under credits.
//
// Either end has `credits` places for packets; packet n, counted from when the connection was opened, stands in place
// n mod credits of both. A sender opens packet n once packet n - credits was read: so its place is free at both ends,
// and the receiver's receive of it is started. A packet travels as a message of header and elements, as long as it is;
// the receiver says how many packets it has read once half the credits are used up since it said so last, and at the
// end of a phase. The number is that of all packets since the connection was opened, so that it may be said late.
//
// Both ends on one rank: a packet is copied from place to place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "conset/array.hpp"
#include "conset/connections/checked_mpi.hpp"
#include "conset/connections/open_program.hpp"

namespace conset {

struct PacketHeader {
    std::int64_t bytes = 0, element_bytes = 0;  // of its elements, of one of them
    std::int64_t total = -1;                    // elements of the phase, in its last packet; else -1
    std::int64_t phase = 0;                     // global
};
static_assert(sizeof(PacketHeader) == 32);

// Memory for the packets of one end.
class PacketPlaces {
public:
    explicit PacketPlaces(const Packets& packets)
        : stride_(as_size((packets.bytes + 15) / 16 * 16) + sizeof(PacketHeader)),
          memory_(std::make_unique<std::byte[]>(stride_ * as_size(packets.credits))) {}
    std::byte* at(std::int64_t place) const { return memory_.get() + stride_ * as_size(place); }
    static std::byte* elements(std::byte* place) { return place + sizeof(PacketHeader); }
    // MPI may still use it: it is never given back.
    void abandon() { keep_for_mpi(std::move(memory_)); }

private:
    std::size_t stride_;
    std::unique_ptr<std::byte[]> memory_;
};

template <class Handle>
class PacketReceiver;

template <class Handle>
class PacketSender {
public:
    // The connection is number `copy` of those between the two ranks.
    PacketSender(CheckedMpi<Handle>& mpi, const Packets& packets, int peer, int copy, PacketPlaces places,
                 PacketWindow& window);
    // Both ends are on this rank.
    void join(PacketReceiver<Handle>& receiver) { local_ = &receiver; }

    bool in_hand() const { return in_hand_; }
    // Whether a packet may be opened: there is a credit.
    bool may_open();
    // So many bytes may be written at the window.
    void open(std::int64_t capacity);
    std::int64_t filled() const { return capacity_ - window_->room; }
    // Sends the packet in hand.
    void send(PacketHeader header);
    // All packets have left this rank's memory.
    bool left();
    // All packets were read.
    bool read();
    std::int64_t sent() const { return sent_; }
    // Ends the connection, all of whose packets were read; its memory.
    PacketPlaces close();
    // The same, whatever is under way.
    void abandon();
    // MPI is not called: what it may still use is never given back.
    void forget();

private:
    friend class PacketReceiver<Handle>;
    void look_for_credits();
    bool place_left(std::int64_t place);

    CheckedMpi<Handle>* mpi_;
    PacketWindow* window_;
    PacketReceiver<Handle>* local_ = nullptr;
    int peer_, copy_;
    std::int64_t credits_;
    PacketPlaces places_;
    bool in_hand_ = false;
    std::int64_t capacity_ = 0, sent_ = 0, read_ = 0;
    std::int64_t active_sends_ = 0;
    Array<Handle> requests_;  // by place
    Array<std::uint8_t> active_;
    std::unique_ptr<std::int64_t[]> credit_;  // one: where the message with the number of packets read arrives
    Handle credit_request_{};
};

template <class Handle>
class PacketReceiver {
public:
    PacketReceiver(CheckedMpi<Handle>& mpi, const Packets& packets, int peer, int copy, PacketPlaces places,
                   PacketWindow& window);
    void join(PacketSender<Handle>& sender) { local_ = &sender; }

    bool in_hand() const { return in_hand_; }
    // Takes the next packet in hand where it has arrived: its header, and its elements at the window.
    bool look();
    const PacketHeader& header() const { return header_; }
    // The packet in hand has been read.
    void release();
    // Says what has been read, all of it or where it is much; false: not possible now, since what was said last has not
    // left.
    bool report(bool all);
    std::int64_t taken() const { return taken_; }
    PacketPlaces close();
    void abandon();
    void forget();

private:
    friend class PacketSender<Handle>;

    CheckedMpi<Handle>* mpi_;
    PacketWindow* window_;
    PacketSender<Handle>* local_ = nullptr;
    std::int64_t credits_;
    PacketPlaces places_;
    bool in_hand_ = false;
    PacketHeader header_;
    std::int64_t taken_ = 0, reported_ = 0;
    std::int64_t arrived_ = 0;                // of a local sender
    Array<Handle> requests_;                  // by place
    std::unique_ptr<std::int64_t[]> credit_;  // one
    Handle credit_request_{};
    bool credit_active_ = false;
};

extern template class PacketSender<int>;
extern template class PacketSender<void*>;
extern template class PacketReceiver<int>;
extern template class PacketReceiver<void*>;

}  // namespace conset
