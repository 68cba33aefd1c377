#include "conset/network/box_lines.hpp"

namespace conset {

BoxLines::BoxLines(const Network& network)
    : network_(network),
      nodes_(as_size(network.nodes())),
      sides_(network.sides()),
      strides_(network.strides()),
      at_(sides_.size() * nodes_) {
    for (std::size_t k = 0; k < sides_.size(); ++k)
        for (std::int32_t v = 0; v < network.nodes(); ++v)
            at_[conset::cell(k, nodes_, v)] = v / strides_[k] % sides_[k];
}

bool BoxLines::pay(const Routes& routes, std::size_t count) {
    if (!routes.network.is_box() || !routes.offsets.empty()) return false;
    double hops = 0;  // of a route between nodes drawn at random, a third of every side of a mesh
    for (const std::int32_t side : routes.network.sides()) hops += side / 3.0;
    return static_cast<double>(count) * hops > 2.0 * routes.network.link_slots();
}

bool LineLeast::pay(const Routes& routes, std::size_t count) {
    if (!BoxLines::pay(routes, count)) return false;
    const auto& sides = routes.network.sides();
    const auto longest = static_cast<std::uint32_t>(*std::max_element(sides.begin(), sides.end()));
    return as_size(std::bit_width(longest)) * as_size(routes.network.link_slots()) <= count;
}

LineLeast::LineLeast(const BoxLines& lines) : lines_(lines) {
    lines.each_block([&](std::size_t, std::size_t, std::size_t rows, std::size_t) {
        levels_ = std::max(levels_, as_size(std::bit_width(rows)));
    });
    pair_.resize(levels_ * lines.cells());
}

View<const LineLeast::Pair> LineLeast::settle() {
    for (std::size_t level = levels_; level-- > 1;) {
        const std::size_t half = std::size_t{1} << (level - 1);
        const Pair* wide = pair_.data() + level * lines_.cells();
        Pair* narrow = pair_.data() + (level - 1) * lines_.cells();
        lines_.each_block([&](std::size_t, std::size_t begin, std::size_t rows, std::size_t stride) {
            if (rows < 2 * half) return;
            for (std::size_t c = begin; c < begin + (rows - 2 * half + 1) * stride; ++c) {
                narrow[c].least(wide[c]);
                narrow[c + half * stride].least(wide[c]);
            }
        });
    }
    return View<const Pair>(pair_).first(lines_.cells());
}

}  // namespace conset
