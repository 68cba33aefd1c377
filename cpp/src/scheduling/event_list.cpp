#include "conset/scheduling/event_list.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "conset/random.hpp"
#include "conset/scheduling/precedence.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double kShare = 0.05;  // of the factors drawn anew in a restart

class EventList {
public:
    EventList(const TimeLines& lines, View<const double> duration)
        : lines_(lines),
          duration_(duration),
          factor_(lines.size(), 1.0),
          best_factor_(factor_),
          priority_(lines.size(), 0.0),
          held_(static_cast<std::size_t>(lines.count()), 0),
          unfinished_(held_.size(), 0.0),
          waiting_(held_.size()),
          now_{Array<double>(lines.size(), 0.0), Array<double>(lines.size(), 0.0)} {}

    // New factors for transfers begin ... end - 1: for each with the chance `share`, else those of the best run so far.
    void draw_factors(std::int64_t begin, std::int64_t end, double noise, double share, Random& random) {
        for (std::int64_t k = begin; k < end; ++k)
            factor_[k] = random.uniform() < share ? 1 + noise * random.uniform() : best_factor_[k];
    }
    void keep_factors(std::int64_t begin, std::int64_t end) {
        std::copy(factor_.begin() + begin, factor_.begin() + end, best_factor_.begin() + begin);
    }

    // What the busiest line of transfers begin ... end - 1 works, per transfer it may hold: no timetable is shorter.
    double least(std::int64_t begin, std::int64_t end) {
        double most = 0;
        for (std::int64_t k = begin; k < end; ++k) {
            most = std::max(most, duration_[k]);
            for (const std::int32_t line : lines_.of(k)) unfinished_[line] += duration_[k];
        }
        for (std::int64_t k = begin; k < end; ++k) {
            for (const std::int32_t line : lines_.of(k)) {
                most = std::max(most, unfinished_[line] / lines_.room(line));
                unfinished_[line] = 0;
            }
        }
        return most;
    }

    // Times transfers begin ... end - 1; the latest end, or infinity where it was to stop half way; throws Interrupted
    // instead where there is no schedule yet.
    double run(std::int64_t begin, std::int64_t end, Precedence& precedence, bool have_schedule) {
        for (std::int64_t k = begin; k < end; ++k)
            for (const std::int32_t line : lines_.of(k)) unfinished_[line] += duration_[k] / lines_.room(line);
        candidates_.clear();
        for (std::int64_t k = begin; k < end; ++k)
            if (precedence.ready(k)) candidates_.push_back(static_cast<std::int32_t>(k));
        double time = 0;
        start_candidates(time);
        while (!events_.empty()) {
            time = events_.top().first;
            candidates_.clear();
            while (!events_.empty() && events_.top().first == time) {
                const std::int32_t k = events_.top().second;
                events_.pop();
                finish(k);
                precedence.release(k, [&](std::int32_t successor, bool ready) {
                    if (ready) candidates_.push_back(successor);
                });
            }
            if (poll_.count(candidates_.size(), have_schedule)) return std::numeric_limits<double>::infinity();
            start_candidates(time);
        }
        for (std::int64_t k = begin; k < end; ++k)  // what rounding left
            for (const std::int32_t line : lines_.of(k)) unfinished_[line] = 0;
        return time;
    }

    const Timetable& now() const { return now_; }

private:
    using Event = std::pair<double, std::int32_t>;

    // Candidates that find a full line go on waiting there; of the others the most urgent start, as long as there is
    // room.
    void start_candidates(double time) {
        std::erase_if(candidates_, [&](std::int32_t k) { return waits(k); });
        for (const std::int32_t k : candidates_) {
            double most = duration_[k];
            for (const std::int32_t line : lines_.of(k)) most = std::max(most, unfinished_[line]);
            priority_[k] = most * factor_[k];
        }
        std::sort(candidates_.begin(), candidates_.end(), [&](std::int32_t a, std::int32_t b) {
            if (priority_[a] != priority_[b]) return priority_[a] > priority_[b];
            return duration_[a] != duration_[b] ? duration_[a] > duration_[b] : a < b;
        });
        for (const std::int32_t k : candidates_)
            if (!waits(k)) start(k, time);
    }

    // Lets transfer k wait at a line that is full, if there is one.
    bool waits(std::int32_t k) {
        for (const std::int32_t line : lines_.of(k)) {
            if (held_[line] < lines_.room(line)) continue;
            waiting_[line].push_back(k);
            return true;
        }
        return false;
    }

    void start(std::int32_t k, double time) {
        for (const std::int32_t line : lines_.of(k)) ++held_[line];
        now_.start[k] = time;
        now_.end[k] = time + duration_[k];
        events_.emplace(now_.end[k], k);
    }

    void finish(std::int32_t k) {
        for (const std::int32_t line : lines_.of(k)) {
            --held_[line];
            unfinished_[line] -= duration_[k] / lines_.room(line);
            candidates_.insert(candidates_.end(), waiting_[line].begin(), waiting_[line].end());
            waiting_[line].clear();
        }
    }

    StopPoll poll_;
    const TimeLines& lines_;
    View<const double> duration_;
    Array<double> factor_, best_factor_, priority_;
    Array<std::int32_t> held_;
    Array<double> unfinished_;
    Array<Array<std::int32_t>> waiting_;
    Array<std::int32_t> candidates_;
    std::priority_queue<Event, Array<Event>, std::greater<>> events_;
    Timetable now_;
};

// The units of a line by when each is free; room 1, the usual case, is one number.
class Units {
public:
    explicit Units(const TimeLines& lines) : offsets_(static_cast<std::size_t>(lines.count()) + 1, 0) {
        for (std::int32_t line = 0; line < lines.count(); ++line)
            offsets_[line + 1] = offsets_[line] + lines.room(line);
        free_.assign(static_cast<std::size_t>(offsets_.back()), 0.0);
    }
    void clear() { std::fill(free_.begin(), free_.end(), 0.0); }
    double& first(std::int32_t line) {
        return *std::min_element(free_.begin() + offsets_[line], free_.begin() + offsets_[line + 1]);
    }

private:
    Array<std::int64_t> offsets_;
    Array<double> free_;
};

}  // namespace

Timetable time_event_list(const TimeLines& lines, View<const std::int64_t> phase_offsets, View<const double> duration,
                          View<const std::int32_t> first, View<const std::int32_t> second, std::int32_t restarts,
                          double noise, std::uint64_t seed) {
    constexpr double rounding = 1 + 1e-12;
    EventList list(lines, duration);
    Random random(seed);
    const std::size_t phases = phase_offsets.size() - 1;
    Array<double> best(phases, std::numeric_limits<double>::infinity()), least(phases);
    for (std::size_t p = 0; p < phases; ++p) least[p] = rounding * list.least(phase_offsets[p], phase_offsets[p + 1]);
    const Precedence order(lines.size(), first, second);
    Timetable result{Array<double>(lines.size(), 0.0), Array<double>(lines.size(), 0.0)};
    for (std::int32_t run = 0; run <= restarts; ++run) {
        if (run > 0 && should_stop(true)) break;
        Precedence precedence = order;
        bool open = false;
        for (std::size_t p = 0; p < phases; ++p) {
            const std::int64_t begin = phase_offsets[p], end = phase_offsets[p + 1];
            if (best[p] <= least[p]) continue;
            if (run > 0) list.draw_factors(begin, end, noise, kShare, random);
            const double length = list.run(begin, end, precedence, run > 0);
            if (length == std::numeric_limits<double>::infinity()) return result;
            if (length <= best[p]) list.keep_factors(begin, end);
            if (length < best[p]) {
                best[p] = length;
                std::copy(list.now().start.begin() + begin, list.now().start.begin() + end,
                          result.start.begin() + begin);
                std::copy(list.now().end.begin() + begin, list.now().end.begin() + end, result.end.begin() + begin);
            }
            open = open || best[p] > least[p];
        }
        if (!open) break;
    }
    return result;
}

Timetable time_in_order(const TimeLines& lines, View<const std::int32_t> order, View<const std::int64_t> batch_offsets,
                        View<const double> duration, View<const std::int32_t> first, View<const std::int32_t> second) {
    Units units(lines);
    Precedence precedence(lines.size(), first, second);
    Timetable table{Array<double>(lines.size(), 0.0), Array<double>(lines.size(), 0.0)};
    Array<double> earliest(first.empty() ? 0 : lines.size(), 0.0);
    for (std::size_t b = 0; b + 1 < batch_offsets.size(); ++b) {
        units.clear();
        std::fill(earliest.begin(), earliest.end(), 0.0);
        for (std::int64_t at = batch_offsets[b]; at < batch_offsets[b + 1]; ++at) {
            const std::int32_t k = order[at];
            double start = earliest.empty() ? 0.0 : earliest[k];
            for (const std::int32_t line : lines.of(k)) start = std::max(start, units.first(line));
            const double end = start + duration[k];
            for (const std::int32_t line : lines.of(k)) units.first(line) = end;
            precedence.release(
                k, [&](std::int32_t successor, bool) { earliest[successor] = std::max(earliest[successor], end); });
            table.start[k] = start;
            table.end[k] = end;
        }
    }
    return table;
}

}  // namespace conset
