#include "conset/formats/flat_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>

#include "conset/runtime/outcome.hpp"

namespace conset {

namespace {

static_assert(std::endian::native == std::endian::little, "data of flat files are little endian");

constexpr std::int64_t kLongestLine = 200;  // of a header
constexpr std::int64_t kBlock = 64;         // the header is padded to a multiple of it

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kWidth = {
    {{"i4", 4}, {"i8", 8}, {"f8", 8}, {"u1", 1}, {"text", 1}}};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw Failure(Code::file, path + ": " + why);
}

std::string in_quotes(std::string_view text) {
    std::string shown(text.substr(0, 60));
    for (char& c : shown)
        if (c < ' ' || c > '~') c = '?';
    return "'" + shown + "'";
}

// A line of the header without its newline.
std::string read_line(std::ifstream& file, const std::string& path) {
    std::string line(kLongestLine + 1, '\0');
    file.getline(line.data(), static_cast<std::streamsize>(line.size()));
    if (!file || file.eof()) refuse(path, "truncated, or no file of conset: its header has no end");
    line.resize(static_cast<std::size_t>(file.gcount()) - 1);
    return line;
}

// The words of a line, one blank between two of them.
Array<std::string_view> split(std::string_view line) {
    Array<std::string_view> words;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(' ', begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

// A whole number of at least 0, or -1.
std::int64_t parse_count(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc{} && end == word.data() + word.size() && value >= 0 ? value : -1;
}

std::int64_t width_of(std::string_view type) {
    for (const auto& [name, width] : kWidth)
        if (name == type) return width;
    return 0;
}

template <class T>
constexpr std::string_view type_of() {
    if constexpr (std::is_same_v<T, std::int32_t>) return "i4";
    if constexpr (std::is_same_v<T, std::int64_t>) return "i8";
    if constexpr (std::is_same_v<T, double>) return "f8";
    if constexpr (std::is_same_v<T, std::uint8_t>) return "u1";
    if constexpr (std::is_same_v<T, char>) return "text";
}

}  // namespace

FlatFile::FlatFile(const std::string& path, std::string_view kind) : path_(path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) refuse(path, "no such file");  // a FIFO would wait for ever
    size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    file_.open(path, std::ios::binary);
    if (error || !file_) refuse(path, "cannot be read");
    const std::string first = read_line(file_, path);
    if (first != kind) refuse(path, "must begin with '" + std::string(kind) + "', begins with " + in_quotes(first));
    for (std::string line = read_line(file_, path); line != "end"; line = read_line(file_, path)) {
        const Array<std::string_view> words = split(line);
        if (words.size() != 4 || words[0].empty() || width_of(words[1]) == 0 || parse_count(words[2]) < 0 ||
            parse_count(words[3]) < 0)
            refuse(path, "header: name, type, entries and place required, given " + in_quotes(line));
        const Entry entry{std::string(words[1]), parse_count(words[2]), parse_count(words[3])};
        if (!entries_.emplace(words[0], entry).second) refuse(path, "header: two are named " + in_quotes(words[0]));
    }
    data_ = (static_cast<std::int64_t>(file_.tellg()) + kBlock - 1) / kBlock * kBlock;
    const std::int64_t left = std::max<std::int64_t>(0, size_ - data_);
    for (const auto& [name, entry] : entries_)
        if (entry.at > left || entry.entries > (left - entry.at) / width_of(entry.type))
            refuse(path, "truncated: " + in_quotes(name) + " has " + std::to_string(entry.entries) +
                             " entries from byte " + std::to_string(entry.at) + " of " + std::to_string(left));
}

const FlatFile::Entry& FlatFile::find(std::string_view name, std::string_view type) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) refuse(path_, in_quotes(name) + " is missing");
    if (!type.empty() && found->second.type != type)
        refuse(path_, in_quotes(name) + " must be " + std::string(type) + ", is " + found->second.type);
    return found->second;
}

bool FlatFile::has(std::string_view name) const { return entries_.find(name) != entries_.end(); }

std::int64_t FlatFile::entries(std::string_view name) const { return find(name, "").entries; }

template <class T>
Array<T> FlatFile::array(std::string_view name, std::int64_t begin, std::int64_t end) {
    const Entry& entry = find(name, type_of<T>());
    if (begin < 0 || end < begin || end > entry.entries)
        refuse(path_, in_quotes(name) + ": entries " + std::to_string(begin) + " to " + std::to_string(end) +
                          " required, it has " + std::to_string(entry.entries));
    Array<T> values(as_size(end - begin));
    if (values.empty()) return values;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
    file_.clear();
    file_.seekg(data_ + entry.at + begin * kBytes);
    file_.read(reinterpret_cast<char*>(values.data()), (end - begin) * kBytes);
    if (!file_) refuse(path_, in_quotes(name) + " cannot be read");
    return values;
}

template Array<std::int32_t> FlatFile::array(std::string_view, std::int64_t, std::int64_t);
template Array<std::int64_t> FlatFile::array(std::string_view, std::int64_t, std::int64_t);
template Array<double> FlatFile::array(std::string_view, std::int64_t, std::int64_t);
template Array<std::uint8_t> FlatFile::array(std::string_view, std::int64_t, std::int64_t);
template Array<char> FlatFile::array(std::string_view, std::int64_t, std::int64_t);

std::int64_t FlatFile::integer(std::string_view name) {
    const Array<std::int64_t> value = array<std::int64_t>(name);
    if (value.size() != 1) refuse(path_, in_quotes(name) + " must be one number, is " + std::to_string(value.size()));
    return value.front();
}

double FlatFile::real(std::string_view name) {
    const Array<double> value = array<double>(name);
    if (value.size() != 1) refuse(path_, in_quotes(name) + " must be one number, is " + std::to_string(value.size()));
    return value.front();
}

std::string FlatFile::text(std::string_view name) {
    const Array<char> letters = array<char>(name);
    return {letters.begin(), letters.end()};
}

}  // namespace conset
