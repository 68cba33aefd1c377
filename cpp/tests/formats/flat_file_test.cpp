// Flat files: what is there comes out; what a file promises and does not have is refused before it is believed.
#include "conset/formats/flat_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "conset/runtime/outcome.hpp"
#include "written.hpp"

namespace conset {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

std::string sound() {
    std::string file =
        "conset/plan@1\nphases i8 1 0\nrate f8 1 8\nname text 5 16\npeer i4 3 24\nwork u1 2 40\nempty i8 0 48\nend\n";
    file.resize(128, '\0');  // a multiple of 64 behind the header
    file += bytes_of<std::int64_t>({-7}) + bytes_of<double>({0.25}) + std::string("torus\0\0\0", 8);
    file += bytes_of<std::int32_t>({4, 5, 6}) + std::string(4, '\0') + std::string("\1\0\0\0\0\0\0\0", 8);
    return file;
}

std::string replaced(const std::string& from, const std::string& to) {
    std::string file = sound();
    const std::size_t at = file.find(from);
    EXPECT_NE(at, std::string::npos);
    file.replace(at, from.size(), to);
    return file;
}

// The words with which a file is refused; empty where it is not.
std::string refusal(const std::string& content) {
    const Written file(content);
    try {
        const FlatFile flat(file.path, "conset/plan@1");
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.code, Code::file);
        const std::string words = failure.what();
        EXPECT_EQ(words.find('\n'), std::string::npos);
        EXPECT_EQ(words.find(file.path), 0U);
        return words.substr(file.path.size());
    }
    return {};
}

TEST(FlatFile, GivesWhatIsThere) {
    const Written file(sound());
    FlatFile flat(file.path, "conset/plan@1");
    EXPECT_EQ(flat.integer("phases"), -7);
    EXPECT_EQ(flat.real("rate"), 0.25);
    EXPECT_EQ(flat.text("name"), "torus");
    EXPECT_EQ(flat.array<std::int32_t>("peer"), (Array<std::int32_t>{4, 5, 6}));
    EXPECT_EQ(flat.array<std::int32_t>("peer", 1, 3), (Array<std::int32_t>{5, 6}));
    EXPECT_EQ(flat.array<std::uint8_t>("work"), (Array<std::uint8_t>{1, 0}));
    EXPECT_TRUE(flat.array<std::int64_t>("empty").empty());
    EXPECT_EQ(flat.entries("peer"), 3);
    EXPECT_TRUE(flat.has("empty"));
    EXPECT_FALSE(flat.has("full"));
}

TEST(FlatFile, RefusesWhatIsNotThere) {
    const Written file(sound());
    FlatFile flat(file.path, "conset/plan@1");
    EXPECT_THROW(flat.integer("full"), Failure);
    EXPECT_THROW(flat.integer("peer"), Failure);   // another type
    EXPECT_THROW(flat.integer("empty"), Failure);  // not one number
    EXPECT_THROW(flat.array<std::int32_t>("peer", 0, 4), Failure);
    EXPECT_THROW(flat.array<std::int32_t>("peer", 2, 1), Failure);
    EXPECT_THROW(flat.array<std::int32_t>("peer", -1, 1), Failure);
    EXPECT_EQ(flat.integer("phases"), -7);  // goes on after a refusal
}

TEST(FlatFile, RefusesBrokenHeaders) {
    EXPECT_EQ(refusal(sound()), "");
    EXPECT_NE(refusal(replaced("conset/plan@1", "conset/plan@2")).find("must begin with"), std::string::npos);
    for (const char* line : {"phases i8 1", "phases i8 1 0 0", "phases i2 1 0", "phases i8 x 0", "phases i8 -1 0",
                             " i8 1 0", "phases i8 99999999999999999999 0", "phases  i8 1 0"})
        EXPECT_NE(refusal(replaced("phases i8 1 0", line)).find("header"), std::string::npos) << line;
    EXPECT_NE(refusal(replaced("rate f8", "phases f8")).find("two are named"), std::string::npos);
    EXPECT_NE(refusal(replaced("end\n", "endless\n")).find("header"), std::string::npos);
    EXPECT_NE(refusal(std::string(1000, 'a')).find("no end"), std::string::npos);
    EXPECT_NE(refusal("").find("no end"), std::string::npos);
    EXPECT_NE(refusal("conset/plan@1\nphases i8 1 0\n").find("no end"), std::string::npos);
}

TEST(FlatFile, RefusesMoreThanTheFileHolds) {
    for (const char* line : {"peer i4 7 24", "peer i4 3 45", "peer i4 9223372036854775807 24",
                             "peer i4 3 9223372036854775807", "peer i4 4611686018427387904 0"})
        EXPECT_NE(refusal(replaced("peer i4 3 24", line)).find("truncated"), std::string::npos) << line;
    for (const std::size_t size : {127U, 128U, 150U, 169U})
        EXPECT_NE(refusal(sound().substr(0, size)).find("truncated"), std::string::npos) << size;
}

TEST(FlatFile, RefusesWhatIsNoFile) {
    EXPECT_THROW(FlatFile(testing::TempDir(), "conset/plan@1"), Failure);
    EXPECT_THROW(FlatFile(testing::TempDir() + "conset_flat_nothing", "conset/plan@1"), Failure);
}

}  // namespace
}  // namespace conset
