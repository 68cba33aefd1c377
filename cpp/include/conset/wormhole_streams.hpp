// Streams: max-min fair rates of the few messages whose bytes flow at one time, with weights that differ by resource.
//
// A stream uses resources (out, in, node, links), each by a weight: rate x takes weight * x of it. Progressive filling:
// raise one rate for all; a stream stops at its own limit or where one of its resources is full. Resources that could
// not be full even if every stream ran at its own limit hold nobody: only streams joined by overloaded resources are
// solved again, from those that changed.
//
// Complexity of an event: k log k for the k uses of the connected part. Memory: 48 bytes per open stream, 24 per use.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace conset {

class Streams {
public:
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    struct Use {
        std::int32_t resource;
        std::int32_t position;  // among the resource's members
        double weight;
    };

    explicit Streams(std::vector<double> capacity);

    // Bytes of `message` flow from now on, at most at `limit`; `uses` hold resource and weight. Rates are right after
    // `solve`. Returns its slot, valid until it ends.
    std::int32_t add(std::int32_t message, std::span<const Use> uses, double limit, double bytes, double now);
    // What the stream in `slot` counts in resources first ... last - 1 from now on.
    void weigh(std::int32_t slot, std::int32_t first, std::int32_t last, double weight);
    // When the next stream ends; drops entries of the past.
    double next_end();
    // The next stream that ends by `until` is taken out; its message, -1 where there is none.
    std::int32_t end_next(double until, double now);
    void solve(double now);

    bool is_open(std::int32_t slot, std::int32_t message) const { return streams_[slot].message == message; }
    double busy(std::int32_t resource) const { return resources_[resource].busy; }
    std::int64_t solves() const { return solves_; }
    template <class Visit>  // visit(message, rate): changes since the last call, where recorded
    void each_change(Visit&& visit) {
        for (const auto& [message, rate] : changes_) visit(message, rate);
        changes_.clear();
    }
    void record_changes() { recording_ = true; }

private:
    struct Stream {
        std::int32_t message = -1;
        std::uint32_t version = 0;  // of its end
        double left = 0, rate = 0, since = 0, limit = 0, alone = 0, solved = 0;
        bool seen = false, frozen = false;
        std::vector<Use> uses;
    };
    struct Resource {
        double capacity = 0, busy = 0, busy_since = 0, left = 0, weight = 0;
        std::int32_t unfrozen = 0;
        bool over = false, touched = false, seen = false;
        std::vector<std::pair<std::int32_t, std::int32_t>> members;  // (slot, which use)
    };
    using End = std::tuple<double, std::int32_t, std::uint32_t, std::int32_t>;  // time, message, version, slot

    void touch(std::int32_t resource);
    void find_alone(Stream& stream);
    void seed(std::int32_t slot);
    void connect();
    void fill();
    void freeze(std::int32_t slot, double rate);
    void take_rates(double now);

    std::vector<Stream> streams_;
    std::vector<Resource> resources_;
    std::vector<std::int32_t> free_, touched_, fresh_, part_, part_resources_;
    std::vector<std::pair<double, std::int32_t>> order_, levels_;
    std::vector<End> ends_;
    std::vector<std::pair<std::int32_t, double>> changes_;
    std::int64_t solves_ = 0;
    bool recording_ = false;
};

}  // namespace conset
