// Product: a complete exchange on any mesh or torus, from one family per side.
//
// Problem: phases of a complete exchange in which no link carries more than c messages and no node sends or receives
// twice.
// Idea: choose one permutation on each side. Their product moves every node once; the messages whose labels add to s
// modulo T, the largest load among the permutations, form step s of T: in any line of links the arcs of the other sides
// are fixed, so one label's arcs remain, which share no link. Over all products every ordered pair occurs once. Merging
// c steps of a product gives contention c with one send and one receive still: ceil(T/c) phases. The side with the
// largest total load leads: for each of its permutations the others may choose the cheaper of their families.
// Windows: products are walked forth and back (reflected order) over the factors, and the sum of labels is turned back
// by one for each step back; then on equal sides divisible by 4, consecutive steps can be merged across products too.
// Guarantee: mesh, all sides 4m: n^{d+1}/4c where c divides m, the bisection bound; torus, all sides 8k: n^{d+1}/8c
// where c divides k. Mesh R x C, R < C: exact at c = 1 unless a side is 3 mod 4 or R is close to C. Other sides and
// dimensions: any, without a guarantee.
// Complexity: O(messages) and O(products).
// When not to use it: squares of side 4m have a closed form, 4m+2 a better packing, tori of two dimensions a denser
// one.
// Reference: the product of two paths of 4m nodes is Scott's schedule as Bokhari and Nicol (1997) use it; the rest is
// new.
#include <algorithm>
#include <utility>

#include "conset/scheduling/complete_exchange/exchange_constructions.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"
#include "conset/scheduling/first_fit.hpp"

namespace conset {

namespace {

// How many products of one permutation of each family have each largest load.
Array<std::int64_t> count_by_load(const Array<const Family*>& families) {
    std::int32_t most = 0;
    for (const Family* family : families)
        most = std::max(most, *std::max_element(family->load.begin(), family->load.end()));
    Array<std::int64_t> products(as_size(most) + 1, 1);
    for (const Family* family : families) {
        Array<std::int64_t> below(products.size(), 0);  // permutations of at most this load
        for (const std::int32_t load : family->load) ++below[load];
        for (std::size_t load = 1; load < below.size(); ++load) below[load] += below[load - 1];
        for (std::size_t load = 0; load < below.size(); ++load) products[load] *= below[load];
    }
    for (std::size_t load = products.size(); load-- > 1;) products[load] -= products[load - 1];
    return products;
}

// Phases of the products with one leading permutation of this load.
std::int64_t cost_of(const Array<std::int64_t>& products, std::int32_t lead, std::int32_t contention) {
    std::int64_t cost = 0;
    for (std::int32_t load = 0; as_size(load) < products.size(); ++load)
        cost += ceil_divide(std::max(load, lead), contention) * products[load];
    return cost;
}

Array<const Family*> of_variant(const ProductPlan& plan, std::int32_t variant) {
    Array<const Family*> families;
    for (const auto& axis : plan.families) families.push_back(axis[variant]);
    return families;
}

// Where the permutations of each factor start, and their end.
Array<std::int32_t> starts_of_factors(const Family& family) {
    Array<std::int32_t> starts;
    for (std::int32_t p = 0; p < family.count(); ++p)
        if (p == 0 || family.factor[p] != family.factor[p - 1]) starts.push_back(p);
    starts.push_back(family.count());
    return starts;
}

// Gives every product its steps: factors in reflected order, types inside.
class ProductWalk {
public:
    ProductWalk(const ProductPlan& plan, ProductTables& tables, std::int32_t merge)
        : plan_(plan), tables_(tables), merge_(merge) {}

    void run() {
        const Array<std::int32_t> starts = starts_of_factors(*plan_.lead);
        bool forth = true;
        for (std::size_t f = 0; f + 1 < starts.size(); ++f)
            for (std::int32_t v = 0; v < plan_.variants; ++v) {
                leading_.clear();  // of one factor; apart where its permutations choose variants
                for (std::int32_t p = starts[f]; p < starts[f + 1]; ++p)
                    if (plan_.variant[p] == v) leading_.push_back(p);
                if (leading_.empty()) continue;
                walk_others(v, forth);
                forth = !forth;
            }
    }

private:
    void walk_others(std::int32_t variant, bool forth) {
        variant_ = variant;
        families_ = of_variant(plan_, variant);
        Array<Array<std::int32_t>> starts;
        Array<std::int32_t> counts;
        std::int64_t all = 1;
        for (const Family* family : families_) {
            starts.push_back(starts_of_factors(*family));
            counts.push_back(static_cast<std::int32_t>(starts.back().size()) - 1);
            all *= counts.back();
        }
        std::int32_t before = 0;
        for (std::int64_t n = 0; n < all; ++n) {
            const Array<std::int32_t> index = reflected_tuple(counts, forth ? n : all - 1 - n);
            std::int32_t sum = 0;
            ranges_.clear();
            for (std::size_t k = 0; k < index.size(); ++k) {
                sum += index[k];
                ranges_.emplace_back(starts[k][index[k]], starts[k][index[k] + 1]);
            }
            if (n > 0 && sum < before) ++back_;
            before = sum;
            walk_types(0, 0, 0);
        }
    }

    void walk_types(std::size_t axis, std::int32_t group, std::int32_t load) {
        if (axis < ranges_.size()) {
            const std::int32_t stride = tables_.stride[cell(axis, plan_.variants, variant_)];
            for (std::int32_t p = ranges_[axis].first; p < ranges_[axis].second; ++p)
                walk_types(axis + 1, group + p * stride, std::max(load, families_[axis]->load[p]));
            return;
        }
        const std::int32_t stride = tables_.stride[cell(axis, plan_.variants, variant_)];
        for (const std::int32_t p : leading_) {
            const std::int32_t at = group + p * stride, slots = std::max(load, plan_.lead->load[p]);
            tables_.base[at] = next_;
            tables_.modulus[at] = std::max(slots, 1);
            tables_.shift[at] = modulo(-back_, tables_.modulus[at]);
            next_ += static_cast<std::int32_t>(ceil_divide(slots, merge_));
        }
    }

    const ProductPlan& plan_;
    ProductTables& tables_;
    std::int32_t merge_, variant_ = 0, back_ = 0, next_ = 0;
    Array<const Family*> families_;
    Array<std::int32_t> leading_;
    Array<std::pair<std::int32_t, std::int32_t>> ranges_;
};

// The step of every message of the cheapest plan; products with the identity of the leading side come last, and where
// there are any their first step is given to `leftovers`.
Array<std::int32_t> plain_steps(const ExchangeBox& box, std::int32_t contention, Families& families,
                                std::int64_t& leftovers) {
    const ProductPlan plan = cheapest_plan(box, contention, families);
    const bool all = plan.axes.size() == 1 || plan.lead->load.back() > 0;
    const Array<std::int64_t> products = count_by_load(of_variant(plan, plan.variant.back()));
    leftovers = all ? -1 : plan.cost - cost_of(products, 0, contention);
    return steps_of_plan(plan, box, contention);
}

}  // namespace

ProductPlan cheapest_plan(const ExchangeBox& box, std::int32_t contention, Families& families) {
    ProductPlan best;
    for (auto lead = box.axes.rbegin(); lead != box.axes.rend(); ++lead)
        for (const Family& family : families.of(box.sides[*lead], box.cycle(*lead))) {
            ProductPlan plan{box.axes, 1, {}, &family, {}, 0};
            std::erase(plan.axes, *lead);
            for (const std::int32_t axis : plan.axes) {
                Array<const Family*> options;
                for (const Family& option : families.of(box.sides[axis], box.cycle(axis))) options.push_back(&option);
                plan.variants = std::max(plan.variants, static_cast<std::int32_t>(options.size()));
                plan.families.push_back(std::move(options));
            }
            for (auto& options : plan.families) options.resize(as_size(plan.variants), options.back());
            plan.axes.push_back(*lead);
            Array<Array<std::int64_t>> products;
            for (std::int32_t v = 0; v < plan.variants; ++v) products.push_back(count_by_load(of_variant(plan, v)));
            for (const std::int32_t load : family.load) {
                std::int32_t chosen = 0;
                for (std::int32_t v = 1; v < plan.variants; ++v)
                    if (cost_of(products[v], load, contention) < cost_of(products[chosen], load, contention))
                        chosen = v;
                plan.variant.push_back(chosen);
                plan.cost += cost_of(products[chosen], load, contention);
            }
            if (best.lead == nullptr || plan.cost < best.cost) best = std::move(plan);
        }
    return best;
}

Array<std::int32_t> steps_of_plan(const ProductPlan& plan, const ExchangeBox& box, std::int32_t merge) {
    ProductTables tables(box, plan.axes, plan.variants);
    std::int32_t per_lead = 1;
    tables.stride.resize(plan.axes.size() * as_size(plan.variants));
    for (std::int32_t v = 0; v < plan.variants; ++v) {
        std::int32_t products = 1;
        for (std::size_t k = plan.families.size(); k-- > 0;) {
            tables.stride[cell(k, plan.variants, v)] = products;
            products *= plan.families[k][v]->count();
        }
        per_lead = std::max(per_lead, products);
    }
    for (std::int32_t v = 0; v < plan.variants; ++v)
        tables.stride[cell(plan.families.size(), plan.variants, v)] = per_lead;
    for (const auto& axis : plan.families)
        for (const Family* family : axis) tables.add(family->permutation, family->label);
    tables.add(plan.lead->permutation, plan.lead->label);
    tables.variant = plan.variant;
    tables.resize_groups(as_size(per_lead) * as_size(plan.lead->count()));
    ProductWalk(plan, tables, merge).run();
    return product_steps(tables, merge);
}

Array<std::int32_t> reflected_tuple(View<const std::int32_t> counts, std::int64_t n) {
    Array<std::int32_t> index;
    std::int64_t tail = 1;
    for (const std::int32_t count : counts) tail *= count;
    for (const std::int32_t count : counts) {
        tail /= count;
        index.push_back(static_cast<std::int32_t>(n / tail));
        n = index.back() % 2 == 0 ? n % tail : tail - 1 - n % tail;
    }
    return index;
}

// Consecutive steps merged where that is better than merging each product.
Phases schedule_product(const ExchangeBox& box, Families& families) {
    std::int64_t leftovers = -1;
    Array<std::int32_t> step = plain_steps(box, box.contention, families, leftovers);
    if (leftovers >= 0) step = absorb_leftovers(box, std::move(step), static_cast<std::int32_t>(leftovers));
    Phases merged = group_phases(step);
    if (box.contention == 1 || merged.count() <= box.bound) return merged;
    Phases cut = merge_steps(box, plain_steps(box, 1, families, leftovers));
    return cut.count() < merged.count() ? cut : merged;
}

Phases merge_steps(const ExchangeBox& box, View<const std::int32_t> step) {
    return merge_phases(box, group_phases(step), box.contention);
}

Array<std::int32_t> absorb_leftovers(const ExchangeBox& box, Array<std::int32_t> step, std::int32_t first) {
    constexpr std::int32_t most_messages = 2'000'000;
    if (box.messages() > most_messages || first > steps_in(step)) return step;
    for (std::int32_t& entry : step)
        if (entry >= first) entry = -1;
    return first_fit_around(ExchangeResources(box).resources, step);
}

}  // namespace conset
