#include "conset/execution/rank_memory.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "conset/execution/items.hpp"

namespace conset {

namespace {

// Zeros, so that what no message brings is the same every time.
std::unique_ptr<std::byte[]> staging(const Array<std::int64_t>& items, std::int64_t item_bytes) {
    return item_bytes == 0 ? nullptr : std::make_unique<std::byte[]>(items.size() * as_size(item_bytes));
}

}  // namespace

RankMemory::RankMemory(const RankPlan& plan, const RankItems& items, const std::byte* send, std::byte* receive)
    : plan_(plan),
      items_(items),
      send_(send),
      receive_(receive),
      work_(std::make_unique_for_overwrite<std::byte[]>(as_size(plan.work_bytes))),
      send_staging_(staging(items.send_items, items.item_bytes)),
      receive_staging_(staging(items.receive_items, items.item_bytes)),
      from_(items.item_bytes == 0 ? send : send_staging_.get()),
      to_(items.item_bytes == 0 ? receive : receive_staging_.get()),
      at_once_(!plan.packs.offsets.empty() || !plan.unpacks.offsets.empty()) {
    make_copies(packs_, plan.packs, work_.get());
    make_copies(unpacks_, plan.unpacks, to_);
    if (!staged() || at_once_) return;
    make_gathers();
    make_landings();
}

void RankMemory::make_copies(Array<Copy>& copies, const RankCopies& given, std::byte* to) {
    copies.reserve(given.bytes.size());
    for (std::size_t k = 0; k < given.bytes.size(); ++k) {
        const std::byte* from = given.work[k] != 0 ? work_.get() : from_;
        copies.push_back({from + given.source[k], to + given.target[k], as_size(given.bytes[k])});
    }
}

// An item that several carry parts of belongs to the first; own copies are made before any send starts.
void RankMemory::make_gathers() {
    const std::int64_t each = items_.item_bytes;
    std::unordered_set<std::int64_t> cut;  // items that a message begins or ends inside of
    const auto take = [&](Array<Range>& ranges, std::int64_t offset, std::int64_t bytes) {
        Range range{offset / each, bytes == 0 ? offset / each : (offset + bytes + each - 1) / each};
        const auto taken = [&](std::int64_t item, bool inside) { return inside && !cut.insert(item).second; };
        const bool head = offset % each != 0, tail = (offset + bytes) % each != 0;
        if (range.end - range.begin == 1) {
            if (taken(range.begin, head || tail)) range.end = range.begin;
        } else if (bytes != 0) {
            if (taken(range.begin, head)) ++range.begin;
            if (taken(range.end - 1, tail)) --range.end;
        }
        ranges.push_back(range);
    };
    for (std::size_t c = 0; c < plan_.own.bytes.size(); ++c)
        take(own_gathers_, plan_.own.source[c], plan_.own.bytes[c]);
    for (std::size_t k = 0; k < plan_.sends.size(); ++k) take(gathers_, plan_.sends.offset[k], plan_.sends.bytes[k]);
}

void RankMemory::make_landings() {
    const std::int64_t each = items_.item_bytes;
    bool whole = true;  // no message is cut inside of an item
    const auto add = [&](std::int64_t offset, std::int64_t bytes) {
        landings_.push_back({offset, offset + bytes, landings_.size()});
        whole = whole && offset % each == 0 && bytes % each == 0;
    };
    for (std::size_t k = 0; k < plan_.receives.size(); ++k) add(plan_.receives.offset[k], plan_.receives.bytes[k]);
    for (std::size_t c = 0; c < plan_.own.bytes.size(); ++c) add(plan_.own.target[c], plan_.own.bytes[c]);
    in_order_ = items_.add || !whole;
    if (!in_order_) return;
    std::stable_sort(landings_.begin(), landings_.end(),
                     [](const Landing& one, const Landing& other) { return one.begin < other.begin; });
    place_.resize(landings_.size());
    for (std::size_t at = 0; at < landings_.size(); ++at) place_[landings_[at].k] = at;
    landed_.resize(landings_.size());
}

const std::byte* RankMemory::send_address(std::size_t k) const {
    return (plan_.sends.in_work(k) ? work_.get() : from_) + plan_.sends.offset[k];
}

std::byte* RankMemory::receive_address(std::size_t k) const {
    return (plan_.receives.in_work(k) ? work_.get() : to_) + plan_.receives.offset[k];
}

void RankMemory::gather(Range range) {
    if (range.begin >= range.end) return;
    const View<const std::int64_t> items =
        View<const std::int64_t>(items_.send_items).subspan(as_size(range.begin), as_size(range.end - range.begin));
    gather_items(send_, items, items_.item_bytes, send_staging_.get() + range.begin * items_.item_bytes);
}

void RankMemory::scatter(Range range) {
    if (range.begin >= range.end) return;
    const View<const std::int64_t> items =
        View<const std::int64_t>(items_.receive_items).subspan(as_size(range.begin), as_size(range.end - range.begin));
    const std::byte* from = receive_staging_.get() + range.begin * items_.item_bytes;
    if (items_.add)
        add_items(from, items, items_.item_bytes, items_.type, receive_);
    else
        scatter_items(from, items, items_.item_bytes, receive_);
}

void RankMemory::begin() {
    std::fill(landed_.begin(), landed_.end(), std::uint8_t{0});
    next_landing_ = 0;
    scattered_ = 0;
    if (staged() && at_once_) gather({0, static_cast<std::int64_t>(items_.send_items.size())});
    const RankOwnCopies& own = plan_.own;
    for (std::size_t c = 0; c < own.bytes.size(); ++c) {
        if (!own_gathers_.empty()) gather(own_gathers_[c]);
        // an empty buffer may be nowhere
        if (own.bytes[c] != 0) std::memcpy(to_ + own.target[c], from_ + own.source[c], as_size(own.bytes[c]));
        if (!landings_.empty()) land(plan_.receives.size() + c);
    }
}

void RankMemory::before_sends(std::size_t begin, std::size_t end) {
    if (!packs_.empty()) {
        for (std::int64_t c = plan_.packs.offsets[begin]; c < plan_.packs.offsets[end]; ++c)
            std::memcpy(packs_[c].to, packs_[c].from, packs_[c].bytes);
    } else if (!gathers_.empty()) {
        for (std::size_t k = begin; k < end; ++k) gather(gathers_[k]);
    }
}

void RankMemory::after_receive(std::size_t k) {
    if (!unpacks_.empty()) {
        for (std::int64_t c = plan_.unpacks.offsets[k]; c < plan_.unpacks.offsets[k + 1]; ++c)
            std::memcpy(unpacks_[c].to, unpacks_[c].from, unpacks_[c].bytes);
    } else if (!landings_.empty()) {
        land(k);
    }
}

// An item is scattered with the range that it ends in.
void RankMemory::land(std::size_t k) {
    const std::int64_t each = items_.item_bytes;
    if (!in_order_) return scatter({landings_[k].begin / each, landings_[k].end / each});
    for (landed_[place_[k]] = 1; next_landing_ < landings_.size() && landed_[next_landing_] != 0; ++next_landing_) {
        const Landing& landing = landings_[next_landing_];
        const Range range{std::max(scattered_, landing.begin / each), landing.end / each};
        scatter(range);
        scattered_ = std::max(scattered_, range.end);
    }
}

void RankMemory::finish() {
    if (staged() && at_once_) scatter({0, static_cast<std::int64_t>(items_.receive_items.size())});
}

void RankMemory::abandon() {
    static std::mutex guard;
    static auto* const kept = new Array<std::unique_ptr<std::byte[]>>;  // as long as the program, as MPI may use it
    const std::scoped_lock lock(guard);
    for (auto* area : {&work_, &send_staging_, &receive_staging_}) kept->push_back(std::move(*area));
}

}  // namespace conset
