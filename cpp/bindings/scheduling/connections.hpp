// Links and connections that are checked: what the bindings of routers begin with.
#pragma once

#include "checks.hpp"
#include "conset/scheduling/connections.hpp"

namespace conset::bindings {

// The nodes of a network with the links between them; keeps the arrays it looks at.
class BoundWiring {
public:
    BoundWiring(std::int32_t nodes, In<std::int32_t> link_source, In<std::int32_t> link_target)
        : source_(link_source), target_(link_target), nodes_(nodes) {
        check_count("nodes", nodes, 1, std::numeric_limits<std::int32_t>::max());
        check_size("link_target", target_.shape(0), source_.shape(0));
        check_ids("link_source", view(source_), nodes);
        check_ids("link_target", view(target_), nodes);
    }

    Wiring operator*() const { return {nodes_, view(source_), view(target_)}; }
    std::int32_t nodes() const { return nodes_; }
    std::size_t links() const { return source_.shape(0); }

private:
    In<std::int32_t> source_, target_;
    std::int32_t nodes_;
};

// What is to be connected, and in which order; keeps the arrays it looks at.
class BoundConnections {
public:
    BoundConnections(In<std::int32_t> source, In<std::int32_t> target, In<std::int32_t> first, In<std::int32_t> second,
                     std::int32_t apart)
        : source_(source), target_(target), first_(first), second_(second), apart_(apart) {
        check_count("apart", apart, 0, 1);
        check_size("target", target_.shape(0), source_.shape(0));
        check_pairs(view(first_), view(second_), source_.shape(0));
    }

    std::size_t size() const { return source_.shape(0); }

    // Their ends are nodes of the wiring.
    Connections on(const BoundWiring& wiring) const {
        check_ids("source", view(source_), wiring.nodes());
        check_ids("target", view(target_), wiring.nodes());
        return all();
    }

    // Their ends are nodes of the network that may send and receive.
    Connections on(const Network& network) const {
        check_ends(network, view(source_), view(target_));
        return all();
    }

private:
    Connections all() const { return {view(source_), view(target_), view(first_), view(second_), apart_}; }

    In<std::int32_t> source_, target_, first_, second_;
    std::int32_t apart_;
};

}  // namespace conset::bindings
