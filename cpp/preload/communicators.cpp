#include "communicators.hpp"

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>

#include "ordering.hpp"

namespace conset::preload {

namespace {

std::mutex guard;
World the_world;
std::atomic<bool> known{false};
Bits world_group = 0;
int keyval = 0;
std::set<Communicator*> communicators;
std::atomic<Communicator*> of_world{nullptr};  // that of MPI_COMM_WORLD, which most calls are on

int copy_nothing(Bits, int, void*, void*, void*, int* copied) {
    *copied = 0;
    return 0;
}

int forget(Bits, int, void* value, void*) {
    auto* const communicator = static_cast<Communicator*>(value);
    {
        const std::scoped_lock lock(guard);
        communicators.erase(communicator);
        if (of_world == communicator) of_world = nullptr;
    }
    delete communicator;
    return 0;
}

// Within the guard. What is called here is local.
bool find_world() {
    if (known) return true;
    const Library& mpi = Library::get();
    int initialized = 0, finalized = 0;
    call("MPI_Initialized", &initialized);
    call("MPI_Finalized", &finalized);
    if (finalized != 0) return false;
    if (initialized != 0) {
        if (call("MPI_Comm_group", mpi.comm_world, &world_group) != 0) return false;
        Bits parent = 0;
        call("MPI_Comm_get_parent", &parent);
        the_world.spawned = mpi.handle(parent) != mpi.comm_null;
    }
    if (world_group == 0) return false;
    the_world.initialized = initialized != 0;
    call("MPI_Group_rank", world_group, &the_world.rank);
    call("MPI_Group_size", world_group, &the_world.size);
    if (call("MPI_Comm_create_keyval", reinterpret_cast<void*>(&copy_nothing), reinterpret_cast<void*>(&forget),
             &keyval, static_cast<void*>(nullptr)) != 0)
        return false;
    known = true;
    return true;
}

}  // namespace

Communicator::Communicator() = default;
Communicator::~Communicator() = default;

std::string ranges_text(View<const std::int32_t> ranks) {
    std::string text;
    for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        end = begin + 1;
        while (ranks[begin] >= 0 && end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
        text += text.empty() ? "" : ",";
        text += ranks[begin] < 0 ? "x" : std::to_string(ranks[begin]);
        if (end > begin + 1) text += "-" + std::to_string(ranks[end - 1]);
    }
    return text;
}

void end_orderings() {
    const std::scoped_lock lock(guard);
    for (Communicator* const each : communicators) {
        if (each->ordering != nullptr) each->ordering->leave();
        each->ordering.reset();
    }
    Ordering::end();
}

void use_session(Bits session) {
    const std::scoped_lock lock(guard);
    if (known || world_group != 0) return;
    const Library& mpi = Library::get();
    if (auto* const group = mpi.call<int(Bits, const char*, Bits*)>("MPI_Group_from_session_pset"); group != nullptr)
        group(session, "mpi://WORLD", &world_group);
}

const World* world() {
    const std::scoped_lock lock(guard);
    return find_world() ? &the_world : nullptr;
}

Communicator* communicator_of(Bits comm) {
    const Library& mpi = Library::get();
    comm = mpi.handle(comm);
    if (comm == mpi.comm_world)
        if (Communicator* const known_world = of_world; known_world != nullptr) return known_world;
    if (comm == mpi.comm_null) return nullptr;
    static auto* const get_attr = mpi.call<int(Bits, int, void*, int*)>("MPI_Comm_get_attr");
    void* found = nullptr;
    int flag = 0;
    const auto fine = [&] { return get_attr(comm, keyval, static_cast<void*>(&found), &flag) == 0; };
    if (known && fine() && flag != 0) return static_cast<Communicator*>(found);
    const std::scoped_lock lock(guard);
    if (!find_world() || !fine()) return nullptr;
    if (flag != 0) return static_cast<Communicator*>(found);  // of another thread meanwhile
    auto made = std::make_unique<Communicator>();
    made->handle = comm;
    int inter = 0;
    call("MPI_Comm_test_inter", comm, &inter);
    made->inter = inter != 0;
    call("MPI_Comm_rank", comm, &made->rank);
    Bits group = 0;
    call(made->inter ? "MPI_Comm_remote_group" : "MPI_Comm_group", comm, &group);
    call("MPI_Group_size", group, &made->size);
    Array<int> ranks(as_size(made->size));
    std::iota(ranks.begin(), ranks.end(), 0);
    made->members.resize(as_size(made->size));
    call("MPI_Group_translate_ranks", group, made->size, ranks.data(), world_group, made->members.data());
    for (std::int32_t& member : made->members)
        if (member < 0 || member >= the_world.size) member = -1;
    made->text = ranges_text({made->members.data(), made->members.size()});
    call("MPI_Group_free", &group);
    if (call("MPI_Comm_set_attr", comm, keyval, made.get()) != 0) return nullptr;
    communicators.insert(made.get());
    if (comm == mpi.comm_world) of_world = made.get();
    return made.release();
}

}  // namespace conset::preload
