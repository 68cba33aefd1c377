// Time lines: what each transfer holds from its start to its end: the ports of its ends and a unit of every link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "conset/network/routes.hpp"

namespace conset {

class TimeLines {
public:
    // `width[link]` for every link slot, or a single entry. `serial`: a node has one line for what it sends and
    // receives. Lines that can never be full have no number.
    TimeLines(const Routes& routes, std::span<const std::int32_t> width, bool serial)
        : nodes_(routes.network.nodes()), in_(serial ? 0 : nodes_), offsets_(routes.size() + 1, 0) {
        std::vector<std::int32_t> load(static_cast<std::size_t>(2 * nodes_) + routes.network.link_slots(), 0);
        for (std::size_t k = 0; k < routes.size(); ++k) each(routes, k, [&](std::int32_t line) { ++load[line]; });
        std::vector<std::int32_t> number(load.size(), -1);
        for (std::size_t line = 0; line < load.size(); ++line) {
            const bool port = line < static_cast<std::size_t>(2 * nodes_);
            const std::int32_t room = port ? 1 : width[width.size() == 1 ? 0 : line - 2 * nodes_];
            if (load[line] <= room) continue;
            number[line] = count();
            room_.push_back(room);
        }
        for (std::size_t k = 0; k < routes.size(); ++k) {
            each(routes, k, [&](std::int32_t line) {
                if (number[line] >= 0) held_.push_back(number[line]);
            });
            offsets_[k + 1] = static_cast<std::int64_t>(held_.size());
        }
    }

    std::int32_t count() const { return static_cast<std::int32_t>(room_.size()); }
    std::size_t size() const { return offsets_.size() - 1; }

    // How many transfers may hold it at once.
    std::int32_t room(std::int32_t line) const { return room_[line]; }

    // The lines transfer k holds, each once.
    std::span<const std::int32_t> of(std::size_t k) const {
        return {held_.data() + offsets_[k], held_.data() + offsets_[k + 1]};
    }

private:
    template <class Visit>
    void each(const Routes& routes, std::size_t k, Visit&& visit) const {
        if (!routes.leaves(k)) return;
        visit(routes.source[k]);
        visit(in_ + routes.target[k]);
        routes.each_link(k, [&](std::int32_t link) { visit(2 * nodes_ + link); });
    }

    std::int32_t nodes_, in_;
    std::vector<std::int32_t> room_, held_;
    std::vector<std::int64_t> offsets_;
};

// Start and end of every transfer, counted from the start of its phase.
struct Timetable {
    std::vector<double> start, end;
};

}  // namespace conset
