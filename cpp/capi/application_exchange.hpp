// What stands behind a conset_exchange: an Exchange, whatever a handle of its MPI is.
#pragma once

#include <cstdint>
#include <memory>

#include "conset.h"
#include "conset/runtime/exchange.hpp"
#include "program_mpi.hpp"

namespace conset::capi {

class ApplicationExchange {
public:
    ApplicationExchange() = default;
    ApplicationExchange(const ApplicationExchange&) = delete;
    ApplicationExchange& operator=(const ApplicationExchange&) = delete;
    virtual ~ApplicationExchange() = default;

    virtual Outcome start() = 0;
    virtual Outcome progress(bool& done) = 0;
    virtual Outcome wait() = 0;
    virtual Outcome update(const conset_lib_blocks& blocks) = 0;
    virtual Outcome free() = 0;
    virtual void describe(conset_info& info) const = 0;
    // Throws Failure (Code::state) where the exchange is a plan's.
    virtual const Blocks& receives() const = 0;
};

// Collective. Null where it fails, on every rank.
std::unique_ptr<ApplicationExchange> make_alltoallv(const conset_lib_mpi& mpi, const conset_lib_comm& comm,
                                                    bool neighbor, const conset_lib_blocks& blocks, const char* options,
                                                    Outcome& outcome);

// A plan's exchange, once it is made.
template <class Handle>
std::unique_ptr<ApplicationExchange> erase_handle(std::unique_ptr<Exchange<Handle>> exchange);

}  // namespace conset::capi

// The struct that programs hold pointers to.
struct conset_exchange {
    std::unique_ptr<conset::capi::ApplicationExchange> body;
    std::uint64_t finalized;                // the program's MPI_Finalized
    volatile std::uint64_t magic = kMagic;  // cleared when it is freed
    static constexpr std::uint64_t kMagic = 0x636f6e7365743078;
};
