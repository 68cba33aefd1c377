#include "conset/scheduling/timetable_as.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "conset/random.hpp"
#include "conset/scheduling/precedence.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

struct Interval {
    double start, end;
};

// What is taken of one unit of a line, in the order of time.
class Unit {
public:
    // The earliest time from `time` on at which it is free for `length`.
    double find(double time, double length) const {
        auto next =
            std::partition_point(taken_.begin(), taken_.end(), [&](const Interval& i) { return i.end <= time; });
        for (; next != taken_.end() && time + length > next->start; ++next) time = std::max(time, next->end);
        return time;
    }
    void take(double start, double end) {
        const auto at =
            std::partition_point(taken_.begin(), taken_.end(), [&](const Interval& i) { return i.start < start; });
        taken_.insert(at, {start, end});
    }
    void clear() { taken_.clear(); }

private:
    Array<Interval> taken_;
};

class Table {
public:
    explicit Table(const TimeLines& lines) : lines_(lines), units_(static_cast<std::size_t>(lines.count())) {
        for (std::int32_t line = 0; line < lines.count(); ++line) units_[line].resize(as_size(lines.room(line)));
    }

    // The first gap of `length` from `time` on in all lines of transfer k; takes it.
    double place(std::integral auto k, double time, double length) {
        if (length <= 0) return time;
        for (bool moved = true; moved;) {
            moved = false;
            for (const std::int32_t line : lines_.of(k)) {
                const double found = find(line, time, length).first;
                moved = moved || found > time;
                time = found;
            }
        }
        for (const std::int32_t line : lines_.of(k)) find(line, time, length).second->take(time, time + length);
        return time;
    }

    void clear(std::size_t k) {
        for (const std::int32_t line : lines_.of(k))
            for (Unit& unit : units_[line]) unit.clear();
    }

private:
    std::pair<double, Unit*> find(std::int32_t line, double time, double length) {
        std::pair<double, Unit*> best{units_[line][0].find(time, length), units_[line].data()};
        for (Unit& unit : units_[line]) {
            if (best.first <= time) break;
            const double found = unit.find(time, length);
            if (found < best.first) best = {found, &unit};
        }
        return best;
    }

    const TimeLines& lines_;
    Array<Array<Unit>> units_;
};

// One phase: per processor its transfers, longest first; processors by work left.
class Scheduler {
public:
    Scheduler(const TimeLines& lines, View<const std::int32_t> source, View<const std::int32_t> target,
              View<const double> duration, Precedence& precedence, Random& random)
        : source_(source),
          target_(target),
          duration_(duration),
          precedence_(precedence),
          random_(random),
          table_(lines),
          tie_(lines.size()),
          scheduled_(lines.size(), false),
          earliest_(lines.size(), 0.0),
          result_{Array<double>(lines.size(), 0.0), Array<double>(lines.size(), 0.0)} {
        std::iota(tie_.begin(), tie_.end(), 0);
        random_.shuffle(std::span(tie_));
    }

    void run(std::int64_t begin, std::int64_t end) {
        gather(begin, end);
        while (!queue_.empty()) {
            const auto [left, tie, at] = queue_.top();
            queue_.pop();
            if (stale(at, left)) continue;
            const std::int32_t k = longest_ready(at);
            if (k >= 0) {
                schedule(k);
            } else if (open_[at] > 0) {
                idle_.push_back(at);  // all it has waits for transfers of others
            }
        }
        for (std::int64_t k = begin; k < end; ++k) table_.clear(static_cast<std::size_t>(k));
    }

    Timetable give() { return std::move(result_); }

private:
    using Entry = std::tuple<double, std::uint64_t, std::int32_t>;  // work left, a random tie, processor

    void gather(std::int64_t begin, std::int64_t end) {
        Array<std::int32_t> node;
        for (std::int64_t k = begin; k < end; ++k) node.insert(node.end(), {source_[k], target_[k]});
        std::sort(node.begin(), node.end());
        node.erase(std::unique(node.begin(), node.end()), node.end());
        const auto at = [&](std::int32_t v) {
            return static_cast<std::int32_t>(std::lower_bound(node.begin(), node.end(), v) - node.begin());
        };
        own_.assign(node.size(), {});
        next_.assign(node.size(), 0);
        open_.assign(node.size(), 0);
        left_.assign(node.size(), 0.0);
        first_ = begin;
        ends_.clear();
        for (std::int64_t k = begin; k < end; ++k) {
            ends_.emplace_back(at(source_[k]), at(target_[k]));
            add(ends_.back().first, k);
            if (ends_.back().second != ends_.back().first) add(ends_.back().second, k);
        }
        for (std::size_t v = 0; v < node.size(); ++v) {
            std::sort(own_[v].begin(), own_[v].end(), [&](std::int32_t a, std::int32_t b) {
                return duration_[a] != duration_[b] ? duration_[a] > duration_[b] : tie_[a] < tie_[b];
            });
            push(static_cast<std::int32_t>(v));
        }
    }

    void add(std::int32_t at, std::int64_t k) {
        own_[at].push_back(static_cast<std::int32_t>(k));
        ++open_[at];
        left_[at] += duration_[k];
    }

    void push(std::int32_t at) { queue_.emplace(left_[at], random_.next(), at); }
    bool stale(std::int32_t at, double left) const { return open_[at] == 0 || left != left_[at]; }

    std::int32_t longest_ready(std::int32_t at) {
        Array<std::int32_t>& own = own_[at];
        std::size_t& next = next_[at];
        while (next < own.size() && scheduled_[own[next]]) ++next;
        for (std::size_t k = next; k < own.size(); ++k)
            if (!scheduled_[own[k]] && precedence_.ready(own[k])) return own[k];
        return -1;
    }

    void schedule(std::int32_t k) {
        poll_.count();
        result_.start[k] = table_.place(k, earliest_[k], duration_[k]);
        result_.end[k] = result_.start[k] + duration_[k];
        scheduled_[k] = true;
        const auto [s, t] = ends_[k - first_];
        finish(s, k);
        if (t != s) finish(t, k);
        precedence_.release(k, [&](std::int32_t successor, bool) {
            earliest_[successor] = std::max(earliest_[successor], result_.end[k]);
        });
        for (const std::int32_t at : idle_) push(at);
        idle_.clear();
    }

    void finish(std::int32_t at, std::int32_t k) {
        left_[at] = --open_[at] == 0 ? 0.0 : left_[at] - duration_[k];
        push(at);
    }

    View<const std::int32_t> source_, target_;
    View<const double> duration_;
    Precedence& precedence_;
    Random& random_;
    StopPoll poll_;
    Table table_;
    Array<std::int32_t> tie_;
    Array<bool> scheduled_;
    Array<double> earliest_;
    Timetable result_;
    Array<Array<std::int32_t>> own_;
    Array<std::size_t> next_;
    Array<std::int32_t> open_, idle_;
    Array<double> left_;
    Array<std::pair<std::int32_t, std::int32_t>> ends_;
    std::int64_t first_ = 0;
    std::priority_queue<Entry> queue_;
};

}  // namespace

Timetable time_as(const TimeLines& lines, View<const std::int32_t> source, View<const std::int32_t> target,
                  View<const std::int64_t> phase_offsets, View<const double> duration, View<const std::int32_t> first,
                  View<const std::int32_t> second, std::uint64_t seed) {
    Random random(seed);
    Precedence precedence(lines.size(), first, second);
    Scheduler scheduler(lines, source, target, duration, precedence, random);
    for (std::size_t p = 0; p + 1 < phase_offsets.size(); ++p) scheduler.run(phase_offsets[p], phase_offsets[p + 1]);
    return scheduler.give();
}

}  // namespace conset
