// What a call from an application comes to: a code, 0 where it is fine, and who and where in words.
#pragma once

#include <stdexcept>
#include <string>

namespace conset {

// The numbers are part of the C interface (conset.h).
enum class Code : int {
    fine = 0,
    argument = 1,  // an argument or option is wrong
    file = 2,      // a file cannot be read, or is none of ours
    mismatch = 3,  // ranks do not agree: counts, number of ranks
    state = 4,     // started twice, freed, an exchange is running
    schedule = 5,  // no schedule within the limits, or a method that does not apply
    timeout = 6,   // the deadline has passed
    mpi = 7,       // a call of MPI failed
    memory = 8,
    internal = 9,
};

struct Outcome {
    Code code = Code::fine;
    std::string detail;  // one line: rank, peer, phase
    bool fine() const { return code == Code::fine; }
};

// Thrown inside the library and nowhere beyond it.
class Failure : public std::runtime_error {
public:
    Failure(Code found, const std::string& detail) : std::runtime_error(detail), code(found) {}
    Code code;
};

}  // namespace conset
