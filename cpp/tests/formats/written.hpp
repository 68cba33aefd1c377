// A file with given content in the tests' folder, removed at the end. Its name holds the process: tests run side by
// side, each in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace conset {

class Written {
public:
    explicit Written(const std::string& content)
        : path(testing::TempDir() + "conset_" + std::to_string(getpid()) + "_" + std::to_string(count++)) {
        std::ofstream(path, std::ios::binary) << content;
    }
    Written(const Written&) = delete;
    Written& operator=(const Written&) = delete;
    ~Written() { std::filesystem::remove(path); }
    std::string path;

private:
    static inline int count = 0;
};

}  // namespace conset
