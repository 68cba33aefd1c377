#include "conset/wormhole.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "conset/stop.hpp"
#include "conset/wormhole_channels.hpp"
#include "conset/wormhole_lists.hpp"
#include "conset/wormhole_streams.hpp"

namespace conset {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTogether = 1e-12;  // events nearer than this (relative) are one

template <class T>
T each(std::span<const T> values, std::int32_t k) {
    return values.size() == 1 ? values[0] : values[k];
}

// The other message of each exchange: the k-th from u to v of a phase with the k-th from v to u; -1 without one.
std::vector<std::int32_t> partners(const Routes& routes, const Messages& messages) {
    using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool, std::int32_t>;
    std::vector<Key> keys;
    std::int32_t phase = 0;
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(messages.size()); ++m) {
        while (m >= messages.phase_offsets[phase + 1]) ++phase;
        const std::int32_t s = routes.source[m], t = routes.target[m];
        if (s != t) keys.emplace_back(phase, std::min(s, t), std::max(s, t), s > t, m);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::int32_t> partner(messages.size(), -1);
    const auto pair_of = [&](std::size_t k) {
        return std::tuple(std::get<0>(keys[k]), std::get<1>(keys[k]), std::get<2>(keys[k]));
    };
    for (std::size_t first = 0; first < keys.size();) {
        std::size_t back = first, last = first;
        for (; last < keys.size() && pair_of(last) == pair_of(first); ++last)
            if (!std::get<3>(keys[last])) back = last + 1;
        for (std::size_t k = 0; first + k < back && back + k < last; ++k) {
            const std::int32_t a = std::get<4>(keys[first + k]), b = std::get<4>(keys[back + k]);
            partner[a] = b;
            partner[b] = a;
        }
        first = last;
    }
    return partner;
}

std::vector<char> inside_of(const Routes& routes) {
    std::vector<char> inside(routes.size());
    for (std::size_t m = 0; m < inside.size(); ++m) inside[m] = routes.leaves(m) ? 0 : 1;
    return inside;
}

class Wormhole {
public:
    Wormhole(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
             const Execution& execution, const WormholeCosts& costs, bool record)
        : routes_(routes),
          bytes_(bytes),
          messages_(messages),
          execution_(execution),
          costs_(costs),
          links_(routes.network.link_slots()),
          nodes_(routes.network.nodes()),
          partner_(costs.exchanges && !messages.phase_offsets.empty() ? partners(routes, messages)
                                                                      : std::vector<std::int32_t>()),
          lists_(messages, execution, partner_, inside_of(routes)),
          streams_(capacities()),
          channels_(capacity_of_channels(), messages.size()),
          record_(record) {
        const std::size_t n = messages.size();
        result_.start.assign(n, 0);
        result_.end.assign(n, 0);
        result_.blocked.assign(n, 0);
        result_.held_by.assign(n, -1);
        result_.link_bytes.assign(static_cast<std::size_t>(links_), 0);
        result_.out_bytes.assign(static_cast<std::size_t>(nodes_), 0);
        result_.in_bytes = result_.out_bytes;
        const auto ranks = static_cast<std::size_t>(lists_.ranks());
        sending_free_.assign(ranks, 0);
        receiving_free_.assign(ranks, 0);
        paid_phase_.assign(ranks, -1);
        slot_.assign(n, -1);
        path_.assign(n, -1);
        longest_.assign(n, 0);
        if (takes_list()) {
            next_receive_.assign(ranks, 0);
            arrived_.assign(n, 0);
        }
        if (record) streams_.record_changes();
    }

    WormholeResult run() {
        lists_.begin();
        obey(0);
        std::int64_t glance = 0;
        for (;;) {
            const double next =
                std::min(pending_.empty() ? kNever : std::get<0>(pending_.front()), streams_.next_end());
            if (next == kNever) break;
            now_ = std::max(now_, next);
            handle(now_ + kTogether * now_);
            if ((++glance & 1023) == 0) should_stop(false);
        }
        result_.stopped = now_;
        if (lists_.undelivered() > 0) find_circle();
        finish();
        return std::move(result_);
    }

private:
    enum Kind : std::uint8_t { kEnded, kGate, kSignal, kReceived, kSent, kHeader, kStream };
    // What happens: gates: a task of the lists; signals: 0 arrives, 1 is taken; else unused.
    using Event = std::tuple<double, Kind, std::int32_t, std::uint8_t>;
    using Now = std::tuple<Kind, std::int32_t, std::uint8_t>;

    struct Path {
        std::vector<std::int32_t> channels;  // injection, lanes, ejection
        std::size_t taken = 0;
        double asked = 0;
    };

    bool takes_list() const { return execution_.receive_list; }
    std::int32_t size() const { return static_cast<std::int32_t>(messages_.size()); }
    std::int32_t lanes() const { return links_ * costs_.pools; }
    std::int32_t injection(std::int32_t m) const { return lanes() + messages_.sender[m]; }
    std::int32_t ejection(std::int32_t m) const { return lanes() + lists_.ranks() + messages_.receiver[m]; }
    // The channel a header takes next, as `held_by` has it: pools of a link are one, ranks of a node too.
    std::int32_t named(std::int32_t m) const {
        const Path& path = paths_[path_[m]];
        if (path.taken == 0) return links_ + routes_.source[m];
        if (path.taken + 1 == path.channels.size()) return links_ + nodes_ + routes_.target[m];
        return path.channels[path.taken] / costs_.pools;
    }
    std::int32_t hops(std::int32_t m) const {
        std::int32_t count = 0;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t) { ++count; });
        return count;
    }

    std::vector<double> capacities() const {
        std::vector<double> capacity;
        capacity.reserve(static_cast<std::size_t>(links_) + 3 * static_cast<std::size_t>(nodes_));
        for (std::int32_t l = 0; l < links_; ++l) capacity.push_back(each(costs_.link, l) * each(costs_.width, l));
        for (const double rate : {costs_.out, costs_.in, costs_.node}) capacity.insert(capacity.end(), nodes_, rate);
        return capacity;
    }

    std::vector<std::int32_t> capacity_of_channels() const {
        std::vector<std::int32_t> capacity;
        for (std::int32_t l = 0; l < links_; ++l)
            capacity.insert(capacity.end(), costs_.pools, costs_.lanes * each(costs_.width, l));
        for (const std::int32_t count : {costs_.injection, costs_.ejection})
            capacity.insert(capacity.end(), lists_.ranks(), count > 0 ? count : Channels::kNoLimit);
        return capacity;
    }

    void at(double time, Kind kind, std::int32_t which, std::uint8_t what = 0) {
        if (time <= until_) {
            batch_.emplace_back(kind, which, what);
            std::push_heap(batch_.begin(), batch_.end(), std::greater<>());
            return;
        }
        pending_.emplace_back(time, kind, which, what);
        std::push_heap(pending_.begin(), pending_.end(), std::greater<>());
    }

    // Everything of one time, then rates.
    void handle(double until) {
        until_ = until;
        while (!pending_.empty() && std::get<0>(pending_.front()) <= until) {
            const auto [time, kind, which, what] = pending_.front();
            std::pop_heap(pending_.begin(), pending_.end(), std::greater<>());
            pending_.pop_back();
            at(time, kind, which, what);
        }
        for (std::int32_t m = streams_.end_next(until, now_); m >= 0; m = streams_.end_next(until, now_))
            at(now_, kEnded, m);
        while (!batch_.empty()) {
            const auto [kind, which, what] = batch_.front();
            std::pop_heap(batch_.begin(), batch_.end(), std::greater<>());
            batch_.pop_back();
            ++result_.events;
            happen(kind, which, what);
        }
        until_ = -1;
        streams_.solve(now_);
        if (!record_) return;
        streams_.each_change([&](std::int32_t m, double rate) {
            result_.rate_time.push_back(now_);
            result_.rate_message.push_back(m);
            result_.rate.push_back(rate);
        });
    }

    void happen(Kind kind, std::int32_t which, std::uint8_t what) {
        switch (kind) {
            case kEnded: ended(which); break;
            case kGate: lists_.handle(static_cast<WormholeLists::Task>(what), which, now_); break;
            case kSignal:
                if (what == 0) {
                    at(work(receiving_free(messages_.sender[which]), costs_.signal / 2), kSignal, which, 1);
                } else {
                    lists_.signalled(which);
                }
                break;
            case kReceived: deliver(which); break;
            case kSent: sent(which); break;
            case kHeader: ask(which); break;
            case kStream: stream(which); break;
        }
        obey(now_);
    }

    // Work of a processor, one piece after the other; when this one ends.
    double work(double& free, double seconds) const { return free = std::max(free, now_) + seconds; }
    double& receiving_free(std::int32_t rank) {
        return costs_.one_processor ? sending_free_[rank] : receiving_free_[rank];
    }

    // What the lists want done.
    void obey(double now) {
        using Task = WormholeLists::Task;
        auto& orders = lists_.orders();
        for (const auto& [task, which, time] : orders) {
            if (task == Task::post) {
                result_.start[which] = now;
                at(work(sending_free_[messages_.sender[which]], send_work(which)), kSent, which);
            } else if (task == Task::signal) {
                double& free = sending_free_[messages_.receiver[which]];
                at(work(free, costs_.signal / 2) + hops(which) * costs_.signal_hop, kSignal, which, 0);
            } else {
                at(std::max(time, now), kGate, which, static_cast<std::uint8_t>(task));
            }
        }
        orders.clear();
    }

    double send_work(std::int32_t m) {
        double seconds = each(costs_.send, m);
        if (messages_.phase_offsets.empty()) return seconds;
        std::int32_t& paid = paid_phase_[messages_.sender[m]];
        if (paid != lists_.phase_of(m)) seconds += execution_.setup;
        paid = lists_.phase_of(m);
        return seconds;
    }

    void sent(std::int32_t m) {
        if (!routes_.leaves(static_cast<std::size_t>(m))) {
            receive(m, kReceived);
            return;
        }
        open_path(m);
        ask(m);
    }

    void receive(std::int32_t m, Kind then) {
        at(work(receiving_free(messages_.receiver[m]), each(costs_.receive, m)), then, m);
    }

    void open_path(std::int32_t m) {
        if (free_paths_.empty()) {
            free_paths_.push_back(static_cast<std::int32_t>(paths_.size()));
            paths_.emplace_back();
        }
        path_[m] = free_paths_.back();
        free_paths_.pop_back();
        Path& path = paths_[path_[m]];
        path.taken = 0;
        path.channels.clear();
        path.channels.push_back(injection(m));
        std::int32_t pool = 0;
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            if (!costs_.dateline.empty() && costs_.dateline[link] != 0) pool = std::min(pool + 1, costs_.pools - 1);
            path.channels.push_back(link * costs_.pools + pool);
        });
        path.channels.push_back(ejection(m));
    }

    // A header asks for its next channel.
    void ask(std::int32_t m) {
        Path& path = paths_[path_[m]];
        path.asked = now_;
        const std::int32_t channel = path.channels[path.taken];
        if (path.taken + 1 == path.channels.size() && takes_list()) {
            arrived_[m] = 1;
            take_receives(messages_.receiver[m]);
        } else if (channels_.ask(channel, m)) {
            granted(m);
        }
    }

    // Receives in list order: ejection channels go to the head of the list only.
    void take_receives(std::int32_t rank) {
        const auto list = lists_.receives(rank);
        auto& next = next_receive_[rank];
        for (; next < list.size(); ++next) {
            const std::int32_t m = list[next];
            if (!routes_.leaves(static_cast<std::size_t>(m))) continue;
            if (arrived_[m] == 0 || !channels_.take(ejection(m))) return;
            granted(m);
        }
    }

    void granted(std::int32_t m) {
        Path& path = paths_[path_[m]];
        const double waited = now_ - path.asked;
        result_.blocked[m] += waited;
        if (waited > longest_[m]) {
            longest_[m] = waited;
            result_.held_by[m] = named(m);
        }
        const std::size_t taken = path.taken++;
        if (path.taken == path.channels.size()) {
            if (costs_.receive_after) {
                at(now_, kStream, m);
            } else {
                receive(m, kStream);
            }
        } else {
            at(taken == 0 ? now_ : now_ + each(costs_.hop, m), kHeader, m);
        }
    }

    void stream(std::int32_t m) {
        uses_.clear();
        double limit = kNever;
        const std::int32_t s = routes_.source[m], t = routes_.target[m];
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            result_.link_bytes[link] += bytes_[m];
            uses_.push_back({link, 0, 1});
            limit = std::min(limit, each(costs_.link, link));
        });
        result_.out_bytes[s] += bytes_[m];
        result_.in_bytes[t] += bytes_[m];
        if (bytes_[m] == 0 || std::min({limit, costs_.out, costs_.in, costs_.node}) == kNever) {
            at(now_, kEnded, m);
            return;
        }
        const std::int32_t partner = partner_.empty() ? -1 : partner_[m];
        const bool both = partner >= 0 && slot_[partner] >= 0;
        const double weight = both ? costs_.exchange_weight : 1;
        uses_.push_back({links_ + s, 0, 1});
        uses_.push_back({links_ + nodes_ + t, 0, 1});
        if (costs_.node < kNever) {
            uses_.push_back({links_ + 2 * nodes_ + s, 0, weight});
            uses_.push_back({links_ + 2 * nodes_ + t, 0, weight});
        }
        slot_[m] = streams_.add(m, uses_, limit, static_cast<double>(bytes_[m]), now_);
        if (both) weigh(partner, weight);
    }

    void weigh(std::int32_t m, double weight) {
        streams_.weigh(slot_[m], links_ + 2 * nodes_, links_ + 3 * nodes_, weight);
    }

    // The last byte has flowed.
    void ended(std::int32_t m) {
        slot_[m] = -1;
        const std::int32_t partner = partner_.empty() ? -1 : partner_[m];
        // one that ends in this batch too is out of its streams already: its slot may be another's
        if (partner >= 0 && slot_[partner] >= 0 && streams_.is_open(slot_[partner], partner)) weigh(partner, 1);
        release(m);
        if (costs_.receive_after) {
            receive(m, kReceived);
        } else {
            deliver(m);
        }
    }

    void release(std::int32_t m) {
        const std::int32_t path = path_[m];
        for (const std::int32_t channel : paths_[path].channels) {
            const std::int32_t next = channels_.release(channel);
            if (next >= 0) granted(next);
        }
        free_paths_.push_back(path);
        path_[m] = -1;
        if (takes_list()) take_receives(messages_.receiver[m]);
    }

    void deliver(std::int32_t m) {
        result_.end[m] = now_;
        lists_.delivered(m, now_);
    }

    // For which channel a message waits, and which message must move first.
    std::pair<std::int32_t, std::int32_t> waits_for(std::int32_t m) const {
        if (path_[m] < 0) return {-1, lists_.blocker_of(m)};
        const Path& path = paths_[path_[m]];
        const std::int32_t channel = path.channels[path.taken];
        for (std::int32_t other = 0; other < size(); ++other) {
            if (path_[other] < 0) continue;
            const Path& held = paths_[path_[other]];
            const auto last = held.channels.begin() + static_cast<std::ptrdiff_t>(held.taken);
            if (other != m && std::find(held.channels.begin(), last, channel) != last) return {named(m), other};
        }
        const std::int32_t rank = messages_.receiver[m];  // free, but not its turn
        return {named(m), lists_.receives(rank)[next_receive_[rank]]};
    }

    // From a waiting message to one that holds what it waits for, until one repeats.
    void find_circle() {
        std::vector<std::int32_t> seen_at(messages_.size(), -1), circle, channel;
        std::int32_t m = 0;
        while (lists_.is_delivered(m)) ++m;
        while (m >= 0 && seen_at[m] < 0) {
            seen_at[m] = static_cast<std::int32_t>(circle.size());
            const auto [waited, next] = waits_for(m);
            circle.push_back(m);
            channel.push_back(waited);
            m = next;
        }
        const std::int32_t first = m < 0 ? 0 : seen_at[m];
        result_.stuck.assign(circle.begin() + first, circle.end());
        result_.stuck_channel.assign(channel.begin() + first, channel.end());
    }

    void finish() {
        const auto copy = [&](std::vector<double>& busy, std::int32_t first, std::int32_t count) {
            for (std::int32_t k = 0; k < count; ++k) busy.push_back(streams_.busy(first + k));
        };
        copy(result_.link_busy, 0, links_);
        copy(result_.out_busy, links_, nodes_);
        copy(result_.in_busy, links_ + nodes_, nodes_);
        result_.solves = streams_.solves();
    }

    const Routes& routes_;
    std::span<const std::int64_t> bytes_;
    Messages messages_;
    Execution execution_;
    WormholeCosts costs_;
    std::int32_t links_, nodes_;
    std::vector<std::int32_t> partner_;
    WormholeLists lists_;
    Streams streams_;
    Channels channels_;
    bool record_;
    WormholeResult result_;
    double now_ = 0, until_ = -1;
    std::vector<Event> pending_;
    std::vector<Now> batch_;
    std::vector<double> sending_free_, receiving_free_, longest_;
    std::vector<std::int32_t> paid_phase_, slot_, path_, free_paths_;  // slot_: of its stream; path_: into paths_
    std::vector<Path> paths_;
    std::vector<std::size_t> next_receive_;
    std::vector<char> arrived_;
    std::vector<Streams::Use> uses_;
};

}  // namespace

WormholeResult simulate_wormhole(const Routes& routes, std::span<const std::int64_t> bytes, const Messages& messages,
                                 const Execution& execution, const WormholeCosts& costs, bool record) {
    return Wormhole(routes, bytes, messages, execution, costs, record).run();
}

}  // namespace conset
