#include "conset/network/line_loads.hpp"

namespace conset {

LineLoads::LineLoads(const Network& network) : lines_(network), sums_(lines_), visits_(lines_.nodes(), 0) {}

LineLoads::Largest LineLoads::largest_then_clear(View<const std::int32_t> width) {
    sums_.settle();
    add_arrivals();
    const Largest result{largest_link(width), *std::max_element(visits_.begin(), visits_.end())};
    sums_.clear();
    std::fill(visits_.begin(), visits_.end(), 0);
    return result;
}

std::int32_t LineLoads::largest_link(View<const std::int32_t> width) const {
    const Array<std::int32_t>& cells = sums_.cells();
    const auto per = [](std::int32_t count, std::int32_t w) { return (count + w - 1) / w; };
    if (width.size() == 1) return per(*std::max_element(cells.begin(), cells.end()), width[0]);
    std::int32_t most = 0;
    for (std::size_t slot = 0; slot < width.size(); ++slot)
        most = std::max(most, per(cells[lines_.cell(static_cast<std::int32_t>(slot))], width[slot]));
    return most;
}

// A link up leads to the next row of its block, one down to the row before; the first and the last row are neighbours
// where lines are closed, and the links between them are idle where they are not.
void LineLoads::add_arrivals() {
    lines_.each_block([&](std::size_t plane, std::size_t begin, std::size_t rows, std::size_t stride) {
        const std::int32_t* from = sums_.cells().data() + begin;
        std::int32_t* to = visits_.data() + (begin - plane * lines_.nodes());
        const std::size_t last = (rows - 1) * stride;
        if (plane % 2 == 0) {
            for (std::size_t c = 0; c < last; ++c) to[c + stride] += from[c];
            for (std::size_t c = 0; c < stride; ++c) to[c] += from[last + c];
        } else {
            for (std::size_t c = 0; c < last; ++c) to[c] += from[c + stride];
            for (std::size_t c = 0; c < stride; ++c) to[last + c] += from[c];
        }
    });
}

Totals count_line_totals(const Routes& routes, View<const std::int64_t> size) {
    const BoxLines lines(routes.network);
    LineSums<std::int64_t> messages(lines), bytes(lines);
    for (std::size_t k = 0; k < routes.size(); ++k) messages.add(routes.source[k], routes.target[k], 1);
    messages.settle();
    if (size.size() > 1) {
        for (std::size_t k = 0; k < routes.size(); ++k) bytes.add(routes.source[k], routes.target[k], size[k]);
        bytes.settle();
    }
    const std::int32_t slots = routes.network.link_slots();
    Totals totals{Array<std::int64_t>(as_size(slots)), Array<std::int64_t>(as_size(slots))};
    for (std::int32_t slot = 0; slot < slots; ++slot) {
        const std::size_t c = lines.cell(slot);
        totals.messages[slot] = messages.cells()[c];
        totals.bytes[slot] = size.size() > 1 ? bytes.cells()[c] : messages.cells()[c] * size[0];
    }
    return totals;
}

}  // namespace conset
