// The MPI library of this process, found while it runs: its calls by name, and what is a constant in its header.
//
// Three binary interfaces: MPICH's, where a handle is an int, Open MPI's and the standard one, where it is a pointer.
// Handles travel as 64 bits here, in the registers in which they come; the upper half of an int is undefined.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "conset/execution/mpi_calls.hpp"

namespace conset::preload {

using Bits = std::uint64_t;
static_assert(std::endian::native == std::endian::little, "a handle of 4 bytes is the lower half of 8");

class Library {
public:
    // Of the first call of MPI; ends the process with one line where there is none, which cannot be.
    static const Library& get();
    // Whether there was one in this process; a child that it forks is another.
    static bool used();

    // The address of a call in it, as PMPI_X; null where it has none.
    void* find(const char* symbol) const;
    template <class Function>
    Function* call(const char* symbol) const {
        return reinterpret_cast<Function*>(find(symbol));
    }

    std::string name;   // MPICH, Open MPI or MPI ABI
    bool wide = false;  // whether handles are pointers
    Bits comm_world = 0, comm_null = 0, type_null = 0, float64 = 0, max = 0;
    const void* in_place = nullptr;
    MpiNumbers numbers;

    Bits handle(Bits bits) const { return wide ? bits : bits & 0xffff'ffff; }
    // Entry k of an array of handles.
    Bits handle_at(const void* handles, std::size_t k) const;
    // Bytes of one element; -1 where it is too large to say.
    std::int64_t type_size(Bits type) const;

private:
    Library();
    void* handle_ = nullptr;
};

// A call of the library that is not worth a place for its address.
template <class... Arguments>
int call(const char* symbol, Arguments... arguments) {
    return Library::get().call<int(Arguments...)>(symbol)(arguments...);
}

// A variable of the environment; null where it is empty or not there.
const char* setting(const char* variable);

// Of a clock that never goes back.
double wall_s();

}  // namespace conset::preload
