#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "conset/runtime/exchange.hpp"

namespace conset {

namespace {

constexpr std::array<std::pair<std::string_view, double>, 5> kTimeUnits{
    {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}}};

constexpr std::array<std::pair<std::string_view, double>, 7> kSizeUnits{
    {{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}}};

std::string_view stripped(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
    return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

[[noreturn]] void refuse(const std::string& what) { throw Failure(Code::argument, "options: " + what); }

// A number and one of the units, without which only 0 is one.
double parse_quantity(const char* key, std::string_view text, View<const std::pair<std::string_view, double>> units,
                      const char* example) {
    double value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit = stripped({rest, static_cast<std::size_t>(text.data() + text.size() - rest)});
    const auto known = std::find_if(units.begin(), units.end(), [&](auto each) { return each.first == unit; });
    const std::string what = std::string(key) + " '" + std::string(text) + "': ";
    if (error != std::errc{} || (known == units.end() && (value != 0 || !unit.empty())))
        refuse(what + "expected a number and a unit, as in " + example);
    if (!std::isfinite(value) || value < 0) refuse(what + "must be at least 0, and finite");
    return known == units.end() ? 0 : value * known->second;
}

template <class Number>
Number parse_number(const char* key, std::string_view text, const char* most) {
    Number value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || rest != text.data() + text.size() || value < 0)
        refuse(std::string(key) + " '" + std::string(text) + "': must be a whole number from 0 to " + most);
    return value;
}

}  // namespace

ExchangeOptions ExchangeOptions::parse(std::string_view text) {
    ExchangeOptions options;
    std::string seen = ";";
    while (!stripped(text).empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        const std::string_view pair = stripped(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        if (equals == std::string_view::npos) refuse("'" + std::string(pair) + "': expected key=value");
        const std::string key(stripped(pair.substr(0, equals)));
        const std::string_view value = stripped(pair.substr(equals + 1));
        if (seen.find(";" + key + ";") != std::string::npos) refuse("'" + key + "' is given twice");
        seen += key + ";";
        if (value.empty())
            refuse("'" + key + "' has no value");
        else if (key == "machine")
            options.machine = value;
        else if (key == "method")
            options.method = value;
        else if (key == "sync")
            options.sync = value;
        else if (key == "compute")
            options.compute = value;
        else if (key == "schedule")
            options.schedule = value;
        else if (key == "timeout")
            options.timeout_s = parse_quantity("timeout", value, kTimeUnits, "10s (s, ms, us, ns, min)");
        else if (key == "combine")
            options.combine = value;
        else if (key == "memory")
            options.memory = static_cast<std::int64_t>(
                std::min(parse_quantity("memory", value, kSizeUnits, "64MiB (B, KB, MB, GB, KiB, MiB, GiB)"), 0x1p62));
        else if (key == "seed")
            options.seed = parse_number<std::uint64_t>("seed", value, "2^64 - 1");
        else if (key == "measure")
            options.measure = parse_number<std::int32_t>("measure", value, "2^31 - 1");
        else if (key == "ranks_per_node")
            options.ranks_per_node = parse_number<std::int32_t>("ranks_per_node", value, "2^31 - 1");
        else if (key == "effort")
            options.effort = parse_number<std::int32_t>("effort", value, "2^31 - 1");
        else
            refuse("unknown key '" + key +
                   "': known are machine, ranks_per_node, method, sync, timeout, seed, compute, effort, "
                   "combine, memory, measure, schedule");
    }
    options.check();
    return options;
}

void ExchangeOptions::check() const {
    if (compute != "all" && compute != "one" && compute != "auto")
        refuse("compute '" + compute + "': must be all, one or auto");
    if (combine != "none" && combine != "auto") refuse("combine '" + combine + "': must be none or auto");
    if (memory < 0) refuse("memory " + std::to_string(memory) + " B: must be at least 0");
    const ExchangeOptions none;
    if (!schedule.empty() &&
        (machine != none.machine || method != none.method || sync != none.sync || compute != none.compute ||
         seed != none.seed || effort != none.effort || combine != none.combine || memory != none.memory ||
         measure != none.measure || ranks_per_node != none.ranks_per_node))
        refuse(
            "schedule: is compiled already, machine, ranks_per_node, method, sync, compute, effort, seed, combine, "
            "memory and measure cannot be given beside it");
    if (!std::isfinite(timeout_s) || timeout_s < 0)
        refuse("timeout " + std::to_string(timeout_s) + " s: must be at least 0, and finite");
}

}  // namespace conset
