#include "application_program.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "conset/formats/connections_file.hpp"
#include "own_world.hpp"

// The windows of the core are those that code of conset.h writes to.
static_assert(sizeof(conset_lib_window) == sizeof(conset::PacketWindow) &&
              offsetof(conset_lib_window, at) == offsetof(conset::PacketWindow, at) &&
              offsetof(conset_lib_window, room) == offsetof(conset::PacketWindow, room) &&
              offsetof(conset_lib_window, element_bytes) == offsetof(conset::PacketWindow, element_bytes) &&
              offsetof(conset_lib_window, send) == offsetof(conset::PacketWindow, send));

namespace conset::capi {

namespace {

template <class Handle>
class HandleProgram final : public ApplicationProgram {
public:
    HandleProgram(OwnWorld<Handle> own, RankConnections part, std::uint64_t no_type)
        : own_(std::move(own)), program_(own_.world(), std::move(part), Packets{}, 0), no_type_(no_type) {}

    const RankConnections& part() const override { return program_.part(); }
    std::int64_t phases(int block) const override { return program_.phases(block); }
    std::int64_t global_phase(int block, int phase) const override { return program_.global_phase(block, phase); }
    void set_packets(const Packets& packets) override { program_.set_packets(packets); }
    void set_timeout(double seconds) override { program_.set_timeout(seconds); }
    void instantiate(int block, int phase) override { program_.instantiate(block, phase); }
    void phase_end() override { program_.phase_end(); }
    void progress() override { static_cast<void>(program_.progress()); }
    SwitchTimes times() const override { return program_.times(); }

    Connection* connection(int peer, bool send, conset_program* program) override {
        return numbered(as_size(program_.connection(peer, send)), program);
    }
    Connection* connection(int id, conset_program* program) override {
        return numbered(as_size(program_.connection(id)), program);
    }

    Outcome free() override {
        if (Outcome closed = outcome_of([&] { program_.close(); }); !closed.fine()) return closed;
        return program_.failed() ? Outcome{} : own_.free();
    }

    void send(Connection& to, const void* data, std::int64_t count, std::uint64_t type) override {
        program_.send(to.number, static_cast<const std::byte*>(data), count, element_bytes(to, type));
    }
    void receive(Connection& from, void* data, std::int64_t count, std::uint64_t type) override {
        program_.receive(from.number, static_cast<std::byte*>(data), count, element_bytes(from, type));
    }
    void send_computed(Connection& to, std::int64_t count, std::uint64_t type, conset_producer produce,
                       void* state) override {
        program_.send_computed(to.number, count, element_bytes(to, type), produce, state);
    }
    void receive_apply(Connection& from, std::int64_t count, std::uint64_t type, conset_operator apply,
                       void* state) override {
        program_.receive_apply(from.number, count, element_bytes(from, type), apply, state);
    }
    void spool_send(Connection& to, const void* data, std::int64_t count, std::uint64_t type) override {
        program_.spool_send(to.number, static_cast<const std::byte*>(data), count, element_bytes(to, type));
    }
    void spool_receive(Connection& from, void* data, std::int64_t count, std::uint64_t type) override {
        program_.spool_receive(from.number, static_cast<std::byte*>(data), count, element_bytes(from, type));
    }
    void spool_wait(const Connection& connection) override { program_.spool_wait(connection.number); }

private:
    Connection* numbered(std::size_t number, conset_program* program) {
        if (number >= connections_.size()) connections_.resize(number + 1);
        auto& found = connections_[number];
        if (found == nullptr)
            found = std::make_unique<Connection>(
                Connection{reinterpret_cast<conset_lib_window*>(program_.window(static_cast<int>(number))), 0, 0,
                           static_cast<int>(number), program});
        return found.get();
    }

    // Of a type without gaps; the connection remembers one that is never freed.
    std::int64_t element_bytes(Connection& connection, std::uint64_t type) {
        const Mpi<Handle>& mpi = own_.world().mpi;
        if (type == no_type_) throw Failure(Code::argument, "type: is MPI_DATATYPE_NULL");
        const Handle handle = handle_of<Handle>(type);
        int bytes = 0, integers = 0, addresses = 0, types = 0, combiner = 0;
        typename MpiCalls<Handle>::Address lower = 0, extent = 0;
        require_success(mpi, "MPI_Type_size", mpi.calls.type_size(handle, &bytes));
        require_success(mpi, "MPI_Type_get_extent", mpi.calls.type_get_extent(handle, &lower, &extent));
        if (lower != 0 || extent != bytes)
            throw Failure(Code::argument, "type: its " + std::to_string(bytes) + " B lie in " + std::to_string(extent) +
                                              " B from byte " + std::to_string(lower) + ", elements must have no gaps");
        require_success(mpi, "MPI_Type_get_envelope",
                        mpi.calls.type_get_envelope(handle, &integers, &addresses, &types, &combiner));
        connection.type = type;
        connection.type_bytes = combiner == mpi.named ? bytes : 0;
        return bytes;
    }

    OwnWorld<Handle> own_;
    OpenProgram<Handle> program_;
    std::uint64_t no_type_;
    std::vector<std::unique_ptr<Connection>> connections_;  // by number
};

template <class Handle>
std::unique_ptr<ApplicationProgram> open(const MpiWorld<Handle>& theirs, const char* path, std::uint64_t no_type,
                                         Outcome& outcome) {
    OwnWorld<Handle> own(theirs);
    std::unique_ptr<ApplicationProgram> program;
    const Outcome ended = outcome_of([&] {
        Collectives<Handle> collectives(own.world());
        outcome = outcome_of([&] {
            if (path == nullptr) throw Failure(Code::argument, "path: is NULL");
            RankConnections part = read_connections(path, collectives.rank(), collectives.ranks());
            program = std::make_unique<HandleProgram<Handle>>(own, std::move(part), no_type);
        });
        outcome = agree(collectives, outcome, 0, "");
    });
    if (outcome.fine()) outcome = ended;
    if (outcome.fine()) return program;
    if (const Outcome freed = own.free(); outcome.fine()) outcome = freed;
    return nullptr;
}

}  // namespace

std::unique_ptr<ApplicationProgram> open_program(const conset_lib_mpi& mpi, const conset_lib_comm& comm,
                                                 const char* path, Outcome& outcome) {
    return with_handle(mpi, [&]<class Handle>(std::type_identity<Handle>) {
        return open(world_of<Handle>(mpi, comm), path, mpi.datatype_null, outcome);
    });
}

void describe_connections(const RankConnections& part, std::int64_t global_phase, int* count,
                          conset_connection_info* connections) {
    const auto begin = as_size(part.offsets[global_phase]), end = as_size(part.offsets[global_phase + 1]);
    if (count != nullptr) *count = static_cast<int>(end - begin);
    if (connections == nullptr) return;
    for (std::size_t k = begin; k < end; ++k)
        connections[k - begin] = {part.peer[k],   part.send[k] != 0 ? CONSET_SEND : CONSET_RECEIVE,
                                  part.order[k],  part.id[k],
                                  part.bytes[k],  part.bandwidth[k],
                                  part.latency[k]};
}

void describe_block(const RankConnections& part, int block, std::int64_t phases, conset_block_info& info) {
    info = {};
    part.names[as_size(block)].copy(info.name, sizeof(info.name) - 1);
    info.phases = static_cast<int>(phases);
    info.repeat = part.repeat[block];
    info.turns = part.turns[block];
}

int find_block(const RankConnections& part, const char* name) {
    const auto begin = part.names.begin(), end = part.names.end();
    const std::string block = "block '" + std::string(name) + "': ";
    const auto found = std::find(begin, end, name);
    if (found == end) {
        std::string known;
        for (const auto& each : part.names) known += (known.empty() ? "" : ", ") + each;
        throw Failure(Code::argument, block + "there is none; known: " + known);
    }
    if (const auto other = std::find(found + 1, end, name); other != end)
        throw Failure(Code::argument, block + "blocks " + std::to_string(found - begin) + " and " +
                                          std::to_string(other - begin) + " have this name: use a number");
    return static_cast<int>(found - begin);
}

conset_step step_after(const ApplicationProgram& program, conset_step step) {
    const RankConnections& part = program.part();
    if (step.block >= 0) {
        static_cast<void>(program.global_phase(step.block, step.phase));
        const std::int64_t repeat = part.repeat[step.block];
        if (step.repetition < 0 || step.repetition >= repeat)
            throw Failure(Code::argument, "repetition " + std::to_string(step.repetition) + " of block " +
                                              std::to_string(step.block) + ": there are " + std::to_string(repeat));
    }
    const auto turned = [&] { return part.turns[step.block] != 0 && step.repetition % 2 != 0; };
    if (step.block >= 0) {
        const auto last = static_cast<int>(program.phases(step.block)) - 1;
        if (step.phase != (turned() ? 0 : last)) {
            step.phase += turned() ? -1 : 1;
            return step;
        }
        if (++step.repetition < part.repeat[step.block]) {
            step.phase = turned() ? last : 0;
            return step;
        }
    }
    const auto blocks = static_cast<int>(part.names.size());
    int block = step.block < 0 ? 0 : step.block + 1;
    while (block < blocks && program.phases(block) == 0) ++block;
    return {block < blocks ? block : -1, 0, 0};
}

}  // namespace conset::capi
