#include "conset/runtime/kept_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

constexpr std::int32_t kNew = -1, kNobody = -1, kNoRow = -1;
constexpr double kStretch = 1.25;        // of phases, before all are scheduled anew
constexpr std::size_t kFewestParts = 4;  // so is where more than one in so many messages changes

}  // namespace

std::int32_t KeptSchedule::Partners::at(const Array<std::int32_t>& partners, std::int32_t phase) {
    return as_size(phase) < partners.size() ? partners[phase] : kNobody;
}

// With one send and one receive of a node in a phase: who sends to whom it receives from, or does one of both.
bool KeptSchedule::Partners::fits(std::int32_t source, std::int32_t target, std::int32_t phase) const {
    const std::int32_t back = at(from_[source], phase), forth = at(to_[target], phase);
    return (back == kNobody || back == target) && (forth == kNobody || forth == source);
}

void KeptSchedule::Partners::join(std::int32_t source, std::int32_t target, std::int32_t phase) {
    const auto set = [&](Array<std::int32_t>& partners, std::int32_t partner) {
        if (as_size(phase) >= partners.size()) partners.resize(as_size(phase) + 1, kNobody);
        partners[phase] = partner;
    };
    set(to_[source], target);
    set(from_[target], source);
}

void KeptSchedule::Partners::leave(std::int32_t source, std::int32_t target, std::int32_t phase) {
    to_[source][phase] = from_[target][phase] = kNobody;
}

KeptSchedule::KeptSchedule(MachineData machine, RankMessages messages, const RankSchedule& schedule,
                           ScheduleOptions options)
    : machine_(std::move(machine)),
      messages_(std::move(messages)),
      options_(std::move(options)),
      partners_(machine_.network.nodes()) {
    take_over(schedule);
}

bool KeptSchedule::keepable() const {
    const bool one_each = plain_.limits.send == 1 && plain_.limits.receive == 1;
    return plain_.stages.stages == 0 && (!plain_.limits.exchange || one_each);
}

// Everything that a full schedule decides.
void KeptSchedule::take_over(const RankSchedule& schedule) {
    plain_ = schedule;
    if (plain_.stages.stages > 0) return;
    plain_.phase_offsets.clear();
    plain_.message.clear();
    const std::size_t size = messages_.size();
    phase_.assign(size, 0);
    turn_.assign(size, 0);
    phases_ = static_cast<std::int32_t>(schedule.phase_offsets.size()) - 1;
    turns_ = static_cast<std::int32_t>(size);
    for (std::int32_t p = 0; p < phases_; ++p) {
        for (std::int64_t k = schedule.phase_offsets[p]; k < schedule.phase_offsets[p + 1]; ++k) {
            phase_[schedule.message[k]] = p;
            turn_[schedule.message[k]] = static_cast<std::int32_t>(k);
        }
    }
    occupancy_ = {};
    partners_ = Partners(machine_.network.nodes());
    const PlacedResources all = resources(messages_);
    row_of_.assign(as_size(all.count()), kNoRow);
    load_.assign(as_size(all.count()), 0);
    if (keepable())
        for (std::size_t k = 0; k < size; ++k) join(all, k, phase_[k]);
    const std::int32_t least = bound();
    stretch_ = least > 0 ? std::max(1.0, static_cast<double>(phases_) / least) : 1.0;
}

// The rows of transfer k; a resource has one from its first transfer on.
void KeptSchedule::collect(const Resources& resources, std::size_t k) {
    rows_.clear();
    resources.each(k, [&](std::int32_t resource) {
        if (row_of_[resource] == kNoRow) row_of_[resource] = occupancy_.add_row(resources.capacity(resource));
        rows_.push_back(row_of_[resource]);
    });
}

void KeptSchedule::join(const Resources& resources, std::size_t k, std::int32_t phase) {
    collect(resources, k);
    for (const std::int32_t row : rows_) occupancy_.take(row, phase);
    resources.each(k, [&](std::int32_t resource) { ++load_[resource]; });
    if (plain_.limits.exchange && resources.routes().leaves(k))
        partners_.join(resources.routes().source[k], resources.routes().target[k], phase);
}

void KeptSchedule::leave(const Resources& resources, std::size_t k, std::int32_t phase) {
    resources.each(k, [&](std::int32_t resource) {
        occupancy_.release(row_of_[resource], phase);
        --load_[resource];
    });
    if (plain_.limits.exchange && resources.routes().leaves(k))
        partners_.leave(resources.routes().source[k], resources.routes().target[k], phase);
}

std::int32_t KeptSchedule::place(const Resources& resources, std::size_t k) {
    collect(resources, k);
    const std::int32_t source = resources.routes().source[k], target = resources.routes().target[k];
    std::int32_t phase = occupancy_.find(rows_, 0);
    while (plain_.limits.exchange && source != target && !partners_.fits(source, target, phase))
        phase = occupancy_.find(rows_, phase + 1);
    phase = std::min(phase, phases_);  // new phases begin at the end, without a gap
    phases_ = std::max(phases_, phase + 1);
    join(resources, k, phase);
    return phase;
}

std::int32_t KeptSchedule::bound() const {
    const PlacedResources all = resources(messages_);
    std::int32_t least = messages_.size() > 0 ? 1 : 0;
    for (std::int32_t resource = 0; resource < all.count(); ++resource)
        if (load_[resource] > 0) least = std::max(least, (load_[resource] - 1) / all.capacity(resource) + 1);
    return least;
}

bool KeptSchedule::grown_too_far() const {
    return static_cast<double>(phases_) > kStretch * stretch_ * std::max(1, bound());
}

// False where the method does not apply any more.
bool KeptSchedule::schedule_anew(RankMessages& now) {
    RankSchedule schedule;
    try {
        schedule = schedule_messages(machine_, now, options_);
    } catch (const Failure& failure) {
        if (failure.code != Code::schedule) throw;
        return false;
    }
    if (&now != &messages_) messages_ = std::move(now);
    take_over(schedule);
    return true;
}

// `before[m]` is the index before of message m of `now`, or kNew.
KeptUpdate KeptSchedule::apply(RankMessages now, const Array<std::int32_t>& before,
                               const Array<std::int32_t>& removed) {
    const auto added = static_cast<std::size_t>(std::count(before.begin(), before.end(), kNew));
    const bool many = (added + removed.size()) * kFewestParts > std::max(messages_.size(), now.size());
    if ((many || !keepable()) && schedule_anew(now)) return {true, removed.size(), added};
    if (!keepable()) throw Failure(Code::schedule, "method " + options_.method + " does not apply to what has changed");
    const PlacedResources old = resources(messages_);
    for (const std::int32_t m : removed) leave(old, as_size(m), phase_[m]);
    Array<std::int32_t> phase(now.size()), turn(now.size());
    for (std::size_t m = 0; m < now.size(); ++m) {
        if (before[m] == kNew) continue;
        phase[m] = phase_[before[m]];
        turn[m] = turn_[before[m]];
    }
    messages_ = std::move(now);
    const PlacedResources all = resources(messages_);
    for (std::size_t m = 0; m < messages_.size(); ++m) {
        if (before[m] != kNew) continue;
        phase[m] = place(all, m);
        turn[m] = turns_++;
    }
    phase_ = std::move(phase);
    turn_ = std::move(turn);
    return {grown_too_far() && schedule_anew(messages_), removed.size(), added};
}

KeptUpdate KeptSchedule::update(const MessageChanges& changes) {
    Array<std::uint8_t> gone(messages_.size(), 0);
    const auto known = [&](std::int32_t m) { return m >= 0 && as_size(m) < gone.size() && gone[m] == 0; };
    for (const std::int32_t m : changes.removed) {
        if (!known(m)) throw Failure(Code::argument, "removed message " + std::to_string(m) + " is not there");
        gone[m] = 1;
    }
    const RankMessages& added = changes.added;
    if (!std::is_sorted(added.source.begin(), added.source.end()))
        throw Failure(Code::argument, "added messages must be sorted by source");
    if (changes.bytes.size() != changes.resized.size())
        throw Failure(Code::argument, "resized messages: one size each is required");
    for (std::size_t k = 0; k < changes.resized.size(); ++k)
        if (!known(changes.resized[k]) || changes.bytes[k] < 0)
            throw Failure(Code::argument, "resized message " + std::to_string(changes.resized[k]) +
                                              " is not there, or its size is below 0");
    check_messages(machine_, {messages_.ranks, added.source, added.target, added.bytes});
    const std::size_t size = messages_.size() - changes.removed.size() + added.size();
    RankMessages now{messages_.ranks, Array<std::int32_t>(size), Array<std::int32_t>(size), Array<std::int64_t>(size)};
    Array<std::int32_t> before(size, kNew);
    std::size_t at = 0, next = 0;
    const auto append_added = [&](std::int64_t below) {
        for (; next < added.size() && added.source[next] < below; ++next, ++at) {
            now.source[at] = added.source[next];
            now.target[at] = added.target[next];
            now.bytes[at] = added.bytes[next];
        }
    };
    // all is checked: sizes may change where they are
    for (std::size_t k = 0; k < changes.resized.size(); ++k) messages_.bytes[changes.resized[k]] = changes.bytes[k];
    for (std::size_t m = 0; m < messages_.size(); ++m) {
        append_added(messages_.source[m]);
        if (gone[m] != 0) continue;
        now.source[at] = messages_.source[m];
        now.target[at] = messages_.target[m];
        now.bytes[at] = messages_.bytes[m];
        before[at++] = static_cast<std::int32_t>(m);
    }
    append_added(std::numeric_limits<std::int64_t>::max());
    return apply(std::move(now), before, {changes.removed.begin(), changes.removed.end()});
}

KeptUpdate KeptSchedule::update(RankMessages now) {
    check_messages(machine_, now);
    // of one source at a time: the messages before to each target, as lists in their order
    Array<std::int32_t> first(as_size(std::max(now.ranks, messages_.ranks)), kNobody), next(messages_.size(), kNobody);
    Array<std::int32_t> before(now.size(), kNew), removed;
    std::size_t end = 0, m = 0;
    for (std::int32_t source = 0; source < static_cast<std::int32_t>(first.size()); ++source) {
        const std::size_t begin = end;
        while (end < messages_.size() && messages_.source[end] == source) ++end;
        for (std::size_t k = end; k-- > begin;)
            next[k] = std::exchange(first[messages_.target[k]], static_cast<std::int32_t>(k));
        for (; m < now.size() && now.source[m] == source; ++m) {
            std::int32_t& head = first[now.target[m]];
            if (head == kNobody) continue;
            before[m] = head;
            head = next[head];
        }
        for (std::size_t k = begin; k < end; ++k) {
            std::int32_t& head = first[messages_.target[k]];
            for (; head != kNobody; head = next[head]) removed.push_back(head);
        }
    }
    return apply(std::move(now), before, removed);
}

RankSchedule KeptSchedule::schedule() const {
    RankSchedule schedule = plain_;
    if (plain_.stages.stages > 0) return schedule;
    Array<std::int64_t> offsets(as_size(phases_) + 1, 0);
    for (const std::int32_t p : phase_) ++offsets[p + 1];
    schedule.phase_offsets.assign(1, 0);
    for (std::int32_t p = 0; p < phases_; ++p) {
        offsets[p + 1] += offsets[p];
        if (offsets[p + 1] > offsets[p]) schedule.phase_offsets.push_back(offsets[p + 1]);
    }
    schedule.message.resize(messages_.size());
    for (std::size_t m = 0; m < messages_.size(); ++m)
        schedule.message[offsets[phase_[m]]++] = static_cast<std::int32_t>(m);
    if (schedule.method == "event-list")  // whose order of posting is what it found
        std::sort(schedule.message.begin(), schedule.message.end(),
                  [&](std::int32_t one, std::int32_t other) { return turn_[one] < turn_[other]; });
    schedule.predicted_s = 0;
    return schedule;
}

}  // namespace conset
