// One call of MPI_Alltoall, Alltoallv or Alltoallw, or of a variant of them, as the program gives it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "communicators.hpp"

namespace conset::preload {

enum class Kind : std::uint8_t { alltoall, alltoallv, alltoallw };

struct Side {
    const void* buffer = nullptr;
    std::int64_t count = 0;  // of alltoall
    const void* counts = nullptr;
    const void* displacements = nullptr;
    Bits type = 0;
    const void* types = nullptr;  // of alltoallw
};

struct Exchange {
    Kind kind;
    bool large;  // whether counts are MPI_Count and displacements MPI_Aint
    Side send, receive;

    bool in_place() const { return send.buffer == Library::get().in_place; }
    std::int64_t count_at(const Side& side, std::size_t k) const {
        if (kind == Kind::alltoall) return side.count;
        return number_at(side.counts, k);
    }
    Bits type_at(const Side& side, std::size_t k) const {
        return kind == Kind::alltoallw ? Library::get().handle_at(side.types, k) : Library::get().handle(side.type);
    }
    // False where MPI reports an error of the program's instead of an exchange.
    bool valid(int ranks) const {
        for (const Side* side : {&send, &receive})
            for (std::size_t k = 0; k < as_size(ranks); ++k)
                if (const auto count = count_at(*side, k);
                    count < 0 || (count > 0 && type_at(*side, k) == Library::get().type_null))
                    return false;
        return true;
    }
    // From the buffer [B]; `extent` of the type of alltoall and alltoallv.
    std::int64_t start_at(const Side& side, std::size_t k, std::int64_t extent) const {
        if (kind == Kind::alltoall) return static_cast<std::int64_t>(k) * side.count * extent;
        return number_at(side.displacements, k) * (kind == Kind::alltoallw ? 1 : extent);
    }
    // To, or from, each rank [B].
    Array<std::int64_t> bytes_of(const Side& side, int ranks) const {
        Array<std::int64_t> bytes(as_size(ranks));
        std::int64_t size = kind == Kind::alltoallw ? 0 : Library::get().type_size(type_at(side, 0));
        for (std::size_t k = 0; k < bytes.size(); ++k) {
            const std::int64_t count = count_at(side, k);
            if (kind == Kind::alltoallw && count > 0) size = Library::get().type_size(type_at(side, k));
            bytes[k] = count > 0 && size > 0 ? count * size : 0;
        }
        return bytes;
    }

private:
    std::int64_t number_at(const void* numbers, std::size_t k) const {
        return large ? static_cast<const std::int64_t*>(numbers)[k] : static_cast<const int*>(numbers)[k];
    }
};

}  // namespace conset::preload
