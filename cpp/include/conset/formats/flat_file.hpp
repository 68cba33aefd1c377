// Flat files: named numbers, texts and arrays, for programs that have no Python (docs/flat-files.md). Written by
// conset/base/flat.py.
//
//     conset/plan@1                 the kind
//     phases i8 1 0                 name, type (i4 i8 f8 u1 text), entries, first byte (of the data, from 0)
//     ...
//     end                           then zeros up to a multiple of 64 bytes of the file, where the data begin: little
//                                   endian, every entry at a multiple of 8 bytes
//
// Every number of the header is held against the size of the file before anything is made of it.
#pragma once

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "conset/array.hpp"

namespace conset {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();     // of a number in a file
constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();  // of a count of MPI, which is an int

// What is asked for and is not there, or is of another type or size, throws Failure (Code::file) that names the file.
class FlatFile {
public:
    FlatFile(const std::string& path, std::string_view kind);

    bool has(std::string_view name) const;
    std::int64_t integer(std::string_view name);
    double real(std::string_view name);
    std::string text(std::string_view name);
    std::int64_t entries(std::string_view name) const;
    // Entries begin ... end - 1 of an array, or all of it.
    template <class T>
    Array<T> array(std::string_view name, std::int64_t begin, std::int64_t end);
    template <class T>
    Array<T> array(std::string_view name) {
        return array<T>(name, 0, entries(name));
    }

private:
    struct Entry {
        std::string type;
        std::int64_t entries, at;
    };
    const Entry& find(std::string_view name, std::string_view type) const;

    std::string path_;
    std::ifstream file_;
    std::int64_t data_ = 0, size_ = 0;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace conset
