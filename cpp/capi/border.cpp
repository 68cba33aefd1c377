#include "border.hpp"

#include <string>

namespace conset::capi {

namespace {

thread_local std::string detail_of_thread;

}  // namespace

int report(Code code, const char* detail) noexcept {
    if (code != Code::fine) {
        try {
            detail_of_thread = detail;
        } catch (...) {
            detail_of_thread.clear();  // no memory for words: the code has to do
        }
    }
    return static_cast<int>(code);
}

int report(const Outcome& outcome) noexcept { return report(outcome.code, outcome.detail.c_str()); }

const char* last_detail() noexcept { return detail_of_thread.c_str(); }

}  // namespace conset::capi
