// Agreement: what goes wrong on one rank goes wrong on every rank, with the words of the lowest that found something.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "conset/array.hpp"
#include "conset/runtime/collectives.hpp"
#include "conset/runtime/outcome.hpp"

namespace conset {

// What `work` throws, as an outcome.
template <class Work>
Outcome outcome_of(Work&& work) {
    try {
        std::forward<Work>(work)();
        return {};
    } catch (const Failure& failure) {
        return {failure.code, failure.what()};
    } catch (const std::bad_alloc&) {
        return {Code::memory, "not enough memory"};
    } catch (const std::exception& error) {
        return {Code::internal, error.what()};
    }
}

// The failure of the lowest rank whose code is not fine, on every rank; `own` is this rank's. Collective where there is
// one. Throws Failure, as collectives do.
template <class Handle>
Outcome lowest_failure(Collectives<Handle>& collectives, View<const Code> codes, const Outcome& own);

// The same of what each rank has come to; all fine, but `digest` is another one somewhere: Code::mismatch, `what` says
// whose. Collective.
template <class Handle>
Outcome agree(Collectives<Handle>& collectives, Outcome own, std::uint64_t digest, const char* what);

// Of numbers in their order.
class Digest {
public:
    void add(std::uint64_t value) {
        // the finalizer of splitmix64
        value_ = (value_ ^ value) + 0x9e3779b97f4a7c15U;
        value_ = (value_ ^ (value_ >> 30U)) * 0xbf58476d1ce4e5b9U;
        value_ = (value_ ^ (value_ >> 27U)) * 0x94d049bb133111ebU;
        value_ ^= value_ >> 31U;
    }
    template <class Values>
    void add_all(const Values& values) {
        add(values.size());
        for (const auto value : values) add(static_cast<std::uint64_t>(value));
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0;
};

}  // namespace conset
