#include "conset/network/loads.hpp"

#include <optional>

#include "conset/network/line_loads.hpp"

namespace conset {

namespace {

// Counts keyed by node or link that are cleared by what was touched, not by their length.
class Tally {
public:
    explicit Tally(std::size_t keys) : count_(keys, 0) {}

    void add(std::int32_t key) {
        if (count_[key]++ == 0) touched_.push_back(key);
    }

    template <class Load>  // load(key, count)
    std::int32_t largest_then_clear(Load&& load) {
        std::int32_t most = 0;
        for (std::int32_t key : touched_) {
            most = std::max(most, load(key, count_[key]));
            count_[key] = 0;
        }
        touched_.clear();
        return most;
    }

private:
    Array<std::int32_t> count_, touched_;
};

}  // namespace

Loads count_loads(const Routes& routes, View<const std::int64_t> phase_offsets, View<const std::int32_t> width) {
    const std::size_t nodes = static_cast<std::size_t>(routes.network.nodes());
    Tally send(nodes), receive(nodes), channels(nodes), link(static_cast<std::size_t>(routes.network.link_slots()));
    const auto plain = [](std::int32_t, std::int32_t count) { return count; };
    const auto per_width = [&](std::int32_t key, std::int32_t count) {
        const std::int32_t w = width.size() == 1 ? width[0] : width[key];
        return count / w + (count % w != 0 ? 1 : 0);  // any width is allowed
    };
    std::optional<LineLoads> lines;
    Loads loads;
    for (std::size_t p = 0; p + 1 < phase_offsets.size(); ++p) {
        const bool by_line = BoxLines::pay(routes, static_cast<std::size_t>(phase_offsets[p + 1] - phase_offsets[p]));
        if (by_line && !lines) lines.emplace(routes.network);
        for (auto k = static_cast<std::size_t>(phase_offsets[p]); k < static_cast<std::size_t>(phase_offsets[p + 1]);
             ++k) {
            if (!routes.leaves(k)) continue;
            send.add(routes.source[k]);
            receive.add(routes.target[k]);
            if (by_line && lines) {
                lines->add(routes.source[k], routes.target[k]);
                continue;
            }
            routes.each_link(k, [&](std::int32_t l) { link.add(l); });
            routes.each_node(k, [&](std::int32_t v) { channels.add(v); });
        }
        loads.send.push_back(send.largest_then_clear(plain));
        loads.receive.push_back(receive.largest_then_clear(plain));
        if (by_line && lines) {
            const LineLoads::Largest largest = lines->largest_then_clear(width);
            loads.link.push_back(largest.link);
            loads.channels.push_back(largest.channels);
            continue;
        }
        loads.link.push_back(link.largest_then_clear(per_width));
        loads.channels.push_back(channels.largest_then_clear(plain));
    }
    return loads;
}

}  // namespace conset
