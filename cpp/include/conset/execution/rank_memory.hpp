// Where the bytes of one rank's exchange lie, and what is copied there: items gathered and scattered, packs and unpacks
// of what is forwarded, what a rank has for itself.
//
// Without lists of items operations lie in the caller's buffers, or in the work area. With lists they lie in a staging
// buffer for each side: an item is gathered just before the first send that carries a byte of it starts, and scattered
// when a receive has ended. Where items are added, or a message is cut inside of one, ranges of the receive buffer are
// scattered in the order of their offsets, each as soon as all before it have landed: a sum is the same every time.
// Programs that forward take their parts from anywhere: all items are gathered at the start and scattered at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "conset/execution/rank_plan.hpp"

namespace conset {

class RankMemory {
public:
    // Plan and lists must live, at their place, as long as this; the buffers as long as requests know them.
    RankMemory(const RankPlan& plan, const RankItems& items, const std::byte* send, std::byte* receive);

    const std::byte* send_address(std::size_t k) const;
    std::byte* receive_address(std::size_t k) const;

    // An exchange begins: what needs no message is copied.
    void begin();
    // Sends begin to end - 1 are about to start.
    void before_sends(std::size_t begin, std::size_t end);
    void after_receive(std::size_t k);
    // All receives have ended.
    void finish();
    // Never frees what MPI goes on using.
    void abandon();

private:
    struct Copy {
        const std::byte* from;
        std::byte* to;
        std::size_t bytes;
    };
    // Items from begin to end - 1 of a list.
    struct Range {
        std::int64_t begin, end;
    };
    // What comes into the receive buffer at once: of receive or own copy k, the copies behind all receives.
    struct Landing {
        std::int64_t begin, end;  // [B]
        std::size_t k;
    };

    bool staged() const { return items_.item_bytes != 0; }
    void make_copies(Array<Copy>& copies, const RankCopies& given, std::byte* to);
    void make_gathers();
    void make_landings();
    void gather(Range range);
    void scatter(Range range);
    void land(std::size_t k);

    const RankPlan& plan_;
    const RankItems& items_;
    const std::byte* send_;  // the caller's
    std::byte* receive_;
    std::unique_ptr<std::byte[]> work_, send_staging_, receive_staging_;
    const std::byte* from_;  // where the plan's buffers lie: the caller's, or staging
    std::byte* to_;
    Array<Copy> packs_, unpacks_;
    bool at_once_;  // all items at the start and at the end

    Array<Range> own_gathers_, gathers_;  // by own copy, by send
    Array<Landing> landings_;             // by receive, then by own copy; or, in order, by offset
    bool in_order_ = false;
    Array<std::size_t> place_;    // of receive or own copy k in landings_, if in order
    Array<std::uint8_t> landed_;  // by landing, if in order
    std::size_t next_landing_ = 0;
    std::int64_t scattered_ = 0;  // items before this are scattered
};

}  // namespace conset
