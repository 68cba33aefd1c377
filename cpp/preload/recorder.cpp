#include "recorder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdio>
#include <utility>

namespace conset::preload {

namespace {

constexpr std::size_t kRowLetters = 4 << 20;  // of all rows of a rank
constexpr std::size_t kKept = 1 << 16;        // persistent requests

std::string seconds_text(double seconds) {
    std::array<char, 32> text{};
    const int length = std::snprintf(text.data(), text.size(), "%.6f", seconds);
    return {text.data(), as_size(length)};
}

}  // namespace

Recorder* Recorder::get() {
    static Recorder* const recorder = [] {
        const char* const folder = setting("CONSET_RECORD");
        return folder == nullptr ? nullptr : new Recorder(folder);  // never destroyed
    }();
    return recorder;
}

Recorder::Recorder(std::string folder) : folder_(std::move(folder)), process_(getpid()), began_(wall_s()) {}

double Recorder::now() const { return wall_s() - began_; }

void Recorder::count_send(int world_rank, std::int64_t bytes) {
    if (world_rank < 0) {
        ++external_messages_;
        external_bytes_ += bytes;
        return;
    }
    const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
    if (as_size(world_rank) >= sent_.size()) sent_.resize(as_size(world_rank) + 1);
    auto& sizes = sent_[world_rank];
    for (Size& size : sizes)
        if (size.width == width) {
            ++size.messages;
            size.bytes += bytes;
            return;
        }
    sizes.push_back({width, 1, bytes});
}

Recorder::Message Recorder::message_of(Bits comm, int target, std::int64_t count, Bits type) {
    const Communicator* const in = target < 0 ? nullptr : communicator_of(comm);  // MPI_PROC_NULL is negative
    if (in == nullptr || target >= in->size) return {};
    return {in->members[target], count * Library::get().type_size(type)};
}

void Recorder::send(Bits comm, int target, std::int64_t count, Bits type) {
    const Message message = message_of(comm, target, count, type);
    const std::scoped_lock lock(guard_);
    if (message.bytes >= 0) count_send(message.world_rank, message.bytes);
}

void Recorder::total(std::string_view kind, std::int64_t count, Bits type) {
    const std::int64_t bytes = count == 0 ? 0 : count * Library::get().type_size(type);
    const std::scoped_lock lock(guard_);
    auto found = totals_.find(kind);
    if (found == totals_.end()) found = totals_.emplace(kind, std::pair{0, 0}).first;
    ++found->second.first;
    found->second.second += bytes > 0 ? bytes : 0;
}

void Recorder::exchange(const Communicator& in, const std::string& kind, const Array<std::int64_t>& bytes, double begin,
                        double end) {
    const std::scoped_lock lock(guard_);
    if (in.inter) {  // partners are of another group: as messages
        for (std::size_t k = 0; k < bytes.size(); ++k)
            if (bytes[k] > 0) count_send(in.members[k], bytes[k]);
        return;
    }
    Array<std::int64_t> others = bytes;
    others[in.rank] = 0;
    count_exchange(in.text, kind, others, begin, end);
}

void Recorder::count_exchange(const std::string& members, const std::string& kind, const Array<std::int64_t>& bytes,
                              double begin, double end) {
    Exchange& exchange = exchanges_[members][kind];
    if (exchange.calls++ == 0) exchange.first = begin;
    exchange.last = end;
    exchange.seconds += end - begin;
    for (const std::int64_t each : bytes) exchange.bytes += each;
    const std::string row = row_text(bytes);
    auto found = rows_.find(row);
    if (found == rows_.end() && row_letters_ + row.size() <= kRowLetters) {
        row_letters_ += row.size() + 32;
        found = rows_.emplace(row, static_cast<std::int32_t>(rows_.size())).first;
    }
    if (found != rows_.end() && exchange.sequence.add(found->second)) return;
    ++exchange.dropped;
    exchange.rest.resize(bytes.size());
    for (std::size_t k = 0; k < bytes.size(); ++k) exchange.rest[k] += bytes[k];
}

std::string Recorder::row_text(const Array<std::int64_t>& bytes) const {
    std::string text;
    for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end) {
        while (end < bytes.size() && bytes[end] == bytes[begin]) ++end;
        if (bytes[begin] <= 0) continue;
        text += " " + std::to_string(begin);
        if (end > begin + 1) text += "-" + std::to_string(end - 1);
        text += ":" + std::to_string(bytes[begin]);
    }
    return text;
}

void Recorder::keep_send(Bits request, Bits comm, int target, std::int64_t count, Bits type) {
    const Message message = message_of(comm, target, count, type);
    const std::scoped_lock lock(guard_);
    if (message.bytes < 0 || kept_.size() >= kKept) return;
    kept_[request] = {{}, {}, {message.bytes}, message.world_rank};
}

void Recorder::keep_exchange(Bits request, const Communicator& in, std::string kind, Array<std::int64_t> bytes) {
    const std::scoped_lock lock(guard_);
    if (kept_.size() >= kKept || in.inter) return;
    bytes[in.rank] = 0;
    kept_[request] = {in.text, std::move(kind), std::move(bytes), 0};
}

void Recorder::started(Bits request) {
    const std::scoped_lock lock(guard_);
    const auto found = kept_.find(request);
    if (found == kept_.end()) return;
    const Kept& kept = found->second;
    if (kept.kind.empty()) {
        count_send(kept.target, kept.bytes.front());
    } else {
        const double at = now();
        count_exchange(kept.members, kept.kind, kept.bytes, at, at);
    }
}

void Recorder::freed(Bits request) {
    const std::scoped_lock lock(guard_);
    kept_.erase(request);
}

std::string Recorder::text(const World& world, const char* how) const {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string text = "conset/record@1\nrank " + std::to_string(world.rank) + " of " + std::to_string(world.size) +
                       "\nhost " + host.data() + "\nmpi " + Library::get().name + "\nseconds " + seconds_text(now()) +
                       "\n";
    std::int64_t number = 0;
    for (const auto& [members, kinds] : exchanges_) text += "comm " + std::to_string(number++) + " " + members + "\n";
    Array<std::string_view> rows(rows_.size());
    for (const auto& [row, k] : rows_) rows[k] = row;
    for (std::size_t k = 0; k < rows.size(); ++k) text.append("row " + std::to_string(k)).append(rows[k]).append("\n");
    number = 0;
    for (const auto& [members, kinds] : exchanges_) {
        for (const auto& [kind, exchange] : kinds) {
            const std::string which = " " + std::to_string(number) + " " + kind;
            text += "exchange" + which + " " + std::to_string(exchange.calls) + " " + std::to_string(exchange.bytes) +
                    " " + seconds_text(exchange.seconds) + " " + seconds_text(exchange.first) + " " +
                    seconds_text(exchange.last) + "\n";
            if (exchange.calls > exchange.dropped) text += "sequence" + which + " " + exchange.sequence.text() + "\n";
            if (exchange.dropped == 0) continue;
            text += "rest" + which + row_text(exchange.rest) + "\n";
            text += "dropped" + which + " " + std::to_string(exchange.dropped) + "\n";
        }
        ++number;
    }
    for (std::size_t target = 0; target < sent_.size(); ++target)
        for (const Size& size : sent_[target])
            text += "send " + std::to_string(target) + " " + std::to_string(size.width) + " " +
                    std::to_string(size.messages) + " " + std::to_string(size.bytes) + "\n";
    if (external_messages_ > 0)
        text += "external " + std::to_string(external_messages_) + " " + std::to_string(external_bytes_) + "\n";
    for (const auto& [kind, total] : totals_)
        text += "total " + kind + " " + std::to_string(total.first) + " " + std::to_string(total.second) + "\n";
    return text + "end " + how + "\n";
}

std::string Recorder::of_call(const World& rank, const std::string& members, const std::string& kind,
                              const Array<std::int64_t>& bytes) {
    Recorder recorder("");
    recorder.count_exchange(members, kind, bytes, 0, 0);
    return recorder.text(rank, "finalize");
}

void Recorder::write(const char* how) {
    if (getpid() != process_) return;  // a child of it
    const World* const of = world();
    if (of == nullptr) return;
    std::array<char, 64> name{};
    if (of->spawned) {
        std::array<char, 32> host{};
        gethostname(host.data(), host.size() - 1);
        std::snprintf(name.data(), name.size(), "/spawned-%s-%d.record", host.data(), process_);
    } else {
        std::snprintf(name.data(), name.size(), "/rank-%05d.record", of->rank);
    }
    const std::string path = folder_ + name.data(), beside = path + ".part";
    mkdir(folder_.c_str(), 0777);
    const std::scoped_lock lock(guard_);
    std::FILE* const file = std::fopen(beside.c_str(), "w");
    if (file == nullptr) {
        std::fprintf(stderr, "conset: %s: cannot be written\n", beside.c_str());
        return;
    }
    const std::string content = text(*of, how);
    const bool whole = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (std::fclose(file) != 0 || !whole || std::rename(beside.c_str(), path.c_str()) != 0)
        std::fprintf(stderr, "conset: %s: cannot be written\n", path.c_str());
}

}  // namespace conset::preload
