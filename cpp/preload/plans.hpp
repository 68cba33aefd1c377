// Plans that advice has left in a folder, as orders for the members of a communicator.
#pragma once

#include <cstdint>
#include <string>

#include "communicators.hpp"
#include "conset/execution/rank_plan.hpp"

namespace conset::preload {

// One rank's part of an order: its operations have phases and peers alone, peers by their ranks in the communicator.
using Order = RankPlan;

// The orders of an exchange by its position in a period, by member; empty where the folder has none for these members.
// Throws Failure, one line: another number of ranks, a damaged file, a pair that is sent twice or never received.
Array<Array<Order>> read_orders(const std::string& folder, const std::string& kind, const Communicator& of,
                                int world_size);

// As numbers, to be sent to a rank, and back.
void pack_order(const Order& order, Array<std::int32_t>& numbers);
Order unpack_order(View<const std::int32_t>& numbers);

}  // namespace conset::preload
