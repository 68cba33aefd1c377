// What stands behind a conset_program: an OpenProgram, whatever a handle of its MPI is, and the connections that the
// application has asked for.
#pragma once

#include <cstdint>
#include <memory>

#include "conset.h"
#include "conset/connections/open_program.hpp"
#include "program_mpi.hpp"

namespace conset::capi {

// conset.h has a function of that name, too.
using Connection = struct conset_connection;

class ApplicationProgram {
public:
    ApplicationProgram() = default;
    ApplicationProgram(const ApplicationProgram&) = delete;
    ApplicationProgram& operator=(const ApplicationProgram&) = delete;
    virtual ~ApplicationProgram() = default;

    virtual const RankConnections& part() const = 0;
    // Throw Failure (Code::argument) where there is none.
    virtual std::int64_t phases(int block) const = 0;
    virtual std::int64_t global_phase(int block, int phase) const = 0;

    virtual void set_packets(const Packets& packets) = 0;
    virtual void set_timeout(double seconds) = 0;
    virtual void instantiate(int block, int phase) = 0;
    // Lives as long as the program, one for each peer and direction.
    virtual Connection* connection(int peer, bool send, conset_program* program) = 0;
    virtual Connection* connection(int id, conset_program* program) = 0;
    virtual void phase_end() = 0;
    virtual void progress() = 0;
    virtual SwitchTimes times() const = 0;
    // Collective.
    virtual Outcome free() = 0;

    // On a connection of this program; `type`: bits of a datatype.
    virtual void send(Connection& connection, const void* data, std::int64_t count, std::uint64_t type) = 0;
    virtual void receive(Connection& connection, void* data, std::int64_t count, std::uint64_t type) = 0;
    virtual void send_computed(Connection& connection, std::int64_t count, std::uint64_t type, conset_producer produce,
                               void* state) = 0;
    virtual void receive_apply(Connection& connection, std::int64_t count, std::uint64_t type, conset_operator apply,
                               void* state) = 0;
    virtual void spool_send(Connection& connection, const void* data, std::int64_t count, std::uint64_t type) = 0;
    virtual void spool_receive(Connection& connection, void* data, std::int64_t count, std::uint64_t type) = 0;
    virtual void spool_wait(const Connection& connection) = 0;
};

// Collective. Null where it fails, on every rank.
std::unique_ptr<ApplicationProgram> open_program(const conset_lib_mpi& mpi, const conset_lib_comm& comm,
                                                 const char* path, Outcome& outcome);

// `*count` connections of a phase, and what is known of them where `connections` is not null.
void describe_connections(const RankConnections& part, std::int64_t global_phase, int* count,
                          conset_connection_info* connections);
void describe_block(const RankConnections& part, int block, std::int64_t phases, conset_block_info& info);
// Throws Failure (Code::argument) where no block, or several, have the name.
int find_block(const RankConnections& part, const char* name);
// Throws Failure (Code::argument) where the program has no such step.
conset_step step_after(const ApplicationProgram& program, conset_step step);

}  // namespace conset::capi

// The struct that programs hold pointers to.
struct conset_program {
    std::unique_ptr<conset::capi::ApplicationProgram> body;
    std::uint64_t finalized;                // the program's MPI_Finalized
    volatile std::uint64_t magic = kMagic;  // cleared when it is freed
    static constexpr std::uint64_t kMagic = 0x636f6e7365747067;
};
