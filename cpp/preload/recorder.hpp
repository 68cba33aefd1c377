// Counts what this rank sends, and writes it as text at its end. The reader, src/conset/pattern/readers/records.py,
// describes the lines.
//
// Memory is bounded: rows of exchanges are kept once, up to a limit in all; what exceeds it is added up by partner.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "communicators.hpp"
#include "sequence.hpp"

namespace conset::preload {

class Recorder {
public:
    // Null where nothing is recorded.
    static Recorder* get();

    // A message to a rank of a communicator.
    void send(Bits comm, int target, std::int64_t count, Bits type);
    // `bytes`: to each rank of the communicator; begin, end: by `now`.
    void exchange(const Communicator& in, const std::string& kind, const Array<std::int64_t>& bytes, double begin,
                  double end);
    void total(std::string_view kind, std::int64_t count, Bits type);

    // Persistent requests: what each start of one sends.
    void keep_send(Bits request, Bits comm, int target, std::int64_t count, Bits type);
    void keep_exchange(Bits request, const Communicator& in, std::string kind, Array<std::int64_t> bytes);
    void started(Bits request);
    void freed(Bits request);

    // Writes the file, anew each time. `how`: finalize, exit, abort, session.
    void write(const char* how);
    // What a rank would leave that has made one call of an exchange, of `bytes` to each member.
    static std::string of_call(const World& rank, const std::string& members, const std::string& kind,
                               const Array<std::int64_t>& bytes);

    double now() const;

private:
    Recorder(std::string folder);

    struct Size {
        int width;
        std::int64_t messages, bytes;
    };
    struct Exchange {
        std::int64_t calls = 0, bytes = 0, dropped = 0;
        double seconds = 0, first = 0, last = 0;
        Sequence sequence;
        Array<std::int64_t> rest;
    };
    struct Kept {
        std::string members, kind;  // no kind: a message
        Array<std::int64_t> bytes;
        int target = 0;
    };
    // What a call sends and where to; negative bytes: nothing to count.
    struct Message {
        int world_rank = -1;
        std::int64_t bytes = -1;
    };
    static Message message_of(Bits comm, int target, std::int64_t count, Bits type);
    void count_send(int world_rank, std::int64_t bytes);
    void count_exchange(const std::string& members, const std::string& kind, const Array<std::int64_t>& bytes,
                        double begin, double end);
    std::string row_text(const Array<std::int64_t>& bytes) const;
    std::string text(const World& world, const char* how) const;

    const std::string folder_;
    const int process_;
    const double began_;
    mutable std::mutex guard_;
    Array<Array<Size>> sent_;  // by world rank
    std::int64_t external_messages_ = 0, external_bytes_ = 0;
    std::map<std::string, std::map<std::string, Exchange>> exchanges_;  // by members, by kind
    std::unordered_map<std::string, std::int32_t> rows_;
    std::size_t row_letters_ = 0;
    std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> totals_;
    std::unordered_map<Bits, Kept> kept_;
};

}  // namespace conset::preload
