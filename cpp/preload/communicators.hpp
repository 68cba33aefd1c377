// What is known of a communicator of the program. It hangs on an attribute that is never copied, so that it is gone
// when the communicator is, and handles may be used again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "conset/array.hpp"
#include "library.hpp"

namespace conset::preload {

class Ordering;

struct Communicator {
    Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

    Bits handle = 0;
    int rank = 0, size = 0;  // size: of the group that messages go to
    bool inter = false;
    Array<std::int32_t> members;  // world ranks of that group; -1: outside the world
    std::string text;             // the same as `0-2,5`
    std::unique_ptr<Ordering> ordering;
};

// Of this rank's world.
struct World {
    int rank = 0, size = 0;
    bool initialized = false;  // by MPI_Init; else in sessions only
    bool spawned = false;
};

// `0-2,5`; x: outside the world. Ascending neighbours are one range.
std::string ranges_text(View<const std::int32_t> ranks);

// At the end of the program: reports the exchanges that were ordered.
void end_orderings();
// Called by every thread; null where MPI does not say who is in it (it is null, or MPI is over).
Communicator* communicator_of(Bits comm);
// What MPI says of this rank, the first time that it does. Null before that.
const World* world();
// The group of `mpi://WORLD` of a session of the program, where it has not called MPI_Init.
void use_session(Bits session);

}  // namespace conset::preload
