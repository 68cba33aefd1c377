#include "conset/scheduling/random_schedule.hpp"

#include <algorithm>

#include "conset/random.hpp"
#include "conset/rows.hpp"
#include "conset/scheduling/precedence.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr std::int32_t kNobody = -1;

class RandomSchedule {
public:
    RandomSchedule(const Resources& resources, bool exchanges, Precedence precedence, std::uint64_t seed)
        : resources_(resources),
          routes_(resources.routes()),
          nodes_(routes_.network.nodes()),
          exchanges_(exchanges),
          precedence_(std::move(precedence)),
          random_(seed),
          phase_(routes_.size(), 0),
          begin_(row_offsets<std::int64_t>(as_size(nodes_), routes_.size(),
                                           [&](std::size_t k) { return routes_.source[k]; })),
          length_(static_cast<std::size_t>(nodes_), 0),
          row_(routes_.size()),
          sender_to_(static_cast<std::size_t>(nodes_), kNobody),
          used_(resources.limits().link > 0 ? static_cast<std::size_t>(resources.count()) : 0, 0) {
        list_eligible();
    }

    Array<std::int32_t> run() {
        std::size_t left = routes_.size();
        for (std::int32_t phase = 0; left > 0; ++phase) {
            fill_permutation();
            for (const std::int32_t k : placed_) phase_[k] = phase;
            poll_.count(placed_.size());
            left -= placed_.size();
            // Those that waited become eligible only now: a predecessor ends in an earlier permutation.
            for (const std::int32_t k : placed_)
                precedence_.release(k, [&](std::int32_t successor, bool now) {
                    if (now) append(successor);
                });
            reset();
        }
        return std::move(phase_);
    }

private:
    // The compressed rows: eligible transfers of node v stand at begin_[v] ... begin_[v] + length_[v] - 1, shuffled.
    void list_eligible() {
        for (std::size_t k = 0; k < routes_.size(); ++k)
            if (precedence_.ready(k))
                row_[begin_[routes_.source[k]] + length_[routes_.source[k]]++] = static_cast<std::int32_t>(k);
        for (std::int32_t v = 0; v < nodes_; ++v)
            random_.shuffle(std::span(row_).subspan(as_size(begin_[v]), as_size(length_[v])));
    }

    void append(std::int32_t k) {
        const std::int32_t v = routes_.source[k];
        row_[begin_[v] + length_[v]++] = k;
        std::swap(row_[begin_[v] + length_[v] - 1], row_[begin_[v] + random_.below(length_[v])]);
    }

    void fill_permutation() {
        auto x = static_cast<std::int32_t>(random_.below(nodes_));
        for (std::int32_t k = 0; k < nodes_; ++k, x = x + 1 == nodes_ ? 0 : x + 1) {
            take_inside(x);
            if (exchanges_ && sender_to_[x] != kNobody && take_first(x, sender_to_[x])) continue;
            take_first(x, kNobody);
        }
    }

    // Transfers inside a node use nothing and need not wait.
    void take_inside(std::int32_t x) {
        for (std::int32_t z = 0; z < length_[x];) {
            if (routes_.leaves(row_[begin_[x] + z]))
                ++z;
            else
                remove(x, z);
        }
    }

    // Takes the first transfer of row x that fits, or the first to `partner`.
    bool take_first(std::int32_t x, std::int32_t partner) {
        for (std::int32_t z = 0; z < length_[x]; ++z) {
            const std::int32_t k = row_[begin_[x] + z], y = routes_.target[k];
            if (sender_to_[y] != kNobody || (partner != kNobody && y != partner) || !path_free(k)) continue;
            sender_to_[y] = x;
            mark_path(k);
            remove(x, z);
            return true;
        }
        return false;
    }

    void remove(std::int32_t x, std::int32_t z) {
        placed_.push_back(row_[begin_[x] + z]);
        row_[begin_[x] + z] = row_[begin_[x] + --length_[x]];
    }

    bool path_free(std::int32_t k) const {
        if (used_.empty()) return true;
        bool free = true;
        resources_.each(k,
                        [&](std::int32_t resource) { free = free && used_[resource] < resources_.capacity(resource); });
        return free;
    }

    void mark_path(std::int32_t k) {
        if (!used_.empty()) resources_.each(k, [&](std::int32_t resource) { ++used_[resource]; });
    }

    // Forgets a permutation by what it touched. The text resets PATHS once only, outside Repeat: links would stay
    // claimed for ever.
    void reset() {
        for (const std::int32_t k : placed_) {
            sender_to_[routes_.target[k]] = kNobody;
            if (!used_.empty()) resources_.each(k, [&](std::int32_t resource) { used_[resource] = 0; });
        }
        placed_.clear();
    }

    StopPoll poll_;
    const Resources& resources_;
    const Routes& routes_;
    std::int32_t nodes_;
    bool exchanges_;
    Precedence precedence_;
    Random random_;
    Array<std::int32_t> phase_;
    Array<std::int64_t> begin_;
    Array<std::int32_t> length_, row_;
    Array<std::int32_t> sender_to_;  // Trecv of the text
    Array<std::int32_t> used_;       // PATHS of the text: transfers on each resource in this permutation
    Array<std::int32_t> placed_;
};

}  // namespace

Array<std::int32_t> schedule_random(const Resources& resources, bool exchanges, View<const std::int32_t> first,
                                    View<const std::int32_t> second, std::uint64_t seed) {
    return RandomSchedule(resources, exchanges, Precedence(resources.routes().size(), first, second), seed).run();
}

}  // namespace conset
