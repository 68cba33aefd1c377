#include <algorithm>
#include <limits>

#include "conset/wormhole_run.hpp"

namespace conset {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

void WormholeRun::sent(std::int32_t m) {
    if (!leaves(m)) {
        receive(m, kReceived);
        return;
    }
    paths_.open(m);
    ask(m);
}

// A header asks for its next channel.
void WormholeRun::ask(std::int32_t m) {
    Paths::Path& path = paths_.of(m);
    path.asked = now_;
    if (path.at_end() && (has_protocol() || takes_list())) {
        arrive(m);
    } else if (channels_.ask(path.channels[path.taken], m)) {
        granted(m);
    }
}

void WormholeRun::waited(std::int32_t m) {
    const double seconds = now_ - paths_.of(m).asked;
    result_.blocked[m] += seconds;
    if (seconds > longest_[m]) {
        longest_[m] = seconds;
        result_.held_by[m] = paths_.next_place(m);
    }
}

void WormholeRun::granted(std::int32_t m) {
    waited(m);
    Paths::Path& path = paths_.of(m);
    const std::size_t taken = path.taken++;
    if (!path.complete()) {
        if (taken == 0) {
            at(now_, kHeader, m);
        } else {
            hop(m);
        }
    } else if (costs_.receive_after) {
        at(now_, kStream, m);
    } else {
        receive(m, kStream);
    }
}

// A link further. Equal hops end in the order in which they begin: most events of a run need no heap.
void WormholeRun::hop(std::int32_t m) {
    const double time = now_ + each(costs_.hop, m);
    if (costs_.hop.size() == 1 && time > until_) {
        hops_.emplace_back(time, m);
    } else {
        at(time, kHeader, m);
    }
}

void WormholeRun::stream(std::int32_t m) {
    uses_.clear();
    double limit = kNever;
    const std::int32_t s = routes_.source[m], t = routes_.target[m];
    routes_.each_link(static_cast<std::size_t>(m), [&](std::int32_t link) {
        result_.link_bytes[link] += bytes_[m];
        uses_.push_back({link, 0, 1});
        limit = std::min(limit, each(costs_.link, link));
    });
    result_.out_bytes[s] += bytes_[m];
    result_.in_bytes[t] += bytes_[m];
    if (bytes_[m] == 0 || std::min({limit, costs_.out, costs_.in, costs_.node}) == kNever) {
        at(now_, kEnded, m);
        return;
    }
    const std::int32_t partner = partner_of(m);
    const bool both = partner >= 0 && slot_[partner] >= 0;
    const double weight = both ? costs_.exchange_weight : 1;
    uses_.push_back({links_ + s, 0, 1});
    uses_.push_back({links_ + nodes_ + t, 0, 1});
    if (costs_.node < kNever) {
        uses_.push_back({links_ + 2 * nodes_ + s, 0, weight});
        uses_.push_back({links_ + 2 * nodes_ + t, 0, weight});
    }
    slot_[m] = streams_.add(m, uses_, limit, static_cast<double>(bytes_[m]), now_);
    if (both) weigh(partner, weight);
    if (!processors_.preempting()) return;
    streaming_[messages_.receiver[m]].push_back(m);
    if (processors_.sends_until(messages_.receiver[m]) > until_) streams_.hold(slot_[m], true);
    weigh_exchange(m);
}

void WormholeRun::hold(std::int32_t rank, bool held) {
    for (const std::int32_t m : streaming_[rank]) {
        if (!streams_.is_open(slot_[m], m)) continue;
        streams_.hold(slot_[m], held);
        weigh_exchange(m);
    }
}

void WormholeRun::weigh(std::int32_t m, double weight) {
    streams_.weigh(slot_[m], links_ + 2 * nodes_, links_ + 3 * nodes_, weight);
}

// Where sends hold streams: both of an exchange count its weight while the bytes of both flow.
void WormholeRun::weigh_exchange(std::int32_t m) {
    const std::int32_t partner = partner_of(m);
    if (partner < 0 || slot_[partner] < 0 || !streams_.is_open(slot_[partner], partner)) return;
    const bool flow = !streams_.is_held(slot_[m]) && !streams_.is_held(slot_[partner]);
    for (const std::int32_t one : {m, partner}) weigh(one, flow ? costs_.exchange_weight : 1);
}

// The last byte has flowed.
void WormholeRun::ended(std::int32_t m) {
    slot_[m] = -1;
    const std::int32_t partner = partner_of(m);
    // one that ends in this batch too is out of its streams already: its slot may be another's
    if (partner >= 0 && slot_[partner] >= 0 && streams_.is_open(slot_[partner], partner)) weigh(partner, 1);
    if (processors_.preempting()) std::erase(streaming_[messages_.receiver[m]], m);
    release(m);
    if (has_protocol() && (marks_[m] & kTakenIn) != 0) {
        marks_[m] |= kBuffered;
        lists_.sent(m);
        if ((marks_[m] & kHasReceive) != 0) receive(m, kReceived);
    } else if (costs_.receive_after) {
        receive(m, kReceived);
    } else {
        deliver(m);
    }
}

// What m has passes to those who wait, in path order.
void WormholeRun::release(std::int32_t m) {
    const Paths::Path& path = paths_.of(m);
    for (std::size_t k = 0; k < path.taken; ++k) {
        const std::int32_t next = channels_.release(path.channels[k]);
        if (next < 0) continue;
        if (has_protocol() && k + 1 == path.channels.size()) {
            receive_posted(next);
        } else {
            granted(next);
        }
    }
    paths_.close(m);
}

}  // namespace conset
