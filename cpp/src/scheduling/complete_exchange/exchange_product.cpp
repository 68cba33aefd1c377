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
    Walk(const ProductTables& tables, std::int32_t merge) : tables_(tables), merge_(merge) {
        std::size_t start = 0;
        for (const std::int32_t side : tables.sides) {
            table_.push_back(start);
            start += as_size(tables.variants) * as_size(side) * as_size(side);
            nodes_ *= side;
        }
    }

    Array<std::int32_t> steps() {
        step_.resize(as_size(nodes_ * (nodes_ - 1)));
        const Array<Partial> nothing(as_size(tables_.variants), Partial{0, 0});
        for (; source_ < nodes_; ++source_) axis(0, 0, nothing);
        return std::move(step_);
    }

private:
    void last_axis(std::int32_t prefix, const Array<Partial>& partial) {
        const std::size_t k = tables_.sides.size() - 1;
        const std::int32_t side = tables_.sides[k], stride = tables_.strides[k], x = source_ / stride % side;
        const std::int32_t leading = tables_.stride[cell(k, tables_.variants, 0)];
        for (std::int32_t y = 0; y < side; ++y) {
            const std::int32_t target = prefix + y * stride;
            if (target == source_) continue;
            const std::size_t at = table_[k] + cell(x, side, y);
            const std::int32_t permutation = tables_.permutation[at], label = tables_.label[at];
            const Partial& rest = partial[tables_.variant[permutation]];
            const std::int32_t group = permutation * leading + rest.group, modulus = tables_.modulus[group];
            const std::int32_t sum =
                tables_.slot.empty() ? rest.label + label : tables_.slot[rest.label * tables_.columns + label];
            const std::int32_t slot = (sum + tables_.shift[group]) % modulus;
            step_[source_ * (nodes_ - 1) + target - (target > source_)] =
                tables_.base[group] + (merge_ == 1 ? slot : slot / merge_);
        }
    }

    void axis(std::size_t k, std::int32_t prefix, const Array<Partial>& partial) {
        if (k + 1 == tables_.sides.size()) return last_axis(prefix, partial);
        const std::int32_t side = tables_.sides[k], stride = tables_.strides[k], x = source_ / stride % side;
        Array<Partial> next(partial);
        for (std::int32_t y = 0; y < side; ++y) {
            for (std::int32_t v = 0; v < tables_.variants; ++v) {
                const std::size_t at = table_[k] + cell(cell(v, side, x), side, y);
                const std::int32_t group_stride = tables_.stride[cell(k, tables_.variants, v)];
                next[v] = {partial[v].group + tables_.permutation[at] * group_stride,
                           partial[v].label + tables_.label[at]};
            }
            axis(k + 1, prefix + y * stride, next);
        }
    }

    const ProductTables& tables_;
    std::int32_t merge_;
    Array<std::size_t> table_;  // where each axis's tables start
    std::int32_t source_ = 0;
    std::int64_t nodes_ = 1;
    Array<std::int32_t> step_;
};

}  // namespace

ProductTables::ProductTables(const ExchangeBox& box, View<const std::int32_t> axes, std::int32_t count)
    : variants(count) {
    for (const std::int32_t axis : axes) {
        sides.push_back(box.sides[axis]);
        strides.push_back(box.strides[axis]);
    }
}

void ProductTables::add(View<const std::int32_t> of_pairs, View<const std::int32_t> labels) {
    permutation.insert(permutation.end(), of_pairs.begin(), of_pairs.end());
    label.insert(label.end(), labels.begin(), labels.end());
}

void ProductTables::resize_groups(std::size_t groups) {
    base.resize(groups, 0);
    modulus.resize(groups, 1);
    shift.resize(groups, 0);
}

Array<std::int32_t> product_steps(const ProductTables& tables, std::int32_t merge) {
    return Walk(tables, merge).steps();
}

Phases merge_phases(const ExchangeBox& box, Phases phases, std::int32_t most) {
    const Array<std::int64_t>& offsets = phases.offsets;
    const Array<std::int32_t>& message = phases.message;
    Array<std::int64_t> merged{0};
    Array<std::int32_t> sent(as_size(box.nodes()), -1), received(sent);  // the merged phase of the last one
    std::int32_t held = 0, current = 0;
    for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
        bool fits = held < most;
        for (std::int64_t k = offsets[p]; fits && k < offsets[p + 1]; ++k)
            fits = sent[box.source(message[k])] != current && received[box.target(message[k])] != current;
        if (!fits) {
            merged.push_back(offsets[p]);
            ++current;
            held = 0;
        }
        ++held;
        for (std::int64_t k = offsets[p]; k < offsets[p + 1]; ++k)
            sent[box.source(message[k])] = received[box.target(message[k])] = current;
    }
    if (offsets.size() > 1) merged.push_back(offsets.back());
    phases.offsets = std::move(merged);
    return phases;
}

}  // namespace conset
