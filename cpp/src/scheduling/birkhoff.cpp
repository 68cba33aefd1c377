#include "conset/scheduling/birkhoff.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "conset/stop.hpp"

namespace conset {

namespace {

// Ports are lines: node v sends by line v and receives by line nodes + v.
class Decomposer {
public:
    Decomposer(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target,
               View<const std::int64_t> size)
        : nodes_(nodes),
          lines_(2 * static_cast<std::size_t>(nodes)),
          rest_(size.begin(), size.end()),
          load_(lines_, 0),
          edges_(lines_),
          matched_(lines_, -1),
          stamp_(lines_, 0),
          ends_(size.size()) {
        for (std::size_t k = 0; k < size.size(); ++k) {
            ends_[k] = {source[k], nodes_ + target[k]};
            for (const std::int32_t line : {source[k], nodes_ + target[k]}) {
                load_[line] += size[k];
                edges_[line].push_back(static_cast<std::int32_t>(k));
            }
        }
        left_ = load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end());
    }

    Pieces run() {
        pieces_.offsets.assign(1, 0);
        while (left_ > 0) {
            should_stop(false);
            std::int64_t low = 1, high = left_;  // a phase of one byte always exists
            while (low < high) {
                const std::int64_t middle = high - (high - low) / 2;
                if (cover(middle)) {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            cover(low);
            extend();
            emit();
        }
        return std::move(pieces_);
    }

private:
    std::int32_t other(std::int32_t edge, std::int32_t line) const {
        return ends_[edge].first == line ? ends_[edge].second : ends_[edge].first;
    }

    // Whether a line that gives edge k its phase of `length_` keeps up: what it still has to do then fits the rest.
    bool keeps_up(std::int32_t line, std::int32_t k) const {
        return rest_[k] >= length_ || length_ <= left_ - load_[line] + rest_[k];
    }
    bool usable(std::int32_t k) const { return keeps_up(ends_[k].first, k) && keeps_up(ends_[k].second, k); }
    bool must(std::int32_t line) const { return load_[line] > left_ - length_; }

    // Matches every line that cannot pause for `length`; false: there is no such matching.
    bool cover(std::int64_t length) {
        length_ = length;
        for (std::int32_t& edge : matched_)
            if (edge >= 0 && (rest_[edge] == 0 || !usable(edge))) edge = -1;
        for (std::size_t line = 0; line < lines_; ++line) {
            if (matched_[line] >= 0 || !must(static_cast<std::int32_t>(line))) continue;
            ++now_;
            if (!augment(static_cast<std::int32_t>(line), true)) return false;
        }
        return true;
    }

    // Matches free lines as long as no other line loses its match.
    void extend() {
        for (std::int32_t line = 0; line < nodes_; ++line) {
            if (matched_[line] >= 0 || load_[line] == 0) continue;
            ++now_;
            augment(line, false);
        }
    }

    // An alternating path from `line` to a free line, or (`take`) to one on its own side that may pause.
    bool augment(std::int32_t line, bool take) {
        for (const std::int32_t edge : edges_[line]) {
            const std::int32_t far = other(edge, line);
            if (stamp_[far] == now_ || !usable(edge)) continue;
            stamp_[far] = now_;
            const std::int32_t held = matched_[far];
            if (held >= 0) {
                const std::int32_t loser = other(held, far);
                if (take && !must(loser)) {
                    matched_[loser] = -1;
                } else if (!augment(loser, take)) {
                    continue;
                }
            }
            matched_[line] = matched_[far] = edge;
            return true;
        }
        return false;
    }

    void emit() {
        for (std::int32_t line = 0; line < nodes_; ++line) {
            const std::int32_t edge = matched_[line];
            if (edge < 0) continue;
            const std::int64_t part = std::min(rest_[edge], length_);
            pieces_.transfer.push_back(edge);
            pieces_.part.push_back(part);
            rest_[edge] -= part;
            for (const std::int32_t end : {ends_[edge].first, ends_[edge].second}) {
                load_[end] -= part;
                if (rest_[edge] == 0) std::erase(edges_[end], edge);
            }
        }
        left_ -= length_;
        pieces_.offsets.push_back(static_cast<std::int64_t>(pieces_.transfer.size()));
    }

    std::int32_t nodes_;
    std::size_t lines_;
    Array<std::int64_t> rest_, load_;
    Array<Array<std::int32_t>> edges_;
    Array<std::int32_t> matched_;
    Array<std::uint32_t> stamp_;
    Array<std::pair<std::int32_t, std::int32_t>> ends_;
    std::uint32_t now_ = 0;
    std::int64_t left_ = 0, length_ = 0;
    Pieces pieces_;
};

}  // namespace

Pieces decompose_birkhoff(std::int32_t nodes, View<const std::int32_t> source, View<const std::int32_t> target,
                          View<const std::int64_t> size) {
    return Decomposer(nodes, source, target, size).run();
}

}  // namespace conset
