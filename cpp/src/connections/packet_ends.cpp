#include "conset/connections/packet_ends.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace conset {

template <class Handle>
PacketSender<Handle>::PacketSender(CheckedMpi<Handle>& mpi, const Packets& packets, int peer, int copy,
                                   PacketPlaces places, PacketWindow& window)
    : mpi_(&mpi),
      window_(&window),
      peer_(peer),
      copy_(copy),
      credits_(packets.credits),
      places_(std::move(places)),
      requests_(as_size(packets.credits)),
      active_(as_size(packets.credits), 0),
      credit_(std::make_unique<std::int64_t[]>(1)) {
    if (peer == mpi.rank()) return;
    credit_request_ = mpi.make_receive(credit_.get(), sizeof(credit_[0]), peer, PacketTag::credits, copy);
    mpi.start(credit_request_);
}

template <class Handle>
void PacketSender<Handle>::look_for_credits() {
    if (local_ != nullptr) {
        read_ = local_->taken_;
        return;
    }
    while (read_ < sent_ && mpi_->ended(credit_request_)) {
        read_ = credit_[0];
        mpi_->start(credit_request_);
    }
}

template <class Handle>
bool PacketSender<Handle>::place_left(std::int64_t place) {
    if (active_[place] == 0) return true;
    if (!mpi_->ended(requests_[place])) return false;
    active_[place] = 0;
    --active_sends_;
    return true;
}

template <class Handle>
bool PacketSender<Handle>::may_open() {
    if (sent_ - read_ >= credits_) look_for_credits();
    return sent_ - read_ < credits_ && place_left(sent_ % credits_);
}

template <class Handle>
void PacketSender<Handle>::open(std::int64_t capacity) {
    in_hand_ = true;
    capacity_ = window_->room = capacity;
    window_->at = PacketPlaces::elements(places_.at(sent_ % credits_));
}

template <class Handle>
void PacketSender<Handle>::send(PacketHeader header) {
    const std::int64_t place = sent_ % credits_;
    std::byte* const from = places_.at(place);
    std::memcpy(from, &header, sizeof(header));
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(header)) + header.bytes;
    if (local_ != nullptr) {
        std::memcpy(local_->places_.at(place), from, as_size(bytes));
        ++local_->arrived_;
    } else {
        requests_[place] = mpi_->send(from, bytes, peer_, PacketTag::elements, copy_);
        active_[place] = 1;
        ++active_sends_;
    }
    ++sent_;
    in_hand_ = false;
    window_->room = 0;
}

template <class Handle>
bool PacketSender<Handle>::left() {
    for (std::int64_t place = 0; active_sends_ > 0 && place < credits_; ++place)
        if (!place_left(place)) return false;
    return true;
}

template <class Handle>
bool PacketSender<Handle>::read() {
    look_for_credits();
    return read_ == sent_ && left();
}

template <class Handle>
PacketPlaces PacketSender<Handle>::close() {
    if (local_ == nullptr) mpi_->withdraw(credit_request_);
    return std::move(places_);
}

template <class Handle>
void PacketSender<Handle>::abandon() {
    if (local_ != nullptr) return;
    if (!mpi_->try_withdraw(credit_request_)) keep_for_mpi(std::move(credit_));
    if (left()) return;
    for (std::int64_t place = 0; place < credits_; ++place)
        if (active_[place] != 0) mpi_->free(requests_[place]);
    places_.abandon();
}

template <class Handle>
void PacketSender<Handle>::forget() {
    places_.abandon();
    keep_for_mpi(std::move(credit_));
}

template <class Handle>
PacketReceiver<Handle>::PacketReceiver(CheckedMpi<Handle>& mpi, const Packets& packets, int peer, int copy,
                                       PacketPlaces places, PacketWindow& window)
    : mpi_(&mpi),
      window_(&window),
      credits_(packets.credits),
      places_(std::move(places)),
      credit_(std::make_unique<std::int64_t[]>(1)) {
    if (peer == mpi.rank()) return;
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(PacketHeader)) + packets.bytes;
    requests_.reserve(as_size(credits_));
    for (std::int64_t place = 0; place < credits_; ++place) {
        requests_.push_back(mpi.make_receive(places_.at(place), bytes, peer, PacketTag::elements, copy));
        mpi.start(requests_[place]);
    }
    credit_request_ = mpi.make_send(credit_.get(), sizeof(credit_[0]), peer, PacketTag::credits, copy);
}

template <class Handle>
bool PacketReceiver<Handle>::look() {
    if (in_hand_) return true;
    const std::int64_t place = taken_ % credits_;
    if (local_ != nullptr ? arrived_ == taken_ : !mpi_->ended(requests_[place])) return false;
    std::byte* const from = places_.at(place);
    std::memcpy(&header_, from, sizeof(header_));
    in_hand_ = true;
    window_->at = PacketPlaces::elements(from);
    window_->room = header_.bytes;
    return true;
}

template <class Handle>
void PacketReceiver<Handle>::release() {
    if (local_ == nullptr) mpi_->start(requests_[taken_ % credits_]);
    ++taken_;
    in_hand_ = false;
    window_->room = 0;
}

template <class Handle>
bool PacketReceiver<Handle>::report(bool all) {
    const std::int64_t unsaid = taken_ - reported_;
    if (local_ != nullptr || unsaid == 0 || (!all && 2 * unsaid < credits_)) return true;
    if (credit_active_ && !mpi_->ended(credit_request_)) return false;
    credit_[0] = reported_ = taken_;
    mpi_->start(credit_request_);
    credit_active_ = true;
    return true;
}

template <class Handle>
PacketPlaces PacketReceiver<Handle>::close() {
    for (Handle& request : requests_) mpi_->withdraw(request);
    if (local_ == nullptr) {
        while (credit_active_ && !mpi_->ended(credit_request_)) continue;
        mpi_->free(credit_request_);
    }
    return std::move(places_);
}

template <class Handle>
void PacketReceiver<Handle>::abandon() {
    if (local_ != nullptr) return;
    bool withdrawn = true;
    for (std::int64_t place = 0; place < credits_; ++place) {
        // the packet in hand has arrived: its receive is not started
        if (in_hand_ && place == taken_ % credits_)
            mpi_->free(requests_[place]);
        else
            withdrawn = mpi_->try_withdraw(requests_[place]) && withdrawn;
    }
    if (!withdrawn) places_.abandon();
    if (credit_active_ && !mpi_->ended(credit_request_))
        keep_for_mpi(std::move(credit_));  // with its request
    else
        mpi_->free(credit_request_);
}

template <class Handle>
void PacketReceiver<Handle>::forget() {
    places_.abandon();
    keep_for_mpi(std::move(credit_));
}

template class PacketSender<int>;
template class PacketSender<void*>;
template class PacketReceiver<int>;
template class PacketReceiver<void*>;

}  // namespace conset
