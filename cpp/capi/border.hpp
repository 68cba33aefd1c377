// The border to C: what goes wrong inside becomes a code, and a line that this thread may ask for.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "conset/runtime/outcome.hpp"

namespace conset::capi {

// Keeps the line where the outcome is an error; its code.
int report(const Outcome& outcome) noexcept;
int report(Code code, const char* detail) noexcept;
// The line of this thread's last error.
const char* last_detail() noexcept;

// The code that a function of the interface returns: of the outcome of `work`, or of what it throws.
template <class Work>
int guarded(Work&& work) noexcept {
    try {
        return report(std::forward<Work>(work)());
    } catch (const Failure& failure) {
        return report(failure.code, failure.what());
    } catch (const std::bad_alloc&) {
        return report(Code::memory, "not enough memory");
    } catch (const std::exception& error) {
        return report(Code::internal, error.what());
    } catch (...) {
        return report(Code::internal, "an unknown exception");
    }
}

}  // namespace conset::capi
