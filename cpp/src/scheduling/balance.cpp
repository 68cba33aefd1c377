#include "conset/scheduling/balance.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "conset/random.hpp"
#include "conset/stop.hpp"

namespace conset {

namespace {

constexpr double kNorm = 24;

double uniform(Random& random) { return static_cast<double>(random.next() >> 11U) * 0x1p-53; }

double to_the_norm(double x) {
    const double cube = x * x * x, sixth = cube * cube, twelfth = sixth * sixth;
    return twelfth * twelfth;
}

// Loads of lines phase by phase, and the p-norm of each phase, which sees the runners-up of the busiest line.
class Loads {
public:
    Loads(std::size_t phases, std::size_t lines) : lines_(lines), load_(phases * lines, 0.0), sum_(phases, 0.0) {}

    void set_scale(double mean) { scale_ = mean > 0 ? 1 / mean : 1; }
    void add(std::int32_t p, std::size_t line, double work) {
        double& load = load_[cell(p, lines_, line)];
        sum_[p] -= to_the_norm(load * scale_);
        load += work;
        sum_[p] += to_the_norm(load * scale_);
    }
    double norm(std::int32_t p) const { return std::pow(std::max(0.0, sum_[p]), 1 / kNorm) / scale_; }
    double at(std::int32_t p, std::size_t line) const { return load_[cell(p, lines_, line)]; }
    double most(std::int32_t p) const { return *std::max_element(row(p), row(p) + lines_); }
    std::size_t busiest(std::int32_t p) const {
        return static_cast<std::size_t>(std::max_element(row(p), row(p) + lines_) - row(p));
    }
    void recount(std::int32_t p) {
        sum_[p] = 0;
        for (std::size_t line = 0; line < lines_; ++line) sum_[p] += to_the_norm(at(p, line) * scale_);
    }

private:
    const double* row(std::int32_t p) const { return load_.data() + cell(p, lines_, 0); }

    std::size_t lines_;
    Array<double> load_, sum_;
    double scale_ = 1;
};

// Shortest paths over nodes and links that have room.
class Paths {
public:
    Paths(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target)
        : target_(target),
          offsets_(static_cast<std::size_t>(nodes) + 1, 0),
          seen_(as_size(nodes), 0),
          by_(as_size(nodes), -1) {
        for (std::size_t link = 0; link < source.size(); ++link)
            if (source[link] != target[link]) ++offsets_[source[link] + 1];
        for (std::int32_t v = 0; v < nodes; ++v) offsets_[v + 1] += offsets_[v];
        out_.resize(static_cast<std::size_t>(offsets_.back()));
        Array<std::int64_t> next(offsets_.begin(), offsets_.end() - 1);
        for (std::size_t link = 0; link < source.size(); ++link)
            if (source[link] != target[link]) out_[next[source[link]]++] = static_cast<std::int32_t>(link);
        source_ = source;
    }

    bool known() const { return !out_.empty(); }

    // The links of a path from s to t; empty: none. `open(link)`: whether the link and the node it enters have room.
    template <class Open>
    View<const std::int32_t> find(std::int32_t s, std::int32_t t, Open&& open) {
        ++stamp_;
        queue_.assign(1, s);
        seen_[s] = stamp_;
        path_.clear();
        for (std::size_t at = 0; at < queue_.size() && seen_[t] != stamp_; ++at) {
            const std::int32_t v = queue_[at];
            for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
                const std::int32_t link = out_[k], w = target_[link];
                if (seen_[w] == stamp_ || !open(link)) continue;
                seen_[w] = stamp_;
                by_[w] = link;
                queue_.push_back(w);
            }
        }
        if (seen_[t] != stamp_) return {};
        for (std::int32_t v = t; v != s; v = source_[by_[v]]) path_.push_back(by_[v]);
        std::reverse(path_.begin(), path_.end());
        return path_;
    }

private:
    View<const std::int32_t> source_, target_;
    Array<std::int64_t> offsets_;
    Array<std::uint32_t> seen_;
    Array<std::int32_t> by_, out_, queue_, path_;
    std::uint32_t stamp_ = 0;
};

class Balancer {
public:
    Balancer(const Resources& resources, const Burden& burden, Array<std::int32_t> phase,
             View<const std::uint8_t> pinned, const BalanceSearch& search)
        : resources_(resources),
          routes_(resources.routes()),
          burden_(burden),
          search_(search),
          nodes_(routes_.network.nodes()),
          phase_(std::move(phase)),
          phases_(1 + *std::max_element(phase_.begin(), phase_.end())),
          used_(cell(phases_, resources.count(), 0), 0),
          lines_(as_size(2 * nodes_ + (burden.link_work.empty() ? 0 : routes_.network.link_slots()))),
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

    std::uint32_t below(std::size_t n) { return random_.below(static_cast<std::uint32_t>(n)); }

    std::size_t line_in(std::int32_t k) const { return as_size((burden_.serial ? 0 : nodes_) + routes_.target[k]); }

    double link_work(std::int32_t link) const {
        if (burden_.link_work.empty()) return 0;
        return burden_.link_work[burden_.link_work.size() == 1 ? 0 : link];
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

    void burden(std::int32_t k, std::int32_t p, double sign) {
        loads_.add(p, static_cast<std::size_t>(routes_.source[k]), sign * burden_.work[k]);
        loads_.add(p, line_in(k), sign * burden_.work[k]);
        if (burden_.link_work.empty()) return;
        for (const std::int32_t link : links_[k])
            loads_.add(p, as_size(2 * nodes_ + link), sign * burden_.size[k] * link_work(link));
    }

    void put_in(std::int32_t k, std::int32_t p) {
        if (!routes_.leaves(k)) return;
        each_limited(k, [&](std::int32_t resource) { ++used(p, resource); });
        burden(k, p, 1);
    }

    void take_out(std::int32_t k, std::int32_t p) {
        each_limited(k, [&](std::int32_t resource) { --used(p, resource); });
        burden(k, p, -1);
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
        const auto any = free_[below(free_.size())];
        if (random_.below(2) == 0) return any;
        const auto p = static_cast<std::int32_t>(below(static_cast<std::size_t>(phases_)));
        if (member_[p].empty()) return any;
        const std::size_t line = loads_.busiest(p);
        for (int tries = 0; tries < 64; ++tries) {
            const std::int32_t k = member_[p][below(member_[p].size())];
            if (static_cast<std::size_t>(routes_.source[k]) == line || line_in(k) == line) return k;
        }
        return any;
    }

    // Moves a transfer to another phase, or swaps two; takes it back where it is not accepted.
    void try_step() {
        const std::int32_t i = pick(), from = phase_[i];
        auto to = static_cast<std::int32_t>(below(static_cast<std::size_t>(phases_ - 1)));
        if (to >= from) ++to;
        const std::int32_t j =
            random_.below(2) == 0 || member_[to].empty() ? -1 : member_[to][below(member_[to].size())];
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
            if (more <= 0 || uniform(random_) < std::exp(-more / temperature_)) {
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
    const Burden& burden_;
    const BalanceSearch& search_;
    std::int32_t nodes_;
    Array<std::int32_t> phase_;
    std::int32_t phases_;
    Array<std::int32_t> used_;
    std::size_t lines_;
    Loads loads_;
    Paths paths_;
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

Balanced balance_words(const Resources& resources, const Burden& burden, Array<std::int32_t> phase,
                       View<const std::uint8_t> pinned, const BalanceSearch& search) {
    return Balancer(resources, burden, std::move(phase), pinned, search).run();
}

}  // namespace conset
