// Parts of balance: what lines carry phase by phase, and paths over what has room.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/rows.hpp"

namespace conset {

constexpr double kNorm = 24;

inline double to_the_norm(double x) {
    const double cube = x * x * x, sixth = cube * cube, twelfth = sixth * sixth;
    return twelfth * twelfth;
}

// LineLoads of lines phase by phase, and the p-norm of each phase, which sees the runners-up of the busiest line.
class LineLoads {
public:
    LineLoads(std::size_t phases, std::size_t lines) : lines_(lines), load_(phases * lines, 0.0), sum_(phases, 0.0) {}

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
class OpenPaths {
public:
    OpenPaths(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target)
        : source_(source), target_(target), seen_(as_size(nodes), 0), by_(as_size(nodes), -1), out_(source.size()) {
        offsets_ = fill_rows<std::int64_t>(
            as_size(nodes), source.size(),
            [&](std::size_t link) { return source[link] != target[link] ? source[link] : -1; },
            [&](std::int64_t at, std::size_t link) { out_[at] = static_cast<std::int32_t>(link); });
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

}  // namespace conset
