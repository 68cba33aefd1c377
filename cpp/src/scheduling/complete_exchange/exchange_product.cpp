#include "conset/scheduling/complete_exchange/exchange_product.hpp"

#include <utility>

namespace conset {

namespace {

// What the axes before the last one contribute, for each variant.
struct Partial {
    std::int32_t group, label;
};

class Walk {
public:
    Walk(const ProductAxes& axes, const ProductGroups& groups, const ProductSlots& slots, std::int32_t merge)
        : axes_(axes), groups_(groups), slots_(slots), merge_(merge) {
        std::size_t start = 0;
        for (const std::int32_t side : axes.sides) {
            table_.push_back(start);
            start += as_size(axes.variants) * as_size(side) * as_size(side);
            nodes_ *= side;
        }
    }

    Array<std::int32_t> steps() {
        step_.resize(as_size(nodes_ * (nodes_ - 1)));
        const Array<Partial> nothing(as_size(axes_.variants), Partial{0, 0});
        for (; source_ < nodes_; ++source_) axis(0, 0, nothing);
        return std::move(step_);
    }

private:
    void last_axis(std::int32_t prefix, const Array<Partial>& partial) {
        const std::size_t k = axes_.sides.size() - 1;
        const std::int32_t side = axes_.sides[k], stride = axes_.strides[k], x = source_ / stride % side;
        const std::int32_t leading = groups_.stride[cell(k, axes_.variants, 0)];
        for (std::int32_t y = 0; y < side; ++y) {
            const std::int32_t target = prefix + y * stride;
            if (target == source_) continue;
            const std::size_t at = table_[k] + cell(x, side, y);
            const std::int32_t permutation = axes_.permutation[at], label = axes_.label[at];
            const Partial& rest = partial[groups_.variant[permutation]];
            const std::int32_t group = permutation * leading + rest.group, modulus = groups_.modulus[group];
            const std::int32_t sum =
                slots_.slot.empty() ? rest.label + label : slots_.slot[rest.label * slots_.columns + label];
            const std::int32_t slot = (sum + groups_.shift[group]) % modulus;
            step_[source_ * (nodes_ - 1) + target - (target > source_)] =
                groups_.base[group] + (merge_ == 1 ? slot : slot / merge_);
        }
    }

    void axis(std::size_t k, std::int32_t prefix, const Array<Partial>& partial) {
        if (k + 1 == axes_.sides.size()) return last_axis(prefix, partial);
        const std::int32_t side = axes_.sides[k], stride = axes_.strides[k], x = source_ / stride % side;
        Array<Partial> next(partial);
        for (std::int32_t y = 0; y < side; ++y) {
            for (std::int32_t v = 0; v < axes_.variants; ++v) {
                const std::size_t at = table_[k] + cell(cell(v, side, x), side, y);
                const std::int32_t group_stride = groups_.stride[cell(k, axes_.variants, v)];
                next[v] = {partial[v].group + axes_.permutation[at] * group_stride, partial[v].label + axes_.label[at]};
            }
            axis(k + 1, prefix + y * stride, next);
        }
    }

    const ProductAxes& axes_;
    const ProductGroups& groups_;
    const ProductSlots& slots_;
    std::int32_t merge_;
    Array<std::size_t> table_;  // where each axis's tables start
    std::int32_t source_ = 0;
    std::int64_t nodes_ = 1;
    Array<std::int32_t> step_;
};

}  // namespace

Array<std::int32_t> product_steps(const ProductAxes& axes, const ProductGroups& groups, const ProductSlots& slots,
                                  std::int32_t merge) {
    return Walk(axes, groups, slots, merge).steps();
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
