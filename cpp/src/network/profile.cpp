#include "conset/network/profile.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "conset/network/line_loads.hpp"
#include "conset/network/spread.hpp"

namespace conset {

namespace {

template <class T>
T entry(View<const T> values, std::size_t k) {
    return values.size() == 1 ? values[0] : values[k];
}

// Bytes each way between two nodes; says how many bytes have met a byte of the other direction.
class Exchanges {
public:
    // Adds `bytes` from s to t and returns by how much the matched bytes grew.
    std::int64_t add(std::int32_t s, std::int32_t t, std::int64_t bytes) {
        const auto [low, high] = std::minmax(s, t);
        auto& way = between_[static_cast<std::uint64_t>(low) << 32U | static_cast<std::uint32_t>(high)];
        const std::int64_t before = std::min(way[0], way[1]);
        way[s < t ? 0 : 1] += bytes;
        return std::min(way[0], way[1]) - before;
    }
    void clear() { between_.clear(); }

private:
    std::unordered_map<std::uint64_t, std::array<std::int64_t, 2>> between_;
};

// Work that adds up at nodes and links. What an earlier batch left is dropped when a resource is next touched: stamps
// instead of clearing, so that many small phases on a large network cost what their transfers cost.
class Profiler {
public:
    Profiler(const Routes& routes, const Work& work, bool phase_by_phase)
        : routes_(routes),
          work_(work),
          phase_by_phase_(phase_by_phase),
          nodes_(as_size(routes.network.nodes())),
          links_(work.link.empty() ? 0 : as_size(routes.network.link_slots())) {
        if (!links_.empty() && routes.offsets.empty() && routes.network.spreads()) {
            spread_.emplace(routes.network);
            if (routes.network.choice() == Choice::even) ways_.emplace(routes.network);
        }
        most_.fill(0);
        where_.fill(-1);
    }

    void open_batch() {
        ++batch_;
        most_.fill(0);
        where_.fill(-1);
        exchanges_.clear();
    }

    void open_phase() {
        ++phase_;
        touched_.clear();
        if (phase_by_phase_) exchanges_.clear();
    }

    // Counts the partners of every node in transfers [first, last), which are in flight together: two messages are a
    // synchronized exchange only where neither node does anything else meanwhile.
    void meet(std::size_t first, std::size_t last) {
        if (work_.exchange >= 1 || work_.match_all_exchanges) return;
        ++scope_;
        for (std::size_t k = first; k < last; ++k) {
            if (!routes_.leaves(k)) continue;
            ++partners(routes_.source[k]).sends;
            ++partners(routes_.target[k]).receives;
        }
    }

    void add(std::size_t k, std::int64_t bytes) {
        if (!routes_.leaves(k)) return;
        const double overhead = overhead_of(bytes), b = static_cast<double>(bytes);
        Node &source = node(routes_.source[k]), &target = node(routes_.target[k]);
        raise(Resource::out, routes_.source[k], source.out += overhead + b * work_.out);
        raise(Resource::in, routes_.target[k], target.in += overhead + b * work_.in);
        if (work_.node > 0) add_node(k, bytes, overhead / 2 + b * work_.node);
        const double slowest = std::max({work_.out, work_.in, work_.node, add_links(k, bytes)});
        raise(Resource::message, static_cast<std::int64_t>(k), overhead + b * slowest);
    }

    void close_phase(Profile& profile) {
        if (spread_) spread_->settle([&](std::int32_t l, double bytes, double messages) { carry(l, bytes, messages); });
        for (std::int32_t l : touched_) raise(Resource::link, l, link_time(l));
        const auto longest = as_size(std::max_element(most_.begin(), most_.end()) - most_.begin());
        const bool idle = where_[longest] < 0;
        profile.busy.push_back(most_[longest]);
        profile.kind.push_back(idle ? -1 : static_cast<std::int32_t>(longest));
        profile.index.push_back(where_[longest]);
    }

    void finish(Profile& profile) const {
        profile.most.assign(most_.begin(), most_.end());
        profile.where.assign(where_.begin(), where_.end());
    }

private:
    struct Node {
        double out = 0, in = 0, both = 0;
        std::int64_t batch = 0;
    };
    struct Partners {
        std::int64_t sends = 0, receives = 0, scope = 0;
        bool one() const { return sends <= 1 && receives <= 1; }
    };
    struct Link {
        double past = 0;  // work of earlier phases of the batch, where loads are counted phase by phase
        double bytes = 0, load = 0;
        std::int64_t batch = 0, phase = 0;
    };

    Node& node(std::int32_t v) {
        Node& it = nodes_[static_cast<std::size_t>(v)];
        if (it.batch != batch_) it = {0, 0, 0, batch_};
        return it;
    }

    Partners& partners(std::int32_t v) {
        partners_.resize(as_size(routes_.network.nodes()));
        Partners& it = partners_[static_cast<std::size_t>(v)];
        if (it.scope != scope_) it = {0, 0, scope_};
        return it;
    }

    bool exchanges_only(std::int32_t v) { return work_.match_all_exchanges || partners(v).one(); }

    void raise(Resource kind, std::int64_t index, double work) {
        const auto k = static_cast<std::size_t>(kind);
        if (work > most_[k] || where_[k] < 0) {
            most_[k] = work;
            where_[k] = index;
        }
    }

    double overhead_of(std::int64_t bytes) const {
        if (work_.step_seconds.size() == 1) return work_.step_seconds[0];
        const auto step =
            std::lower_bound(work_.step_up_to.begin(), work_.step_up_to.end(), static_cast<double>(bytes));
        return work_.step_seconds[static_cast<std::size_t>(step - work_.step_up_to.begin())];
    }

    void add_node(std::size_t k, std::int64_t bytes, double alone) {
        double saved = 0;
        if (work_.exchange < 1 && exchanges_only(routes_.source[k]) && exchanges_only(routes_.target[k])) {
            const std::int64_t matched = exchanges_.add(routes_.source[k], routes_.target[k], bytes);
            saved = 2 * (1 - work_.exchange) * work_.node * static_cast<double>(matched);
        }
        for (std::int32_t v : {routes_.source[k], routes_.target[k]})
            raise(Resource::node, v, node(v).both += alone - saved);
    }

    double add_links(std::size_t k, std::int64_t bytes) {
        if (links_.empty()) return 0;
        double slowest = 0;
        const auto see = [&](std::int32_t l, double share) {
            slowest = std::max(slowest, share * entry(work_.link, static_cast<std::size_t>(l)));
        };
        if (spread_) spread_->add(routes_.source[k], routes_.target[k], static_cast<double>(bytes));
        if (ways_) {
            ways_->each_share(routes_.source[k], routes_.target[k], see);
            return slowest;
        }
        routes_.each_link(k, [&](std::int32_t l) {
            if (!spread_) carry(l, static_cast<double>(bytes), 1);
            see(l, 1);
        });
        return slowest;
    }

    void carry(std::int32_t l, double bytes, double messages) {
        Link& link = links_[static_cast<std::size_t>(l)];
        if (link.phase != phase_) {
            if (link.batch != batch_) link = {0, 0, 0, batch_, phase_};
            link.phase = phase_;
            touched_.push_back(l);
        }
        link.bytes += bytes;
        link.load += messages;
    }

    // The work of a link so far in its batch; closes the phase's own share where loads are counted phase by phase.
    double link_time(std::int32_t l) {
        const auto at = static_cast<std::size_t>(l);
        Link& link = links_[at];
        double time = link.bytes * entry(work_.link, at);
        if (work_.blocking > 0) {
            const double over = link.load / (work_.tolerance * entry(work_.width, at));
            if (over > 1) time *= std::pow(over, work_.blocking);
        }
        if (!phase_by_phase_) return time;
        link.bytes = link.load = 0;
        return link.past += time;
    }

    const Routes& routes_;
    const Work& work_;
    bool phase_by_phase_;
    Array<Node> nodes_;
    Array<Link> links_;
    Array<Partners> partners_;
    Array<std::int32_t> touched_;
    std::optional<Spread> spread_;  // of the phase, where links carry expectations
    std::optional<Spread> ways_;    // of a message that is spread
    Exchanges exchanges_;
    std::array<double, 5> most_;
    std::array<std::int64_t, 5> where_;
    std::int64_t batch_ = 0, phase_ = 0, scope_ = 0;
};

}  // namespace

Totals count_totals(const Routes& routes, View<const std::int64_t> size) {
    if (BoxLines::pay(routes, routes.size())) return count_line_totals(routes, size);
    const auto links = static_cast<std::size_t>(routes.network.link_slots());
    Totals totals{Array<std::int64_t>(links, 0), Array<std::int64_t>(links, 0)};
    if (size.size() == 1) {
        for (std::size_t k = 0; k < routes.size(); ++k)
            routes.each_link(k, [&](std::int32_t l) { ++totals.messages[l]; });
        for (std::size_t l = 0; l < links; ++l) totals.bytes[l] = totals.messages[l] * size[0];
        return totals;
    }
    for (std::size_t k = 0; k < routes.size(); ++k)
        routes.each_link(k, [&](std::int32_t l) {
            ++totals.messages[l];
            totals.bytes[l] += size[k];
        });
    return totals;
}

Array<double> slowest_links(const Routes& routes, View<const double> per_byte) {
    Array<double> slowest(routes.size(), 0);
    for (std::size_t k = 0; k < routes.size(); ++k)
        routes.each_link(k, [&](std::int32_t l) {
            slowest[k] = std::max(slowest[k], entry(per_byte, static_cast<std::size_t>(l)));
        });
    return slowest;
}

Array<double> rank_rounds(const Routes& routes, View<const std::int32_t> order, View<const double> work,
                          const RoundLimits& limits) {
    const auto nodes = static_cast<std::size_t>(routes.network.nodes());
    const auto slots = limits.link.empty() ? 0 : static_cast<std::size_t>(routes.network.link_slots());
    Array<std::int64_t> send(nodes, 0), receive(nodes, 0), link(slots, 0);
    Array<double> rounds;
    // Work falls along `order`: the first transfer to reach a round is the largest that ever does.
    const auto count = [&](std::int64_t& seen, std::int64_t limit, double w) {
        const std::int64_t before = seen++;
        if (before % limit == 0 && std::cmp_equal(before / limit, rounds.size())) rounds.push_back(w);
    };
    for (std::int32_t m : order) {
        const auto k = static_cast<std::size_t>(m);
        if (!routes.leaves(k)) continue;
        count(send[static_cast<std::size_t>(routes.source[k])], limits.send, work[k]);
        count(receive[static_cast<std::size_t>(routes.target[k])], limits.receive, work[k]);
        if (slots == 0) continue;
        routes.each_link(k, [&](std::int32_t l) {
            count(link[static_cast<std::size_t>(l)], entry(limits.link, static_cast<std::size_t>(l)), work[k]);
        });
    }
    return rounds;
}

Profile profile_phases(const Routes& routes, View<const std::int64_t> size, View<const std::int64_t> phase_offsets,
                       View<const std::int64_t> batch_offsets, bool phase_by_phase, const Work& work) {
    Profiler profiler(routes, work, phase_by_phase);
    Profile profile;
    for (std::size_t b = 0; b + 1 < batch_offsets.size(); ++b) {
        profiler.open_batch();
        const auto first = static_cast<std::size_t>(batch_offsets[b]),
                   last = static_cast<std::size_t>(batch_offsets[b + 1]);
        const auto transfer = [&](std::size_t p) { return static_cast<std::size_t>(phase_offsets[p]); };
        if (!phase_by_phase) profiler.meet(transfer(first), transfer(last));
        for (std::size_t p = first; p < last; ++p) {
            profiler.open_phase();
            if (phase_by_phase) profiler.meet(transfer(p), transfer(p + 1));
            for (std::size_t k = transfer(p); k < transfer(p + 1); ++k) profiler.add(k, entry(size, k));
            profiler.close_phase(profile);
        }
    }
    profiler.finish(profile);
    return profile;
}

}  // namespace conset
