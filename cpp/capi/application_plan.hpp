// What stands behind a conset_plan: this rank's part of a plan file, and a communicator to make exchanges on.
#pragma once

#include <cstdint>
#include <memory>

#include "application_exchange.hpp"
#include "conset/formats/plan_file.hpp"

namespace conset::capi {

class ApplicationPlan {
public:
    ApplicationPlan() = default;
    ApplicationPlan(const ApplicationPlan&) = delete;
    ApplicationPlan& operator=(const ApplicationPlan&) = delete;
    virtual ~ApplicationPlan() = default;

    virtual const PlanFile& file() const = 0;
    // Collective. Null where it fails, on every rank.
    virtual std::unique_ptr<ApplicationExchange> exchange(const void* send, void* receive, double timeout_s,
                                                          Outcome& outcome) = 0;
    // Collective.
    virtual Outcome free() = 0;
};

// Collective. Null where it fails, on every rank.
std::unique_ptr<ApplicationPlan> read_plan(const conset_lib_mpi& mpi, const conset_lib_comm& comm, const char* path,
                                           Outcome& outcome);

}  // namespace conset::capi

// The struct that programs hold pointers to.
struct conset_plan {
    std::unique_ptr<conset::capi::ApplicationPlan> body;
    std::uint64_t finalized;  // the program's MPI_Finalized
    double timeout_s = 0;
    volatile std::uint64_t magic = kMagic;  // cleared when it is freed
    static constexpr std::uint64_t kMagic = 0x636f6e736574706c;
};
