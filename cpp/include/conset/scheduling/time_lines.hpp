// Time lines: what each transfer holds from its start to its end: the ports of its ends and a unit of every link.
#pragma once

#include <algorithm>
#include <cstdint>

#include "conset/array.hpp"
#include "conset/network/routes.hpp"

namespace conset {

class TimeLines {
public:
    // `width[link]` for every link slot, or a single entry. `serial`: a node has one line for what it sends and
    // receives. Lines that can never be full have no number.
    TimeLines(const Routes& routes, View<const std::int32_t> width, bool serial)
        : nodes_(routes.network.nodes()), in_(serial ? 0 : nodes_), offsets_(routes.size() + 1, 0) {
        Array<std::int32_t> load(as_size(2 * nodes_ + routes.network.link_slots()), 0);
        for (std::size_t k = 0; k < routes.size(); ++k) each(routes, k, [&](std::int32_t line) { ++load[line]; });
        Array<std::int32_t> number(load.size(), -1);
        const auto lines = static_cast<std::int32_t>(load.size());
        for (std::int32_t line = 0; line < lines; ++line) {
            const bool port = line < 2 * nodes_;
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
    View<const std::int32_t> of(std::integral auto k) const {
        return {held_.data() + offsets_[k], held_.data() + offsets_[k + 1]};
    }

private:
    template <class Visit>
    void each(const Routes& routes, std::integral auto k, Visit&& visit) const {
        if (!routes.leaves(k)) return;
        visit(routes.source[k]);
        visit(in_ + routes.target[k]);
        routes.each_link(k, [&](std::int32_t link) { visit(2 * nodes_ + link); });
    }

    std::int32_t nodes_, in_;
    Array<std::int32_t> room_, held_;
    Array<std::int64_t> offsets_;
};

// Start and end of every transfer, counted from the start of its phase.
struct Timetable {
    Array<double> start, end;
};

}  // namespace conset
