// Exchange orbits: few phases of a complete exchange that are their own images under a symmetry of the box.
//
// Symmetry: a group G of maps of messages that take routes to routes and leave no message where it is. A packing of one
// message per orbit into K phases becomes, with its images, |G| K phases of all messages: the search is |G| times
// smaller. Where |G| does not divide the number of phases, some are their own images under a subgroup H, and hold
// messages with their images under H; such a phase has |G| / |H| images.
// Maps that keep routes: reflections of a mesh, free where a reflected side is even or all sides are reflected (the
// half turn); on a cycle of odd length all translations, on one of even length those that agree with the rule for ties,
// which is checked line by line.
// Search: negotiation (`negotiated.hpp`) of one message per orbit.
#pragma once

#include <cstdint>

#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/exchange_box.hpp"

namespace conset {

// A group G, commutative and without fixed messages.
struct Symmetry {
    Array<Array<std::int32_t>> nodes;  // where each element takes each node; the first one nowhere
    // Of subgroups, rising, from 1 to |G|: the first elements are a subgroup, and so many in a row are its cosets.
    Array<std::int32_t> orders;

    std::int32_t order() const { return static_cast<std::int32_t>(nodes.size()); }
    // Where an element takes a message.
    std::int32_t image(const ExchangeBox& box, std::int32_t element, std::int32_t message) const;
};

// Groups of at most `most` elements each that are worth trying, the largest first: reflections of a mesh; translations
// along each cycle; at last the group of one element.
Array<Symmetry> symmetries(const ExchangeBox& box, std::int32_t most);

// One message per orbit, in slots that stand for phases.
class OrbitPacking {
public:
    OrbitPacking(const ExchangeBox& box, const Symmetry& group);

    // One try at so many phases, at most `work` prices read: the phase of every message, or nothing.
    Array<std::int32_t> negotiate(std::int32_t phases, std::int64_t work, std::uint64_t seed) const;

private:
    // Slots with |G| images each, and the orders of the subgroups of the slots after them.
    Array<std::int32_t> shares(std::int32_t phases) const;
    Array<std::int32_t> expand(const Array<std::int32_t>& slot, const Array<std::int32_t>& shares) const;
    std::size_t orbits() const { return orbit_.size() / as_size(group_.order()); }

    const ExchangeBox& box_;
    const Symmetry& group_;
    Array<std::int32_t> orbit_;  // messages of each orbit, by element
};

}  // namespace conset
