#include "conset/scheduling/balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "conset/random.hpp"
#include "conset/scheduling/balance_parts.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

class Balancer {
public:
    Balancer(const Resources& resources, const TransferWork& work, Array<std::int32_t> phase,
             View<const std::uint8_t> pinned, const BalanceSearch& search)
        : resources_(resources),
          routes_(resources.routes()),
          work_(work),
          search_(search),
          nodes_(routes_.network.nodes()),
          phase_(std::move(phase)),
          phases_(1 + *std::max_element(phase_.begin(), phase_.end())),
          used_(cell(phases_, resources.count(), 0), 0),
          lines_(as_size(2 * nodes_ + (work.link_work.empty() ? 0 : routes_.network.link_slots()))),
          loads_(as_size(phases_), lines_),
          paths_(nodes_, search.link_source, search.link_target),
          member_(as_size(phases_)),
          at_(phase_.size(), 0),
          links_(phase_.size()),
          random_(search.seed) {
        for (std::size_t k = 0; k < phase_.size(); ++k) {
            routes_.each_link(k, [&](std::int32_t link) { links_[k].push_back(link); });
            put_in(static_cast<std::int32_t>(k), phase_[k]);
            if (pinned[k] == 0 && routes_.leaves(k)) free_.push_back(static_cast<std::int32_t>(k));
        }
        for (std::size_t n = 0; n < free_.size(); ++n) {
            at_[free_[n]] = static_cast<std::int32_t>(member_[phase_[free_[n]]].size());
            member_[phase_[free_[n]]].push_back(free_[n]);
        }
        measure();
        best_ = {phase_, {}, {}, longest_};
        best_links_ = links_;
    }

    Balanced run() {
        const double least = least_length() * (1 + 1e-12), mean = longest_ / phases_;
        const double cooling = std::log(search_.cold / search_.hot);
        const auto every = static_cast<std::int64_t>(std::max(phase_.size(), cell(phases_, lines_, 0)) / 16 + 16);
        if (phases_ > 1 && !free_.empty()) {
            for (std::int64_t step = 0; step < search_.steps && best_.length > least; ++step) {
                const double part = static_cast<double>(step) / static_cast<double>(search_.steps);
                temperature_ = mean * search_.hot * std::exp(cooling * part);
                try_step();
                if (step % every == 0) keep_best();
                if (step % kPollInterval == 0 && should_stop(true)) break;
            }
            keep_best();
        }
        best_.offsets.assign(1, 0);
        for (const auto& links : best_links_) {
            best_.links.insert(best_.links.end(), links.begin(), links.end());
            best_.offsets.push_back(static_cast<std::int64_t>(best_.links.size()));
        }
        return std::move(best_);
    }

private:
    static constexpr std::int64_t kPollInterval = 4096;  // steps between polls of the wish to stop

    std::size_t line_in(std::int32_t k) const { return as_size((work_.serial ? 0 : nodes_) + routes_.target[k]); }

    double link_work(std::int32_t link) const {
        if (work_.link_work.empty()) return 0;
        return work_.link_work[work_.link_work.size() == 1 ? 0 : link];
    }

    // Visits what transfer k takes of the limits over its present route; as Resources, for a route that may change.
    template <class Visit>
    void each_limited(std::int32_t k, Visit&& visit) const {
        const Limits& limits = resources_.limits();
        if (limits.send > 0) visit(routes_.source[k]);
        if (limits.receive > 0) visit(nodes_ + routes_.target[k]);
        if (limits.channels > 0) {
            visit(2 * nodes_ + routes_.source[k]);
            if (!routes_.network.has_links()) visit(2 * nodes_ + routes_.target[k]);
            for (const std::int32_t link : links_[k]) visit(2 * nodes_ + routes_.network.link_target(link));
        }
        if (limits.link > 0)
            for (const std::int32_t link : links_[k]) visit(3 * nodes_ + link);
    }

    std::int32_t& used(std::int32_t p, std::int32_t resource) { return used_[cell(p, resources_.count(), resource)]; }
    bool has_room(std::int32_t p, std::int32_t resource) { return used(p, resource) < resources_.capacity(resource); }

    void add_work(std::int32_t k, std::int32_t p, double sign) {
        loads_.add(p, static_cast<std::size_t>(routes_.source[k]), sign * work_.work[k]);
        loads_.add(p, line_in(k), sign * work_.work[k]);
        if (work_.link_work.empty()) return;
        for (const std::int32_t link : links_[k])
            loads_.add(p, as_size(2 * nodes_ + link), sign * work_.size[k] * link_work(link));
    }

    void put_in(std::int32_t k, std::int32_t p) {
        if (!routes_.leaves(k)) return;
        each_limited(k, [&](std::int32_t resource) { ++used(p, resource); });
        add_work(k, p, 1);
    }

    void take_out(std::int32_t k, std::int32_t p) {
        each_limited(k, [&](std::int32_t resource) { --used(p, resource); });
        add_work(k, p, -1);
    }

    bool fits(std::int32_t k, std::int32_t p) {
        bool room = true;
        each_limited(k, [&](std::int32_t resource) { room = room && has_room(p, resource); });
        return room;
    }

    // Puts k, which stands nowhere, into phase p: over its route or, where routes may change, another one.
    bool place(std::int32_t k, std::int32_t p) {
        if (!fits(k, p) && !reroute(k, p)) return false;
        put_in(k, p);
        return true;
    }

    bool reroute(std::int32_t k, std::int32_t p) {
        if (!paths_.known()) return false;
        const Limits& limits = resources_.limits();
        const std::int32_t s = routes_.source[k], t = routes_.target[k];
        if (limits.send > 0 && !has_room(p, s)) return false;
        if (limits.receive > 0 && !has_room(p, nodes_ + t)) return false;
        if (limits.channels > 0 && (!has_room(p, 2 * nodes_ + s) || !has_room(p, 2 * nodes_ + t))) return false;
        const auto path = paths_.find(s, t, [&](std::int32_t link) {
            return (limits.channels == 0 || has_room(p, 2 * nodes_ + routes_.network.link_target(link))) &&
                   (limits.link == 0 || has_room(p, 3 * nodes_ + link));
        });
        if (path.empty()) return false;
        links_[k].assign(path.begin(), path.end());
        return true;
    }

    // A transfer at the busiest line of a random phase, or any one.
    std::int32_t pick() {
        const auto any = free_[random_.below(free_.size())];
        if (random_.below(2) == 0) return any;
        const auto p = static_cast<std::int32_t>(random_.below(phases_));
        if (member_[p].empty()) return any;
        const std::size_t line = loads_.busiest(p);
        for (int tries = 0; tries < 64; ++tries) {
            const std::int32_t k = member_[p][random_.below(member_[p].size())];
            if (static_cast<std::size_t>(routes_.source[k]) == line || line_in(k) == line) return k;
        }
        return any;
    }

    // Moves a transfer to another phase, or swaps two; takes it back where it is not accepted.
    void try_step() {
        const std::int32_t i = pick(), from = phase_[i];
        auto to = static_cast<std::int32_t>(random_.below(phases_ - 1));
        if (to >= from) ++to;
        const std::int32_t j =
            random_.below(2) == 0 || member_[to].empty() ? -1 : member_[to][random_.below(member_[to].size())];
        const double before = loads_.norm(from) + loads_.norm(to);
        old_links_[0] = links_[i];
        take_out(i, from);
        if (j >= 0) {
            old_links_[1] = links_[j];
            take_out(j, to);
        }
        const bool first = place(i, to);
        const bool second = first && (j < 0 || place(j, from));
        if (second) {
            const double more = loads_.norm(from) + loads_.norm(to) - before;
            if (more <= 0 || random_.uniform() < std::exp(-more / temperature_)) {
                settle(i, to);
                if (j >= 0) settle(j, from);
                if (++accepted_ % 64 == 0) {  // what sums of 24th powers lose
                    loads_.recount(from);
                    loads_.recount(to);
                }
                return;
            }
        }
        if (first) take_out(i, to);
        if (second && j >= 0) take_out(j, from);
        links_[i] = old_links_[0];
        put_in(i, from);
        if (j >= 0) {
            links_[j] = old_links_[1];
            put_in(j, to);
        }
    }

    // Transfer k now belongs to phase p.
    void settle(std::int32_t k, std::int32_t p) {
        auto& own = member_[phase_[k]];
        own[at_[k]] = own.back();
        at_[own.back()] = at_[k];
        own.pop_back();
        phase_[k] = p;
        at_[k] = static_cast<std::int32_t>(member_[p].size());
        member_[p].push_back(k);
    }

    void measure() {
        longest_ = 0;
        for (std::int32_t p = 0; p < phases_; ++p) longest_ += loads_.most(p);
        loads_.set_scale(longest_ / phases_);
        for (std::int32_t p = 0; p < phases_; ++p) loads_.recount(p);
    }

    void keep_best() {
        double longest = 0;
        for (std::int32_t p = 0; p < phases_; ++p) longest += loads_.most(p);
        if (longest >= best_.length * (1 - 1e-12)) return;
        best_.length = longest;
        best_.phase = phase_;
        if (paths_.known()) best_links_ = links_;
    }

    // What the busiest port works in all phases together.
    double least_length() const {
        double least = 0;
        for (std::size_t line = 0; line < 2 * static_cast<std::size_t>(nodes_); ++line) {
            double sum = 0;
            for (std::int32_t p = 0; p < phases_; ++p) sum += loads_.at(p, line);
            least = std::max(least, sum);
        }
        return least;
    }

    const Resources& resources_;
    const Routes& routes_;
    const TransferWork& work_;
    const BalanceSearch& search_;
    std::int32_t nodes_;
    Array<std::int32_t> phase_;
    std::int32_t phases_;
    Array<std::int32_t> used_;
    std::size_t lines_;
    LineLoads loads_;
    OpenPaths paths_;
    Array<Array<std::int32_t>> member_;
    Array<std::int32_t> at_, free_;
    Array<Array<std::int32_t>> links_, best_links_;
    Array<std::int32_t> old_links_[2];
    Random random_;
    Balanced best_;
    double longest_ = 0, temperature_ = 0;
    std::int64_t accepted_ = 0;
};

}  // namespace

Balanced balance_loads(const Resources& resources, const TransferWork& work, Array<std::int32_t> phase,
                       View<const std::uint8_t> pinned, const BalanceSearch& search) {
    return Balancer(resources, work, std::move(phase), pinned, search).run();
}

}  // namespace conset
