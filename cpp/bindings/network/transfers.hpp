// Transfers, and the ranks at their ends, that are checked: what the bindings of times and sums begin with.
#pragma once

#include <optional>

#include "checks.hpp"
#include "conset/prediction/formula.hpp"

namespace conset::bindings {

// Transfers with their routes and sizes; keeps the arrays it looks at.
class BoundTransfers {
public:
    BoundTransfers(const Network& network, In<std::int32_t> source, In<std::int32_t> target,
                   In<std::int64_t> route_offsets, In<std::int32_t> route_links, In<std::int64_t> size)
        : source_(source),
          target_(target),
          route_links_(route_links),
          route_offsets_(route_offsets),
          size_(size),
          routes_(checked_routes(network, view(source_), view(target_), view(route_offsets_), view(route_links_))) {
        check_amounts("size", view(size_), routes_.size());
    }

    const Routes& operator*() const { return routes_; }
    View<const std::int64_t> size() const { return view(size_); }
    // The same, walked once for all who ask; not by two threads at once.
    Routes walked() const {
        if (!walked_) walked_.emplace(routes_);
        return walked_->of(routes_);
    }

private:
    In<std::int32_t> source_, target_, route_links_;
    In<std::int64_t> route_offsets_, size_;
    Routes routes_;
    mutable std::optional<WalkedRoutes> walked_;
};

// The ranks that send and receive transfers, and which of these are packed (or none); keeps the arrays it looks at.
class BoundRanks {
public:
    BoundRanks(In<std::int32_t> sender, In<std::int32_t> receiver, std::int32_t ranks, In<std::uint8_t> packed)
        : sender_(sender), receiver_(receiver), ranks_(ranks), packed_(packed) {
        check_count("ranks", ranks, 0, std::numeric_limits<std::int32_t>::max());
        check_ids("sender", view(sender_), ranks);
        check_ids("receiver", view(receiver_), ranks);
    }

    // They fit the number of transfers.
    Ranks of(const BoundTransfers& transfers) const {
        check_size("sender", sender_.shape(0), (*transfers).size());
        check_size("receiver", receiver_.shape(0), (*transfers).size());
        if (packed_.shape(0) != 0) check_size("packed", packed_.shape(0), (*transfers).size());
        return {view(sender_), view(receiver_), ranks_, view(packed_)};
    }

private:
    In<std::int32_t> sender_, receiver_;
    std::int32_t ranks_;
    In<std::uint8_t> packed_;
};

}  // namespace conset::bindings
