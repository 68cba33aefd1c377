#include "conset/runtime/machine_costs.hpp"

namespace conset {

CostSteps operator+(const CostSteps& one, const CostSteps& other) {
    CostSteps sum{one.up_to, {}};
    sum.up_to.insert(sum.up_to.end(), other.up_to.begin(), other.up_to.end());
    std::sort(sum.up_to.begin(), sum.up_to.end());
    sum.up_to.erase(std::unique(sum.up_to.begin(), sum.up_to.end()), sum.up_to.end());
    for (const double size : sum.up_to) sum.seconds.push_back(one.at(size) + other.at(size));
    return sum;
}

CostSteps MachineCosts::requests() const {
    if (eager < 0 || signal == 0) return {};
    return {{eager, kUnlimited}, {0.0, 2 * signal}};
}

}  // namespace conset
