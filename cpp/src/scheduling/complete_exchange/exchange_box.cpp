#include "conset/scheduling/complete_exchange/exchange_box.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace conset {

ExchangeBox::ExchangeBox(Network box, std::int64_t most)
    : network(std::move(box)),
      sides(network.sides()),
      strides(network.strides()),
      contention(static_cast<std::int32_t>(std::min<std::int64_t>(most, std::max(network.nodes(), 1)))) {
    if (!network.is_box() || most < 1 || network.nodes() > 46'340)
        throw std::invalid_argument("exchange box: a mesh or torus of at most 46340 nodes, contention from 1 on");
    for (std::int32_t axis = 0; as_size(axis) < sides.size(); ++axis)
        if (sides[axis] > 1) axes.push_back(axis);
    if (axes.empty()) axes.push_back(static_cast<std::int32_t>(sides.size()) - 1);
    std::int64_t least = nodes() - 1;
    for (const std::int32_t axis : axes)
        if (nodes() > 1) least = std::max(least, ceil_divide(link_load(axis), contention));
    bound = static_cast<std::int32_t>(std::min<std::int64_t>(least, std::numeric_limits<std::int32_t>::max()));
}

bool ExchangeBox::is_mesh() const {
    return std::none_of(axes.begin(), axes.end(), [&](std::int32_t axis) { return cycle(axis); });
}

bool ExchangeBox::is_torus() const {
    return std::all_of(sides.begin(), sides.end(), [&](std::int32_t side) { return network.wraps() || side <= 2; });
}

bool ExchangeBox::is_cube() const {
    return std::adjacent_find(sides.begin(), sides.end(), std::not_equal_to<>()) == sides.end();
}

bool ExchangeBox::has_ties() const {
    return std::any_of(axes.begin(), axes.end(),
                       [&](std::int32_t axis) { return cycle(axis) && sides[axis] % 2 == 0; });
}

std::int64_t ExchangeBox::link_load(std::int32_t axis) const {
    const std::int64_t side = sides[axis], half = side / 2, lines = nodes() / side;
    if (!cycle(axis)) return lines * half * (side - half);
    if (side % 2 == 1) return lines * half * (half + 1) / 2;
    if (network.tie() == Tie::plus) return lines * (half * (half + 1) / 2);
    return network.tie() == Tie::parity ? lines * ((half * half + 1) / 2) : (lines * half * half + 1) / 2;
}

}  // namespace conset
