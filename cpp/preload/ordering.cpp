#include "ordering.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "conset/execution/rank_executor.hpp"
#include "conset/runtime/host.hpp"
#include "conset/runtime/outcome.hpp"
#include "recorder.hpp"

namespace conset::preload {

namespace {

constexpr double kClear = 0.95;  // of the library's own time, which an order must not exceed
constexpr double kHopeless = 1.25;
constexpr std::int64_t kAgain = 1000;
constexpr std::size_t kAdvisers = 16;
constexpr double kNap_s = 1e-3;  // where ranks share cores
constexpr std::array<const char*, 3> kNames{"alltoall", "alltoallv", "alltoallw"};

double median(double a, double b, double c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); }

std::string json_text(std::string_view text) {
    std::string out = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') out += '\\';
        out += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
    return out + "\"";
}

// Of this process, and how many there may be: MPICH has 2,048 in all, and the program needs its own.
std::atomic<int> communicators{0};
constexpr int kCommunicators = 256;

// A line for the end, from a rank 0: into the file for them, or to people.
void say(const std::string& json, const std::string& text) {
    if (const char* path = setting("CONSET_SUMMARY"); path != nullptr) {
        const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
        const std::string line = json + "\n";
        if (file >= 0) {
            const bool whole = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
            if (close(file) == 0 && whole) return;
        }
    }
    std::fprintf(stderr, "conset: %s\n", text.c_str());
}

// Once: communicators with the same members, and many of them, have the same reason.
void say(const std::string& note) {
    static std::mutex once;
    static std::set<std::string> said;
    const std::scoped_lock lock(once);
    if (!said.insert(note).second) return;
    say("{\"note\": " + json_text(note) + "}", note);
}

const char* name_of(Kind kind) { return kNames[as_size(static_cast<int>(kind))]; }

// `alltoall on ranks 0-15`
std::string title(Kind kind, const std::string& members) { return std::string(name_of(kind)) + " on ranks " + members; }

using Key = std::tuple<Kind, std::string, std::size_t>;  // members, position in the period

std::mutex guard;
std::map<Key, Result> results;
std::map<std::pair<Kind, std::string>, Adviser> advisers;

// Within the guard.
bool has_ended(Adviser& adviser) {
    // it has, or it is no child any more: the program has waited for all of its own
    if (adviser.process == 0) return false;
    adviser.ended = adviser.ended || adviser.process < 0 || waitpid(adviser.process, nullptr, WNOHANG) != 0;
    return adviser.ended;
}

void summarize(const Key& key, const Result& result) {
    if (!result.first || result.calls == 0) return;
    const auto& [kind, members, position] = key;
    const Trial& trial = result.trial;
    const char* const choice = result.ordered == result.calls ? "ordered"
                               : !trial.decided()             ? "trial"
                               : trial.ordered()              ? "ordered"
                                                              : "own";
    const auto seconds = [](double time) { return time < 0 ? std::string("null") : std::to_string(time); };
    const std::string calls = std::to_string(result.calls), bytes = std::to_string(result.bytes);
    const auto ranks = std::to_string(result.ranks);
    say("{\"kind\": " + json_text(name_of(kind)) + ", \"ranks\": " + ranks + ", \"members\": " + json_text(members) +
            ", \"calls\": " + calls + ", \"own_s\": " + seconds(trial.own_s) + ", \"ordered_s\": " +
            seconds(trial.ordered_s) + ", \"choice\": " + json_text(choice) + ", \"bytes\": " + bytes + "}",
        title(kind, members) + ": " + calls + " calls, own " + seconds(trial.own_s) + " s, ordered " +
            seconds(trial.ordered_s) + " s a call: " + choice + ", " + bytes + " bytes");
}

// Of these members by position, for their rank 0, read once; empty where they keep the library's.
const Array<Array<Order>>& orders_of(Kind kind, const Communicator& in, const Adviser* adviser,
                                     const std::string& folder) {
    static std::map<std::pair<Kind, std::string>, Array<Array<Order>>> known;
    const std::scoped_lock lock(guard);
    const auto [found, fresh] = known.try_emplace({kind, in.text});
    if (!fresh) return found->second;
    std::string why;
    try {
        found->second = read_orders(folder, name_of(kind), in, world()->size);
        if (found->second.empty() && adviser != nullptr) why = "no other is predicted to be faster";
    } catch (const std::exception& error) {
        why = error.what();
        std::ifstream log(folder + "/log");
        for (std::string line; std::getline(log, line);) why = line;  // of who was to make it
    }
    if (!why.empty()) say(title(kind, in.text) + ": keeps the library's own order: " + why);
    return found->second;
}

}  // namespace

bool Trial::add(double seconds) {
    if (decided()) {
        if (++calls_ == kCalls + kAgain) calls_ = 0;
        return false;
    }
    times[as_size(calls_)] = seconds;
    ++calls_;
    return calls_ == kCalls / 2 || calls_ == kCalls;
}

void Trial::decide(const Times& longest) {
    if (calls_ < kCalls) {
        if (longest[3] <= kHopeless * longest[2]) return;
        own_s = longest[2];
        ordered_s = longest[3];
        ordered_ = false;
        calls_ = kCalls;
        return;
    }
    own_s = median(longest[2], longest[4], longest[6]);
    ordered_s = median(longest[3], longest[5], longest[7]);
    ordered_ = ordered_s <= kClear * own_s;
}

bool Ordering::enabled() {
    static const bool enabled = setting("CONSET_INTERCEPT") != nullptr &&
                                setting("CONSET_INTERCEPT") != std::string_view("never") &&
                                (setting("CONSET_ADVICE") != nullptr || setting("CONSET_ADVISE") != nullptr);
    return enabled;
}

Ordering::~Ordering() {
    int finalized = 0;
    call("MPI_Finalized", &finalized);
    if (own_ == 0 || finalized != 0) return;
    call("MPI_Comm_free", &own_);
    --communicators;
}

void Ordering::end() {
    const std::scoped_lock lock(guard);
    for (const auto& [key, result] : results) summarize(key, result);
    results.clear();
    for (auto& [key, adviser] : advisers) {
        if (adviser.process > 0 && !has_ended(adviser)) {
            kill(adviser.process, SIGTERM);
            waitpid(adviser.process, nullptr, 0);
            say(title(key.first, key.second) + ": the program ended before its plan was there");
        }
        std::error_code ignored;
        std::filesystem::remove_all(adviser.folder, ignored);
    }
    advisers.clear();
}

int Ordering::execute(const Exchange& exchange, const std::function<int()>& own) {
    Plans& plans = plans_[exchange.kind];
    const std::int64_t call = plans.calls++;
    if (plans.state == State::unknown || plans.state == State::advising) look(exchange, plans);
    if (plans.state != State::ready || !exchange.valid(in_.size)) return own();
    Position& position = plans.positions[as_size(call) % plans.positions.size()];
    if (exchange.kind == Kind::alltoall) {
        const auto bytes = exchange.send.count * Library::get().type_size(exchange.type_at(exchange.send, 0));
        const auto width =
            static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))));
        if (std::exchange(position.width, width) != width) position.trial.restart();
    }
    static const bool always = setting("CONSET_INTERCEPT") == std::string_view("always");
    const bool ordered = always || position.trial.ordered_next();
    Array<std::int64_t> bytes = exchange.bytes_of(exchange.send, in_.size);
    const double began = wall_s();
    const int code = ordered ? run(exchange, position.order) : own();
    const double seconds = wall_s() - began;
    bytes[in_.rank] = 0;
    {
        const std::scoped_lock lock(guard);
        ++position.result->calls;
        position.result->ordered += ordered ? 1 : 0;
        position.result->bytes += std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    }
    if (!always) after(position, seconds);
    return code;
}

void Ordering::after(Position& position, double seconds) {
    if (!position.trial.add(seconds)) return;
    Trial::Times longest = position.trial.times;
    const Library& mpi = Library::get();
    call("MPI_Allreduce", static_cast<const void*>(position.trial.times.data()), static_cast<void*>(longest.data()),
         Trial::kCalls, mpi.float64, mpi.max, own_);
    position.trial.decide(longest);
    const std::scoped_lock lock(guard);
    position.result->trial = position.trial;
}

// What rank 0 says.
Ordering::State Ordering::agreed(State state) const {
    auto number = static_cast<std::int32_t>(state);
    call("MPI_Bcast", static_cast<void*>(&number), 4, Library::get().numbers.byte, 0, in_.handle);
    return static_cast<State>(number);
}

void Ordering::look(const Exchange& exchange, Plans& plans) {
    const World* const world = preload::world();
    const bool inside = std::find(in_.members.begin(), in_.members.end(), -1) == in_.members.end();
    if (in_.inter || in_.size < 3 || !inside || world == nullptr || !world->initialized || world->spawned) {
        plans.state = State::refused;
        return;
    }
    const char* const advice = setting("CONSET_ADVICE");
    if (advice != nullptr) {
        hand_out(exchange.kind, plans, advice);
        return;
    }
    // while a plan is being made, rank 0 is asked at the calls 2, 4, 8 …
    if (plans.state == State::advising && !std::has_single_bit(static_cast<std::uint64_t>(plans.calls))) return;
    State state = State::ready;
    if (in_.rank == 0) {
        const std::scoped_lock lock(guard);
        const auto found = advisers.find({exchange.kind, in_.text});
        if (found != advisers.end()) plans.adviser = &found->second;
        if (plans.adviser == nullptr && advisers.size() < kAdvisers) {
            plans.adviser = &advisers[{exchange.kind, in_.text}];
            state = State::unknown;
        } else if (plans.adviser == nullptr) {
            state = State::refused;
        } else if (!has_ended(*plans.adviser)) {
            state = State::advising;
        }
    }
    plans.state = agreed(state);
    if (plans.state == State::unknown) ask(exchange, plans);
    if (plans.state == State::ready) hand_out(exchange.kind, plans, in_.rank == 0 ? plans.adviser->folder : "");
}

// Rank 0 learns what all send, writes it as a record of one call and starts what makes plans of it.
void Ordering::ask(const Exchange& exchange, Plans& plans) {
    const Library& mpi = Library::get();
    const Array<std::int64_t> own = exchange.bytes_of(exchange.send, in_.size);
    Array<std::int64_t> all(in_.rank == 0 ? own.size() * own.size() : 0);
    const int bytes = static_cast<int>(own.size() * sizeof(std::int64_t));
    call("MPI_Gather", static_cast<const void*>(own.data()), bytes, mpi.numbers.byte, static_cast<void*>(all.data()),
         bytes, mpi.numbers.byte, 0, in_.handle);
    plans.state = State::advising;
    if (in_.rank != 0) return;
    // beside the summary, whose folder is removed even if this job is killed; another host may not have it
    const std::string summary = setting("CONSET_SUMMARY") != nullptr ? setting("CONSET_SUMMARY") : "";
    const std::string base = setting("TMPDIR") != nullptr ? setting("TMPDIR") : "/tmp";
    std::string folder = summary + "-XXXXXX";
    if (summary.empty() || mkdtemp(folder.data()) == nullptr) {
        folder = base + "/conset-XXXXXX";
        if (mkdtemp(folder.data()) == nullptr) folder.clear();
    }
    const std::scoped_lock lock(guard);
    plans.adviser->folder = folder;
    plans.adviser->process = -1;
    if (folder.empty()) return;
    std::ofstream file(folder + "/call.record");
    for (std::int32_t rank = 0; rank < in_.size; ++rank) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(cell(rank, in_.size, 0));
        Array<std::int64_t> row(begin, begin + in_.size);
        row[rank] = 0;
        World of = *preload::world();
        of.rank = in_.members[rank];
        file << Recorder::of_call(of, in_.text, name_of(exchange.kind), row);
    }
    file.close();
    Array<char*> environment;
    for (char** each = environ; *each != nullptr; ++each)
        if (const std::string_view text = *each; !text.starts_with("LD_PRELOAD=") && !text.starts_with("CONSET_"))
            environment.push_back(*each);
    environment.push_back(nullptr);
    std::string command = setting("CONSET_ADVISE"), shell = "sh", option = "-c", name = "conset";
    const std::array<char*, 6> words{shell.data(), option.data(), command.data(), name.data(), folder.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, (folder + "/log").c_str(), O_WRONLY | O_CREAT, 0666);
    if (posix_spawn(&plans.adviser->process, "/bin/sh", &actions, nullptr, words.data(), environment.data()) != 0)
        plans.adviser->process = -1;
    posix_spawn_file_actions_destroy(&actions);
}

// Collective; false on all ranks where MPI has no communicator left.
bool Ordering::make_own() {
    if (own_ != 0) return true;
    const Library& mpi = Library::get();
    Bits handler = 0, group = 0;
    call("MPI_Comm_get_errhandler", in_.handle, &handler);
    call("MPI_Comm_set_errhandler", in_.handle, mpi.numbers.errors_return);
    call("MPI_Comm_group", in_.handle, &group);
    const bool made = call("MPI_Comm_create", in_.handle, group, &own_) == 0;
    double failed = made && communicators < kCommunicators ? 0 : 1, any = 0;
    call("MPI_Group_free", &group);
    call("MPI_Allreduce", static_cast<const void*>(&failed), static_cast<void*>(&any), 1, mpi.float64, mpi.max,
         in_.handle);
    call("MPI_Comm_set_errhandler", in_.handle, handler);
    call("MPI_Errhandler_free", &handler);
    if (any != 0) {
        if (made) call("MPI_Comm_free", &own_);
        own_ = 0;
        return false;
    }
    ++communicators;
    call("MPI_Comm_set_errhandler", own_, mpi.numbers.errors_return);
    HostPlace place = host_place();
    Array<HostPlace> places(as_size(in_.size));
    const int bytes = sizeof(HostPlace);
    call("MPI_Allgather", static_cast<const void*>(&place), bytes, mpi.numbers.byte, static_cast<void*>(places.data()),
         bytes, mpi.numbers.byte, own_);
    nap_s_ = ranks_per_core(places) > 1 ? kNap_s : 0;
    return true;
}

void Ordering::hand_out(Kind kind, Plans& plans, const std::string& folder) {
    const Library& mpi = Library::get();
    const Array<Array<Order>> nothing, &orders = in_.rank == 0 ? orders_of(kind, in_, plans.adviser, folder) : nothing;
    const State state = in_.rank == 0 && orders.empty() ? State::refused : State::ready;
    plans.state = agreed(state);
    if (plans.state != State::ready) return;
    if (!make_own()) {
        plans.state = State::refused;
        if (in_.rank == 0) say(title(kind, in_.text) + ": MPI has no communicator left for an order");
        return;
    }
    Array<std::int32_t> numbers, part;
    Array<int> counts(as_size(in_.size)), starts(as_size(in_.size));
    for (std::int32_t rank = 0; in_.rank == 0 && rank < in_.size; ++rank) {
        starts[rank] = static_cast<int>(numbers.size() * 4);
        numbers.push_back(static_cast<std::int32_t>(orders.size()));
        for (std::size_t k = 0; k < orders.size(); ++k) {
            const std::scoped_lock lock(guard);
            const Result& result = results[{kind, in_.text, k}];
            numbers.push_back(!result.trial.decided() ? -1 : result.trial.ordered() ? 1 : 0);
            pack_order(orders[k][rank], numbers);
        }
        counts[rank] = static_cast<int>(numbers.size() * 4) - starts[rank];
    }
    int bytes = 0;
    call("MPI_Scatter", static_cast<const void*>(counts.data()), 4, mpi.numbers.byte, static_cast<void*>(&bytes), 4,
         mpi.numbers.byte, 0, own_);
    part.resize(as_size(bytes) / 4);
    call("MPI_Scatterv", static_cast<const void*>(numbers.data()), static_cast<const int*>(counts.data()),
         static_cast<const int*>(starts.data()), mpi.numbers.byte, static_cast<void*>(part.data()), bytes,
         mpi.numbers.byte, 0, own_);
    View<const std::int32_t> left(part.data(), part.size());
    plans.positions.resize(as_size(left[0]));
    left = left.subspan(1);
    const std::scoped_lock lock(guard);
    for (std::size_t k = 0; k < plans.positions.size(); ++k) {
        Position& position = plans.positions[k];
        if (left[0] >= 0) position.trial.adopt(left[0] != 0);
        left = left.subspan(1);
        position.order = unpack_order(left);
        position.result = &results[{kind, in_.text, k}];
        position.result->first = in_.rank == 0;
        position.result->ranks = in_.size;
    }
}

int Ordering::run(const Exchange& exchange, const Order& order) {
    int code = 0;
    try {
        code = Library::get().wide ? run_with<void*>(exchange, order) : run_with<int>(exchange, order);
    } catch (const std::bad_alloc&) {
        std::fputs("conset: out of memory in an exchange\n", stderr);
        std::abort();  // the other ranks are in it
    }
    if (code != 0) call("MPI_Comm_call_errhandler", in_.handle, code);
    return code;
}

template <class Handle>
int Ordering::run_with(const Exchange& exchange, const Order& order) {
    const Library& mpi = Library::get();
    const MpiWorld<Handle> world{mpi_of<Handle>(mpi.numbers), handle_of<Handle>(own_)};
    RankBuffers<Handle> buffers{static_cast<const std::byte*>(exchange.send.buffer),
                                static_cast<std::byte*>(const_cast<void*>(exchange.receive.buffer)), world.mpi.byte,
                                world.mpi.byte};
    RankPlan plan;
    plan.phases = order.phases;
    plan.sync = order.sync;
    plan.every = order.every;
    plan.in_flight = order.in_flight;
    Array<Bits> large;  // types of ours
    const auto fill = [&](const Side& side, const RankOperations& from, RankOperations& to, Array<Handle>& types) {
        const Array<std::int64_t> bytes = exchange.bytes_of(side, in_.size);
        std::ptrdiff_t lower = 0, extent = 0;
        const bool any = std::any_of(bytes.begin(), bytes.end(), [](std::int64_t each) { return each > 0; });
        if (any && exchange.kind != Kind::alltoallw)
            world.mpi.calls.type_get_extent(handle_of<Handle>(exchange.type_at(side, 0)), &lower, &extent);
        Array<std::uint8_t> listed(bytes.size());
        const auto add = [&](std::int64_t phase, std::int32_t peer) {
            listed[peer] = 1;
            if (bytes[peer] == 0) return;
            std::int64_t count = exchange.count_at(side, as_size(peer));
            Bits type = exchange.type_at(side, as_size(peer));
            if (count > std::numeric_limits<int>::max()) {  // of MPI 4
                Bits made = 0;
                call("MPI_Type_contiguous_c", count, type, &made);
                call("MPI_Type_commit", &made);
                large.push_back(made);
                type = made;
                count = 1;
            }
            to.phase.push_back(static_cast<std::int32_t>(phase));
            to.peer.push_back(peer);
            to.offset.push_back(exchange.start_at(side, as_size(peer), extent));
            to.bytes.push_back(std::min<std::int64_t>(bytes[peer], std::numeric_limits<int>::max()));
            to.count.push_back(static_cast<int>(count));
            types.push_back(handle_of<Handle>(type));
        };
        add(0, in_.rank);  // what a rank has for itself is a message like any other
        for (std::size_t k = 0; k < from.size(); ++k) add(from.phase[k], from.peer[k]);
        for (std::int32_t peer = 0; peer < in_.size; ++peer)
            if (listed[peer] == 0) add(order.phases - 1, peer);
    };
    fill(exchange.send, order.sends, plan.sends, buffers.send_types);
    fill(exchange.receive, order.receives, plan.receives, buffers.receive_types);
    RankExecutor<Handle> executor(world, std::move(plan), {}, buffers);
    int code = 0;
    ExchangeState state = executor.prepare() ? executor.start() : ExchangeState::failed;
    // a message that failed has ended; the others go on, so that no rank waits for this one
    for (std::size_t tries = 0; state != ExchangeState::ended; ++tries) {
        if (state == ExchangeState::failed) {
            code = code == 0 ? executor.failure().code : code;
            if (!executor.running() || tries > 4 * as_size(in_.size)) break;
        }
        state = executor.wait(std::numeric_limits<double>::infinity(), nap_s_);
    }
    if (!executor.running()) executor.release();
    for (Bits& each : large) call("MPI_Type_free", &each);
    return code;
}

}  // namespace conset::preload
