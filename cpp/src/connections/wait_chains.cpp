#include "conset/connections/wait_chains.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "conset/runtime/bytes.hpp"

namespace conset {

namespace {

constexpr Wait kNoAnswer{-1, WaitKind::none, -1, 0, 0};

std::string words(const Wait& wait) {
    std::string rank = std::to_string(wait.rank);
    const std::string peer = std::to_string(wait.peer);
    switch (wait.kind) {
        case WaitKind::none: return rank + " computes, or has ended the phase";
        case WaitKind::element: return rank + " waits for an element of " + peer;
        case WaitKind::credit: return rank + " waits for " + peer + " to read";
        case WaitKind::end: return rank + " ends the phase and waits for " + peer + "'s end";
        case WaitKind::read: return rank + " closes connections and waits for " + peer + " to read";
        case WaitKind::all: return rank + " switches connections and waits for all ranks";
    }
    return rank;
}

// From where a rank stands in the chain; its end: nowhere.
auto place_in(const Array<Wait>& chain, int rank) {
    return std::find_if(chain.begin(), chain.end(), [&](const Wait& wait) { return wait.rank == rank; });
}

}  // namespace

std::string describe(const Array<Wait>& chain) {
    std::string text;
    for (const Wait& wait : chain) text += (text.empty() ? "" : ", ") + words(wait);
    return text;
}

template <class Handle>
void WaitChains<Handle>::send(int target, Kind kind, std::int64_t question, const Array<Wait>& waits) {
    ByteWriter writer;
    writer.add(kind);
    writer.add(question);
    writer.add_array(waits);
    auto bytes = std::make_unique<Array<std::byte>>(writer.bytes());
    const Handle request =
        mpi_->send(bytes->data(), static_cast<std::int64_t>(bytes->size()), target, PacketTag::waits);
    outbox_.push_back({std::move(bytes), request});
}

template <class Handle>
void WaitChains<Handle>::answer(const Wait& own) {
    while (!outbox_.empty() && mpi_->ended(outbox_.front().request)) outbox_.pop_front();
    int source = 0, bytes = 0;
    while (mpi_->probe(PacketTag::waits, source, bytes)) {
        Array<std::byte> message(as_size(bytes));
        Handle request = mpi_->receive(message.data(), bytes, source, PacketTag::waits);
        while (!mpi_->ended(request)) continue;
        ByteReader reader{View<const std::byte>(message)};
        const auto kind = reader.template value<Kind>();
        const auto question = reader.template value<std::int64_t>();
        const auto waits = reader.template array<Wait>();
        if (kind == Kind::query) send(source, Kind::reply, question, {own});
        if (kind == Kind::reply && question == question_) answers_[source] = waits[0];
        if (kind == Kind::cycle) cycle_ = waits;
    }
}

template <class Handle>
std::string WaitChains<Handle>::told(const Wait& own) const {
    const auto found = place_in(cycle_, own.rank);
    return found != cycle_.end() && *found == own ? describe(cycle_) : std::string();
}

template <class Handle>
Array<Wait> WaitChains<Handle>::ask(const Array<int>& ranks, const Wait& own, double grace_s,
                                    const std::function<void()>& pause) {
    using Clock = std::chrono::steady_clock;
    ++question_;
    answers_.assign(as_size(ranks_), kNoAnswer);
    for (const int rank : ranks) send(rank, Kind::query, question_, {});
    const auto began = Clock::now();
    const auto missing = [&] {
        return std::any_of(ranks.begin(), ranks.end(), [&](int r) { return answers_[r] == kNoAnswer; });
    };
    while (missing() && std::chrono::duration<double>(Clock::now() - began).count() < grace_s) {
        answer(own);
        pause();
    }
    return answers_;
}

template <class Handle>
std::optional<Wait> WaitChains<Handle>::next(Array<Wait>& chain, double grace_s, const std::function<void()>& pause) {
    const Wait last = chain.back();
    if (last.kind == WaitKind::all && chain[0].kind != WaitKind::all) return chain[0];
    Array<int> asked;
    for (int rank = 0; rank < ranks_; ++rank)
        if (rank != chain[0].rank && (last.kind == WaitKind::all || rank == last.peer)) asked.push_back(rank);
    const auto answers = ask(asked, chain[0], grace_s, pause);
    for (const int rank : asked)
        if (answers[rank] != kNoAnswer && answers[rank].kind != WaitKind::all) return answers[rank];
    for (const int rank : asked)
        if (answers[rank] == kNoAnswer) return Wait{rank, WaitKind::none, -1, 0, 0};
    if (last.kind != WaitKind::all && !asked.empty()) return answers[asked[0]];
    return std::nullopt;
}

template <class Handle>
bool WaitChains<Handle>::still(const Wait& own, const Array<Wait>& cycle, double grace_s,
                               const std::function<void()>& pause) {
    Array<int> ranks;
    for (const Wait& wait : cycle)
        if (wait.rank != own.rank) ranks.push_back(wait.rank);
    const auto answers = ask(ranks, own, grace_s, pause);
    return std::all_of(cycle.begin(), cycle.end(),
                       [&](const Wait& wait) { return wait.rank == own.rank || answers[wait.rank] == wait; });
}

template <class Handle>
std::string WaitChains<Handle>::diagnose(const Wait& own, double grace_s, const std::function<void()>& pause) {
    Array<Wait> chain{own};
    while (chain.back().kind != WaitKind::none) {
        const Wait last = chain.back();
        if (last.kind != WaitKind::all && place_in(chain, last.peer) != chain.end()) {
            const Array<Wait> cycle(place_in(chain, last.peer), chain.cend());
            if (!still(own, cycle, grace_s, pause)) break;
            for (int rank = 0; rank < ranks_; ++rank)
                if (rank != own.rank) send(rank, Kind::cycle, 0, cycle);
            break;
        }
        const auto found = next(chain, grace_s, pause);
        if (!found) break;
        if (place_in(chain, found->rank) != chain.end()) break;
        chain.push_back(*found);
    }
    // what another rank has found meanwhile may be where this chain ends
    const bool open = chain.back().kind == WaitKind::none && place_in(cycle_, chain.back().rank) != cycle_.end();
    if (open) chain.pop_back();
    return describe(chain) + (open ? (chain.empty() ? "" : ", ") + describe(cycle_) : "");
}

template <class Handle>
void WaitChains<Handle>::close() {
    for (Message& message : outbox_) {
        if (mpi_->ended(message.request)) continue;
        mpi_->free(message.request);
        keep_for_mpi(std::move(message.bytes));
    }
    outbox_.clear();
}

template <class Handle>
WaitChains<Handle>::~WaitChains() {
    for (Message& message : outbox_) keep_for_mpi(std::move(message.bytes));
}

template class WaitChains<int>;
template class WaitChains<void*>;

}  // namespace conset
