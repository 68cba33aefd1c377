#include "plans.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "conset/formats/plan_file.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset::preload {

namespace {

using Message = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // phase, source, target

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
    throw Failure(Code::file, path + ": " + what);
}

// What an order is made of: messages, each once, no stages. `place`: of a world rank in the communicator, or -1.
Order order_of(const std::string& path, RankPlan plan, const Array<std::int32_t>& place) {
    const auto any = [](const auto& values) { return !values.empty(); };
    if (plan.work_bytes != 0 || any(plan.packs.offsets) || any(plan.needs.offsets) || any(plan.signals.offsets))
        refuse(path, "has stages or an order of messages: compile it with --combine none");
    for (RankOperations* side : {&plan.sends, &plan.receives}) {
        side->offset.clear();
        side->bytes.clear();
        side->work.clear();
        for (std::int32_t& peer : side->peer) {
            if (place[peer] < 0) refuse(path, "sends to rank " + std::to_string(peer) + ", which is no member");
            peer = place[peer];
        }
    }
    return plan;
}

// Both ends of every message are in the same phase, and no pair has two.
void check_pairs(const std::string& path, Array<Order>& orders) {
    Array<Message> sent, received;
    for (std::int32_t rank = 0; as_size(rank) < orders.size(); ++rank) {
        const Order& order = orders[rank];
        for (std::size_t k = 0; k < order.sends.size(); ++k)
            sent.emplace_back(order.sends.phase[k], rank, order.sends.peer[k]);
        for (std::size_t k = 0; k < order.receives.size(); ++k)
            received.emplace_back(order.receives.phase[k], order.receives.peer[k], rank);
    }
    std::sort(sent.begin(), sent.end());
    std::sort(received.begin(), received.end());
    if (sent != received) refuse(path, "has sends without their receives");
    const auto pair = [](const Message& m) { return std::pair(std::get<1>(m), std::get<2>(m)); };
    std::sort(sent.begin(), sent.end(), [&](const auto& a, const auto& b) { return pair(a) < pair(b); });
    const auto twice =
        std::adjacent_find(sent.begin(), sent.end(), [&](const auto& a, const auto& b) { return pair(a) == pair(b); });
    if (twice != sent.end())
        refuse(path, "sends twice from " + std::to_string(std::get<1>(*twice)) + " to " +
                         std::to_string(std::get<2>(*twice)));
    const std::size_t ranks = orders.size();
    if (sent.size() == ranks * (ranks - 1)) return;
    // pairs that it does not list come last, and everybody must know whether there are any
    for (Order& order : orders) ++order.phases;
}

Array<Order> read_position(const std::string& path, const Communicator& of, int world_size) {
    Array<std::int32_t> place(as_size(world_size), -1);
    for (std::int32_t k = 0; k < of.size; ++k) place[of.members[k]] = k;
    Array<Order> orders;
    for (const std::int32_t member : of.members)
        orders.push_back(order_of(path, read_plan_file(path, member, world_size).plan, place));
    check_pairs(path, orders);
    return orders;
}

}  // namespace

Array<Array<Order>> read_orders(const std::string& folder, const std::string& kind, const Communicator& of,
                                int world_size) {
    const std::string index = folder + "/plans.txt";
    std::ifstream file(index);
    std::string line;
    if (!std::getline(file, line)) refuse(index, "cannot be read");
    if (line != "conset/plans@1") refuse(index, "its first line is not conset/plans@1");
    Array<std::string> files;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string word, of_kind, members, name;
        std::size_t period = 0, position = 0;
        words >> word;
        if (word == "ranks") {
            int ranks = 0;
            if (words >> ranks; ranks != world_size)
                refuse(index,
                       "is of " + std::to_string(ranks) + " ranks, the program has " + std::to_string(world_size));
            continue;
        }
        if (word != "plan" || !(words >> of_kind >> members >> period >> position >> name) || period > 1024 ||
            position >= period || name.find('/') != std::string::npos)
            refuse(index, "no line of plans: " + line.substr(0, 60));
        if (of_kind != kind || members != of.text) continue;
        files.resize(period);
        files[position] = name;
    }
    Array<Array<Order>> found;
    for (const std::string& name : files) {
        if (name.empty()) refuse(index, "a position of the period of " + kind + " has no plan");
        found.push_back(read_position(std::string(folder).append("/").append(name), of, world_size));
    }
    return found;
}

void pack_order(const Order& order, Array<std::int32_t>& numbers) {
    const auto add = [&](std::int64_t number) { numbers.push_back(static_cast<std::int32_t>(number)); };
    add(order.phases);
    add(static_cast<std::int64_t>(order.sync));
    add(std::min(order.every, order.phases));
    add(std::min<std::int64_t>(order.in_flight, static_cast<std::int64_t>(order.sends.size())));
    for (const RankOperations* side : {&order.sends, &order.receives}) {
        add(static_cast<std::int64_t>(side->size()));
        numbers.insert(numbers.end(), side->phase.begin(), side->phase.end());
        numbers.insert(numbers.end(), side->peer.begin(), side->peer.end());
    }
}

Order unpack_order(View<const std::int32_t>& numbers) {
    Order order;
    order.phases = numbers[0];
    order.sync = static_cast<SyncKind>(numbers[1]);
    order.every = numbers[2];
    order.in_flight = numbers[3];
    numbers = numbers.subspan(4);
    for (RankOperations* side : {&order.sends, &order.receives}) {
        const std::size_t count = as_size(numbers[0]);
        side->phase.assign(numbers.begin() + 1, numbers.begin() + 1 + static_cast<std::ptrdiff_t>(count));
        side->peer.assign(numbers.begin() + 1 + static_cast<std::ptrdiff_t>(count),
                          numbers.begin() + 1 + static_cast<std::ptrdiff_t>(2 * count));
        numbers = numbers.subspan(1 + 2 * count);
    }
    return order;
}

}  // namespace conset::preload
