#include "conset/scheduling/demand_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace conset {

namespace {

constexpr double rounding = 1 + 1e-9;  // a share of exactly what is demanded is enough
constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

DemandLedger::DemandLedger(const RouterDemands& demands, std::int32_t phases, std::int32_t nodes)
    : demands_(demands), nodes_(nodes) {
    if (empty()) return;
    rate_.insert(rate_.end(), demands.send.begin(), demands.send.end());
    rate_.insert(rate_.end(), demands.receive.begin(), demands.receive.end());
    rate_.insert(rate_.end(), demands.node.begin(), demands.node.end());
    rate_.insert(rate_.end(), demands.link.begin(), demands.link.end());
    shared_ = std::any_of(demands.node.begin(), demands.node.end(), [](double rate) { return rate < infinite; });
    turn_.resize(rate_.size());
    hop_.assign(rate_.size(), 0);
    for (std::size_t row = 0; row < rate_.size(); ++row) turn_[row] = demands.flit / rate_[row];
    std::fill(hop_.begin() + 3 * static_cast<std::ptrdiff_t>(nodes), hop_.end(), demands.hop);
    least_step_ = infinite;
    for (std::size_t row = 3 * static_cast<std::size_t>(nodes); row < turn_.size(); ++row)
        least_step_ = std::min(least_step_, hop_[row] + turn_[row]);
    if (least_step_ == infinite) least_step_ = 0;
    const std::size_t places = static_cast<std::size_t>(phases) * rate_.size(), count = demands.bandwidth.size();
    use_.assign(places, 0);
    widest_.assign(places, 0);
    const auto bound = [&](double latency) { return latency < infinite; };
    if (std::none_of(demands.latency.begin(), demands.latency.end(), bound)) return;
    spare_least_.assign(places, infinite);
    users_.resize(places);
    spare_.assign(count, infinite);
    added_.assign(count, 0);
    places_.resize(count);
}

bool DemandLedger::bounded(std::int32_t i) const { return !spare_.empty() && demands_.latency[i] < infinite; }

bool DemandLedger::has_room(std::size_t place, std::int32_t i) const {
    const std::size_t row = place % rate_.size();
    const double bandwidth = std::max(widest_[place], demands_.bandwidth[i]);
    if (!(bandwidth * (use_[place] + 1) <= rate_[row] * rounding)) return false;
    return spare_.empty() || turn_[row] <= spare_least_[place];
}

Array<std::size_t> DemandLedger::ports(std::int32_t phase, std::int32_t from, std::int32_t to) const {
    Array<std::size_t> places{place(phase, from), place(phase, nodes_ + to)};
    if (shared_)
        for (const std::int32_t node : {from, to}) places.push_back(place(phase, 2 * nodes_ + node));
    return places;
}

double DemandLedger::delay_at_ports(std::int32_t phase, std::int32_t from, std::int32_t to) const {
    double out = delay(place(phase, from)), in = delay(place(phase, nodes_ + to));
    if (shared_) {
        out = std::max(out, delay(place(phase, 2 * nodes_ + from)));
        in = std::max(in, delay(place(phase, 2 * nodes_ + to)));
    }
    return out + in;
}

double DemandLedger::delay(std::size_t place) const {
    const std::size_t row = place % rate_.size();
    return hop_[row] + turn_[row] * (use_[place] + 1);
}

bool DemandLedger::fits(View<const std::size_t> places, std::int32_t i, double latency) {
    if (spare_.empty()) return true;
    if (bounded(i) && !(latency <= demands_.latency[i] * rounding)) return false;
    bool kept = true;
    // Who waits at a port and for the rate of its node is charged both, though only one of them can be the longer.
    for (const std::size_t place : places)
        for (const std::int32_t j : users_[place]) {
            if (added_[j] == 0) touched_.push_back(j);
            added_[j] += turn_[place % rate_.size()];
            kept = kept && added_[j] <= spare_[j];
        }
    for (const std::int32_t j : touched_) added_[j] = 0;
    touched_.clear();
    return kept;
}

void DemandLedger::enter(Array<std::size_t> places, std::int32_t i, double latency) {
    if (empty()) return;
    for (const std::size_t place : places) {
        ++use_[place];
        widest_[place] = std::max(widest_[place], demands_.bandwidth[i]);
    }
    if (spare_.empty()) return;
    for (const std::size_t place : places)
        for (const std::int32_t j : users_[place]) {
            spare_[j] -= turn_[place % rate_.size()];
            for (const std::size_t other : places_[j]) spare_least_[other] = std::min(spare_least_[other], spare_[j]);
        }
    if (!bounded(i)) return;
    spare_[i] = demands_.latency[i] * rounding - latency;
    for (const std::size_t place : places) {
        users_[place].push_back(i);
        spare_least_[place] = std::min(spare_least_[place], spare_[i]);
    }
    places_[i] = std::move(places);
}

}  // namespace conset
