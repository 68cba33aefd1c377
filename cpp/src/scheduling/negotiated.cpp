#include "conset/scheduling/negotiated.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "conset/rows.hpp"
#include "conset/scheduling/negotiated_paths.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr std::size_t kLanes = 8;  // slots priced together
constexpr float kClosed = 1e30F;   // a place nothing pays for
constexpr std::int32_t kNowhere = -1;
constexpr std::size_t kTouch = 64;  // work of reaching a row, in prices read from it
// A try is hopeless when after so many sweeps the excess is above half the items, and above a number that small
// assignments may yet lose by wandering.
constexpr std::int64_t kPatience = 10, kHopeless = 500;
// Over fixed routes it is hopeless when the least excess so far, if not small, is above a share of the items: a
// fiftieth after a tenth of the sweeps and at least 100, and less the longer it lasts. Of 71 tries that came to 0 none
// had more than 0.55 of that, of 24 that did not 18 had more.
constexpr std::int64_t kLate = 100, kSmallExcess = 8, kShareOfItems = 500;

}  // namespace

Negotiation::Negotiation(const NegotiatedItems& items, std::int32_t slots, const SlotLimits& limits,
                         const Pressure& pressure, std::uint64_t seed, std::int32_t planes)
    : items_(items),
      slots_(slots),
      planes_(planes),
      pressure_(pressure),
      random_(seed),
      slot_(items.items(), kNowhere),
      queued_(items.items(), false),
      order_price_(static_cast<std::size_t>(slots) + kLanes, kClosed),
      force_(pressure.start) {
    if (items.free_) {
        row_step_ = 1;
        slot_step_ = static_cast<std::size_t>(items.rows());
        search_ = std::make_unique<PathSearch>(items, slots);
        taken_.resize(items.items());
        path_.resize(items.items());
    } else {
        keep_rows_that_can_fill(limits);
        row_step_ = (static_cast<std::size_t>(slots) + kLanes - 1) / kLanes * kLanes;
        slot_step_ = 1;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < items.items(); ++i) {
            taken_alternative_.push_back(items.first(i));
            most = std::max(most, items.first(i + 1) - items.first(i));
        }
        total_.resize(row_step_ * static_cast<std::size_t>(most));
    }
    open_cells(limits);
    edge_price_.assign(items.edge_first_.size(), first_weight());
    todo_.resize(items.items());
    std::iota(todo_.begin(), todo_.end(), 0);
    random_.shuffle(std::span(todo_));
    std::stable_sort(todo_.begin(), todo_.end(), [&](std::int32_t a, std::int32_t b) {
        if (!items.chain_before_.empty() && items.chain_before_[a] != items.chain_before_[b])
            return items.chain_before_[a] < items.chain_before_[b];
        return items.hops_[a] > items.hops_[b];
    });
}

Negotiation::~Negotiation() = default;
Negotiation::Negotiation(Negotiation&&) noexcept = default;

// On fixed routes prices count in steps of history: sums are whole numbers, which floats hold exactly.
float Negotiation::first_weight() const {
    return items_.free_ || pressure_.history <= 0 ? 1 : static_cast<float>(1 / pressure_.history);
}

float Negotiation::step() const {
    return items_.free_ || pressure_.history <= 0 ? static_cast<float>(pressure_.history) : 1;
}

// Fixed routes: numbers rows anew, without those that have room for all that ever ask.
void Negotiation::keep_rows_that_can_fill(const SlotLimits& limits) {
    const Array<std::int64_t> load = items_.loads();
    Array<std::int32_t> number(load.size(), -1);
    for (std::int32_t row = 0; row < items_.rows(); ++row) {
        if (load[row] == 0) continue;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::int32_t q = 0; q < slots_; ++q)
            least = std::min(least, items_.capacity(row, limits, static_cast<std::size_t>(q)));
        if (load[row] <= least) continue;
        number[row] = static_cast<std::int32_t>(old_row_.size());
        old_row_.push_back(row);
    }
    offsets_.push_back(0);
    Array<std::int32_t> user;  // the item of each entry
    for (std::size_t i = 0; i < items_.items(); ++i) {
        for (std::int64_t a = items_.first(i); a < items_.first(i + 1); ++a) {
            for (std::int64_t k = items_.offsets_[a]; k < items_.offsets_[a + 1]; ++k) {
                if (number[items_.row_[k]] < 0) continue;
                row_.push_back(number[items_.row_[k]]);
                user.push_back(static_cast<std::int32_t>(i));
            }
            offsets_.push_back(static_cast<std::int64_t>(row_.size()));
        }
    }
    users_.resize(row_.size());
    users_offsets_ = fill_rows<std::int64_t>(
        old_row_.size(), row_.size(), [&](std::size_t k) { return row_[k]; },
        [&](std::int64_t at, std::size_t k) { users_[at] = user[k]; });
    row_seen_.assign(old_row_.size(), -1);
}

void Negotiation::open_cells(const SlotLimits& limits) {
    const bool free = items_.free_;
    const std::int32_t rows = free ? items_.rows() : static_cast<std::int32_t>(old_row_.size());
    const std::size_t cells =
        free ? slot_step_ * static_cast<std::size_t>(slots_) : row_step_ * static_cast<std::size_t>(rows);
    ledger_ = std::make_unique<Ledger>(cells, free ? 1.0F : 0.0F);
    limited_ = {!limits.send.empty(), !limits.receive.empty(), !limits.channels.empty(), !limits.link.empty()};
    for (std::int32_t q = 0; q < slots_; ++q) {
        for (std::int32_t row = 0; row < rows; ++row) {
            const std::int32_t old = free ? row : old_row_[row];
            Ledger::Cell& at = ledger_->cell(cell(row, q));
            at.room = static_cast<std::int32_t>(items_.capacity(old, limits, static_cast<std::size_t>(q)));
            at.weight = first_weight();
            // A node costs 1 on a route, ports and links nothing until they were overused.
            at.discount = free && (old < 2 * items_.nodes_ || old >= 3 * items_.nodes_) ? 1 : 0;
        }
    }
    price_all();
}

void Negotiation::price_all() {
    ledger_->price_all(static_cast<float>(force_));
    if (items_.free_) return;
    for (std::size_t row = 0; row < old_row_.size(); ++row)
        for (std::size_t q = static_cast<std::size_t>(slots_); q < row_step_; ++q)
            ledger_->close(row * row_step_ + q, kClosed);
}

View<const std::int32_t> Negotiation::rows_of(std::size_t item) const {
    if (items_.free_) return taken_[item];
    return rows_of_alternative(taken_alternative_[item]);
}

std::int64_t Negotiation::run(std::int64_t sweeps, std::int64_t work) {
    const auto items = static_cast<std::int64_t>(slot_.size());
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    while (true) {
        if (!sweep(work)) return std::max<std::int64_t>(1, excess());
        const std::int64_t left = excess();
        least = std::min(least, left);
        if (left == 0 || sweeps_ >= sweeps || stop_asked()) return left;
        if (sweeps_ >= kPatience && left > std::max(kHopeless, items / 2)) return left;
        const bool late = !items_.free_ && sweeps_ >= std::max(kLate, sweeps / 10) && least > kSmallExcess;
        if (late && least * kShareOfItems * sweeps_ > items * sweeps) return left;
        remember();
    }
}

// Places all items, later those in trouble; false where it was cut short.
bool Negotiation::sweep(std::int64_t work) {
    const bool first = sweeps_++ == 0;
    if (!first) collect();
    for (const std::int32_t item : todo_) {
        queued_[item] = false;
        if (!first && !troubled(as_size(item))) continue;
        if (work_ >= work || stop_asked()) return false;
        replace(as_size(item));
    }
    return true;
}

std::int64_t Negotiation::excess() const {
    std::int64_t sum = ledger_->excess();
    for (std::size_t k = 0; k < edge_price_.size(); ++k) sum += broken(k) ? 1 : 0;
    return sum;
}

bool Negotiation::broken(std::size_t edge) const {
    const std::int32_t first = slot_[items_.edge_first_[edge]], second = slot_[items_.edge_second_[edge]];
    return first != kNowhere && second != kNowhere && second < first + items_.apart_;
}

void Negotiation::remember() {
    ledger_->remember(step());
    for (std::size_t k = 0; k < edge_price_.size(); ++k)
        if (broken(k)) edge_price_[k] += step();
    const double before = force_;
    force_ = std::min(force_ * pressure_.growth, pressure_.most);
    if (force_ != before) price_all();
}

bool Negotiation::troubled(std::size_t item) const {
    const std::int32_t slot = slot_[item];
    for (const std::int32_t row : rows_of(item))
        if (ledger_->overused(cell(row, slot))) return true;
    if (edge_price_.empty()) return false;
    for (std::int64_t at = items_.order_offsets_[item]; at < items_.order_offsets_[item + 1]; ++at)
        if (broken(static_cast<std::size_t>(items_.order_edge_[at] / 2))) return true;
    return false;
}

// All items that stand on an overused cell or break the order, in random sequence.
void Negotiation::collect() {
    todo_.clear();
    const auto queue = [&](std::int32_t item) {
        if (queued_[item]) return;
        queued_[item] = true;
        todo_.push_back(item);
    };
    if (items_.free_) {
        slot_troubled_.assign(static_cast<std::size_t>(slots_), false);
        for (const std::uint32_t at : ledger_->over()) slot_troubled_[at / slot_step_] = true;
        for (std::size_t i = 0; i < slot_.size(); ++i)
            if (slot_troubled_[slot_[i]] && troubled(i)) queue(static_cast<std::int32_t>(i));
    } else {
        for (const std::uint32_t at : ledger_->over()) {
            const std::size_t row = at / row_step_;
            if (row_seen_[row] == sweeps_) continue;
            row_seen_[row] = sweeps_;
            for (std::int64_t k = users_offsets_[row]; k < users_offsets_[row + 1]; ++k)
                if (ledger_->overused(row * row_step_ + static_cast<std::size_t>(slot_[users_[k]]))) queue(users_[k]);
        }
    }
    for (std::size_t k = 0; k < edge_price_.size(); ++k) {
        if (!broken(k)) continue;
        queue(items_.edge_first_[k]);
        queue(items_.edge_second_[k]);
    }
    random_.shuffle(std::span(todo_));
}

void Negotiation::replace(std::size_t item) {
    if (slot_[item] != kNowhere)
        for (const std::int32_t row : rows_of(item))
            each_cell(row, slot_[item], [&](std::size_t at) { ledger_->give_back(at); });
    const float* order = order_prices(item);
    if (!items_.free_) {
        take_cheapest_slot(item, order);
    } else if (items_.leaves(item)) {
        const std::int64_t before = search_->steps();
        slot_[item] = search_->find(item, *ledger_, order, random_, path_[item]);
        work_ += search_->steps() - before;
        note_rows(item);
    } else {
        slot_[item] = order == nullptr ? 0 : static_cast<std::int32_t>(std::min_element(order, order + slots_) - order);
    }
    for (const std::int32_t row : rows_of(item))
        each_cell(row, slot_[item], [&](std::size_t at) { ledger_->take(at); });
}

// What of a path is limited.
void Negotiation::note_rows(std::size_t item) {
    const std::int32_t nodes = items_.nodes_;
    Array<std::int32_t>& rows = taken_[item];
    rows.clear();
    if (limited_[0]) rows.push_back(items_.source_[item]);
    if (limited_[1]) rows.push_back(nodes + items_.target_[item]);
    if (limited_[2]) rows.push_back(2 * nodes + items_.source_[item]);
    for (const std::int32_t at : path_[item]) {
        if (limited_[2]) rows.push_back(2 * nodes + items_.out_target_[at]);
        if (limited_[3]) rows.push_back(3 * nodes + items_.out_.link[at]);
    }
}

// Prices of an item's slots by its place in the order, null where nothing waits for it nor it for anything.
const float* Negotiation::order_prices(std::size_t item) {
    if (edge_price_.empty()) return nullptr;
    const std::int64_t begin = items_.order_offsets_[item], end = items_.order_offsets_[item + 1];
    if (begin == end) return nullptr;
    const std::int32_t apart = items_.apart_;
    for (std::int32_t q = 0; q < slots_; ++q) {
        const bool open = q >= apart * items_.chain_before_[item] && q < slots_ - apart * items_.chain_after_[item];
        order_price_[q] = open ? 0 : kClosed;
    }
    for (std::int64_t at = begin; at < end; ++at) {
        const std::int32_t other = slot_[items_.order_item_[at]], edge = items_.order_edge_[at];
        if (other == kNowhere) continue;
        const bool earlier = edge % 2 != 0;  // the other one comes first
        for (std::int32_t q = earlier ? 0 : other + 1 - apart; q < (earlier ? other + apart : slots_); ++q)
            order_price_[q] += edge_price_[edge / 2];
    }
    return order_price_.data();
}

// The cheapest slot of an item on a fixed route, over all its alternatives; ties at random.
void Negotiation::take_cheapest_slot(std::size_t item, const float* order) {
    const std::int64_t first = items_.first(item), count = items_.first(item + 1) - first;
    float lowest = std::numeric_limits<float>::max();
    for (std::int64_t k = 0; k < count; ++k)
        lowest =
            std::min(lowest, add_prices(first + k, order, total_.data() + static_cast<std::size_t>(k) * row_step_));
    const auto place = static_cast<std::int64_t>(random_.below(count * slots_));
    std::int64_t k = place / slots_;
    auto slot = static_cast<std::int32_t>(place % slots_);
    while (total_[static_cast<std::size_t>(k) * row_step_ + as_size(slot)] != lowest) {
        if (++slot < slots_) continue;
        slot = 0;
        k = k + 1 == count ? 0 : k + 1;
    }
    taken_alternative_[item] = first + k;
    slot_[item] = slot;
}

// What an alternative would cost in every slot, nothing pays for those it may not take; the least of it.
float Negotiation::add_prices(std::int64_t alternative, const float* order, float* total) {
    const View<const std::int32_t> rows = rows_of_alternative(alternative);
    const float* prices = ledger_->prices();
    std::size_t first = 0, end = row_step_;
    if (items_.has_alternatives()) {
        first = static_cast<std::size_t>(items_.first_slot_[alternative]);
        end = static_cast<std::size_t>(items_.end_slot_[alternative]);
    }
    float lowest = std::numeric_limits<float>::max();
    for (std::size_t q = first / kLanes * kLanes; q < end; q += kLanes) {
        float sum[kLanes] = {};
        if (order != nullptr) std::copy_n(order + q, kLanes, sum);
        for (const std::int32_t row : rows) {
            const float* price = prices + static_cast<std::size_t>(row) * row_step_ + q;
            for (std::size_t k = 0; k < kLanes; ++k) sum[k] += price[k];
        }
        for (std::size_t k = 0; k < kLanes; ++k) {
            total[q + k] = sum[k];
            lowest = std::min(lowest, sum[k]);
        }
    }
    if (items_.has_alternatives()) {
        std::fill(total, total + first, kClosed);
        std::fill(total + end, total + row_step_, kClosed);
        lowest = *std::min_element(total + first, total + end);
    }
    work_ += static_cast<std::int64_t>((end - first + kTouch) * (rows.size() + 1));
    return lowest;
}

Array<std::int32_t> Negotiation::slot_of_messages() const {
    Array<std::int32_t> slot(items_.messages(), -1);
    if (!items_.has_alternatives()) {
        for (std::size_t m = 0; m < slot.size(); ++m) slot[m] = std::max(0, slot_[items_.item_[m]]);
        return slot;
    }
    for (std::size_t i = 0; i < slot_.size(); ++i) {
        const std::int64_t a = taken_alternative_[i];
        for (std::int64_t k = items_.message_offsets_[a]; k < items_.message_offsets_[a + 1]; ++k)
            slot[items_.message_[k]] = slot_[i];
    }
    return slot;
}

RoutePaths Negotiation::paths() const {
    RoutePaths paths;
    for (std::size_t m = 0; m < path_.size(); ++m) {
        paths.stop(items_.source_[m], -1);
        for (const std::int32_t at : path_[m]) paths.stop(items_.out_target_[at], items_.out_.link[at]);
        paths.offsets.push_back(static_cast<std::int64_t>(paths.nodes.size()));
    }
    return paths;
}

}  // namespace conset
