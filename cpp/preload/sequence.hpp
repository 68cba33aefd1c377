// The rows of an exchange's calls in their order, as runs of a period: bounded memory, whatever a program does.
#pragma once

#include <cstdint>
#include <string>

#include "conset/array.hpp"

namespace conset::preload {

class Sequence {
public:
    // False where it is full: the call is not in it.
    bool add(std::int32_t row);
    // `ROW,ROW…*TIMES …`
    std::string text() const;

private:
    struct Run {
        Array<std::int32_t> rows;
        std::int64_t times;
    };
    bool is_periodic(std::size_t period, std::size_t entries) const;
    void close();  // the run that is open

    Array<Run> runs_;
    Array<std::int32_t> recent_;  // not in a run yet
    bool open_ = false;           // whether the last run may go on
    std::size_t at_ = 0;          // entries of its next period that have come
};

}  // namespace conset::preload
