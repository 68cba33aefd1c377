#include "conset/simulation/streaming.hpp"

namespace conset {

Array<double> Rates::capacities(std::int32_t links, std::int32_t nodes) const {
    Array<double> result;
    result.reserve(static_cast<std::size_t>(links) + 3 * static_cast<std::size_t>(nodes));
    for (std::int32_t l = 0; l < links; ++l) result.push_back(capacity(l));
    for (const double rate : {out, in, node}) result.insert(result.end(), static_cast<std::size_t>(nodes), rate);
    return result;
}

std::int32_t Rates::narrowest_link(const Routes& routes, std::int32_t m) const {
    std::int32_t narrowest = -1;
    routes.each_link(static_cast<std::size_t>(m), [&](std::int32_t l) {
        if (narrowest < 0 || each(link, l) < each(link, narrowest)) narrowest = l;
    });
    return narrowest;
}

Streaming::Streaming(const Routes& routes, const Messages<double>& messages, const Rates& rates,
                     const Release<double>& release)
    : routes_(routes),
      messages_(messages),
      rates_(rates),
      release_(release),
      links_(routes.network.link_slots()),
      nodes_(routes.network.nodes()),
      streams_(rates.capacities(links_, nodes_)),
      slot_(messages.size(), -1) {
    if (routes.network.choice() == Choice::even && routes.offsets.empty()) ways_.emplace(routes.network);
    if (release.preempting()) into_.resize(static_cast<std::size_t>(release.ranks()));
}

bool Streaming::begin(std::int32_t m, double now, double until) {
    uses_.clear();
    double limit = kNever;
    const std::int32_t s = routes_.source[m], t = routes_.target[m];
    if (ways_) {
        ways_->each_share(s, t, [&](std::int32_t link, double share) {
            uses_.push_back({link, 0, share});
            limit = std::min(limit, rates_.capacity(link) / share);
        });
    } else {
        routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
            uses_.push_back({link, 0, 1});
            limit = std::min(limit, each(rates_.link, link));
        });
    }
    if (messages_.bytes[m] == 0 || std::min({limit, rates_.out, rates_.in, rates_.node}) == kNever) return false;
    const std::int32_t partner = release_.partner_of(m);
    const bool both = flows(partner);
    const double weight = both ? rates_.exchange_weight : 1;
    uses_.push_back({links_ + s, 0, 1});
    uses_.push_back({links_ + nodes_ + t, 0, 1});
    if (rates_.node < kNever) {
        uses_.push_back({links_ + 2 * nodes_ + s, 0, weight});
        uses_.push_back({links_ + 2 * nodes_ + t, 0, weight});
    }
    slot_[m] = streams_.add(m, uses_, limit, static_cast<double>(messages_.bytes[m]), now);
    if (both) weigh(partner, weight);
    if (into_.empty()) return true;
    into_[messages_.receiver[m]].push_back(m);
    if (release_.sends_beyond(messages_.receiver[m], until)) streams_.hold(slot_[m], true);
    weigh_exchange(m);
    return true;
}

void Streaming::start_up(std::int32_t m, double now) {
    uses_.clear();
    const bool shares = rates_.out < kNever;
    if (shares) uses_.push_back({links_ + routes_.source[m], 0, 1});
    const auto stream = m + static_cast<std::int32_t>(slot_.size());
    streams_.add(stream, uses_, shares ? kNever : 1, rates_.startup * (shares ? rates_.out : 1), now);
}

std::int32_t Streaming::held_by(std::int32_t m) const {
    const std::int32_t resource = streams_.held_by(slot_[m]);
    return resource < 0 ? rates_.narrowest_link(routes_, m) : resource;
}

void Streaming::ended(std::int32_t m) {
    slot_[m] = -1;
    // one that ends in this batch too is out of its streams already: its slot may be another's
    if (const std::int32_t partner = release_.partner_of(m); flows(partner)) weigh(partner, 1);
    if (!into_.empty()) std::erase(into_[messages_.receiver[m]], m);
}

void Streaming::hold(std::int32_t rank, bool held) {
    for (const std::int32_t m : into_[rank]) {
        if (!streams_.is_open(slot_[m], m)) continue;
        streams_.hold(slot_[m], held);
        weigh_exchange(m);
    }
}

// Where sends hold streams: both of an exchange count its weight while the bytes of both flow.
void Streaming::weigh_exchange(std::int32_t m) {
    const std::int32_t partner = release_.partner_of(m);
    if (!flows(partner)) return;
    const bool flow = !streams_.is_held(slot_[m]) && !streams_.is_held(slot_[partner]);
    for (const std::int32_t one : {m, partner}) weigh(one, flow ? rates_.exchange_weight : 1);
}

}  // namespace conset
