#include "conset/scheduling/complete_exchange/exchange_product.hpp"

namespace conset {

namespace {

// What the axes before the last one contribute, for each variant.
struct Partial {
    std::int32_t group, label;
};

struct Walk {
    const ExchangeProduct& product;
    Array<std::size_t> table;  // where each axis's tables start
    std::int32_t source = 0;
    std::int64_t nodes = 1;
    Array<std::int32_t>& step;

    std::size_t axes() const { return product.sides.size(); }

    void last_axis(std::int32_t prefix, const Array<Partial>& partial) const {
        const std::size_t k = axes() - 1;
        const std::int32_t side = product.sides[k], stride = product.strides[k], x = source / stride % side;
        const std::int32_t leading = product.group_stride[cell(k, product.variants, 0)];
        for (std::int32_t y = 0; y < side; ++y) {
            const std::int32_t target = prefix + y * stride;
            if (target == source) continue;
            const std::size_t at = table[k] + cell(x, side, y);
            const std::int32_t permutation = product.permutation[at], label = product.label[at];
            const Partial& rest = partial[product.variant[permutation]];
            const std::int32_t group = permutation * leading + rest.group, modulus = product.modulus[group];
            const std::int32_t sum =
                product.cells.empty() ? rest.label + label : product.cells[rest.label * product.cell_columns + label];
            const std::int32_t slot = (sum + product.shift[group]) % modulus;
            step[static_cast<std::size_t>(source * (nodes - 1) + target - (target > source))] =
                product.base[group] + (product.merge == 1 ? slot : slot / product.merge);
        }
    }

    void axis(std::size_t k, std::int32_t prefix, const Array<Partial>& partial) const {
        if (k + 1 == axes()) return last_axis(prefix, partial);
        const std::int32_t side = product.sides[k], stride = product.strides[k], x = source / stride % side;
        Array<Partial> next(partial);
        for (std::int32_t y = 0; y < side; ++y) {
            for (std::int32_t v = 0; v < product.variants; ++v) {
                const std::size_t at = table[k] + cell(cell(v, side, x), side, y);
                const std::int32_t group_stride = product.group_stride[cell(k, product.variants, v)];
                next[v] = {partial[v].group + product.permutation[at] * group_stride,
                           partial[v].label + product.label[at]};
            }
            axis(k + 1, prefix + y * stride, next);
        }
    }
};

}  // namespace

Array<std::int32_t> product_steps(const ExchangeProduct& product) {
    Array<std::int32_t> step;
    Walk walk{product, {}, 0, 1, step};
    std::size_t start = 0;
    for (std::int32_t side : product.sides) {
        walk.table.push_back(start);
        start += as_size(product.variants) * as_size(side) * as_size(side);
        walk.nodes *= side;
    }
    step.resize(static_cast<std::size_t>(walk.nodes * (walk.nodes - 1)));
    const Array<Partial> nothing(static_cast<std::size_t>(product.variants), Partial{0, 0});
    for (; walk.source < walk.nodes; ++walk.source) walk.axis(0, 0, nothing);
    return step;
}

Array<std::int64_t> merge_phases(std::int32_t nodes, View<const std::int64_t> offsets, View<const std::int32_t> message,
                                 std::int32_t most) {
    Array<std::int64_t> merged{0};
    Array<std::int32_t> sent(static_cast<std::size_t>(nodes), -1),
        received(sent);  // the merged phase of the last one
    std::int32_t held = 0, current = 0;
    for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
        bool fits = held < most;
        for (std::int64_t k = offsets[p]; fits && k < offsets[p + 1]; ++k) {
            const std::int32_t s = message[k] / (nodes - 1), rest = message[k] % (nodes - 1), t = rest + (rest >= s);
            fits = sent[s] != current && received[t] != current;
        }
        if (!fits) {
            merged.push_back(offsets[p]);
            ++current;
            held = 0;
        }
        ++held;
        for (std::int64_t k = offsets[p]; k < offsets[p + 1]; ++k) {
            const std::int32_t s = message[k] / (nodes - 1), rest = message[k] % (nodes - 1);
            sent[s] = received[rest + (rest >= s)] = current;
        }
    }
    if (offsets.size() > 1) merged.push_back(offsets.back());
    return merged;
}

}  // namespace conset
