#include "sequence.hpp"

#include <algorithm>

namespace conset::preload {

namespace {

constexpr std::size_t kLongestPeriod = 64;
constexpr std::size_t kSure = 12;       // entries of which a shorter period is seen, so that A A B A A B is no run of A
constexpr std::size_t kRuns = 1 << 12;  // at most

}  // namespace

bool Sequence::is_periodic(std::size_t period, std::size_t entries) const {
    return recent_.size() >= entries && std::equal(recent_.end() - static_cast<std::ptrdiff_t>(entries - period),
                                                   recent_.end(), recent_.end() - static_cast<std::ptrdiff_t>(entries));
}

void Sequence::close() {
    const auto& rows = runs_.back().rows;
    recent_.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(at_));
    open_ = false;
    at_ = 0;
}

bool Sequence::add(std::int32_t row) {
    if (open_) {
        Run& run = runs_.back();
        if (run.rows[at_] == row) {
            if (++at_ == run.rows.size()) {
                ++run.times;
                at_ = 0;
            }
            return true;
        }
        close();
    }
    if (runs_.size() >= kRuns) return false;
    recent_.push_back(row);
    for (std::size_t period = 1; period <= kLongestPeriod && 2 * period <= recent_.size(); ++period) {
        const std::size_t times = std::max<std::size_t>(2, (kSure + period - 1) / period), entries = times * period;
        if (!is_periodic(period, entries)) continue;
        const auto begin = recent_.end() - static_cast<std::ptrdiff_t>(entries);
        if (begin != recent_.begin()) runs_.push_back({{recent_.begin(), begin}, 1});
        runs_.push_back({{begin, begin + static_cast<std::ptrdiff_t>(period)}, static_cast<std::int64_t>(times)});
        recent_.clear();
        open_ = true;
        return true;
    }
    if (recent_.size() == 3 * kLongestPeriod) {
        const auto end = recent_.begin() + kLongestPeriod;
        runs_.push_back({{recent_.begin(), end}, 1});
        recent_.erase(recent_.begin(), end);
    }
    return true;
}

std::string Sequence::text() const {
    std::string text;
    const auto add = [&](View<const std::int32_t> rows, std::int64_t times) {
        const char* before = text.empty() ? "" : " ";
        for (const std::int32_t row : rows) {
            text += before + std::to_string(row);
            before = ",";
        }
        text += "*" + std::to_string(times);
    };
    // what is no period of several rows: equal ones that follow each other are one run
    const auto add_plain = [&](View<const std::int32_t> rows) {
        for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
            while (end < rows.size() && rows[end] == rows[begin]) ++end;
            add(rows.subspan(begin, 1), static_cast<std::int64_t>(end - begin));
        }
    };
    for (const Run& run : runs_) {
        if (run.times == 1) {
            add_plain({run.rows.data(), run.rows.size()});
        } else {
            add({run.rows.data(), run.rows.size()}, run.times);
        }
    }
    if (open_) add_plain({runs_.back().rows.data(), at_});
    add_plain({recent_.data(), recent_.size()});
    return text;
}

}  // namespace conset::preload
