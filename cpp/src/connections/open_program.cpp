#include "conset/connections/open_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "conset/connections/phase_switch.hpp"

namespace conset {

namespace {

constexpr std::int64_t kMostPacketBytes = std::int64_t{1} << 30;
constexpr std::int32_t kMostCredits = 1 << 20;

void check(const Packets& packets) {
    const auto require = [](const char* name, std::int64_t value, std::int64_t most) {
        if (value < 1 || value > most)
            throw Failure(Code::argument, std::string(name) + ": " + std::to_string(value) + " must be from 1 to " +
                                              std::to_string(most));
    };
    require("packet bytes", packets.bytes, kMostPacketBytes);
    require("credits", packets.credits, kMostCredits);
}

void check_timeout(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0)
        throw Failure(Code::argument, "seconds: " + std::to_string(seconds) + " must be finite, and not below 0");
}

}  // namespace

template <class Handle>
struct OpenProgram<Handle>::State {
    State(const MpiWorld<Handle>& world, RankConnections part, const Packets& packets)
        : traffic(world, std::move(part), packets), phases(traffic) {}

    bool failed() const { return traffic.failed || traffic.mpi.failed(); }

    void require_usable() const {
        if (closed) throw Failure(Code::state, "the program has been closed");
        if (failed()) throw Failure(Code::state, "the program has failed before: it can be closed, no more");
    }

    // A connection of the phase, on which nothing of the application's runs.
    TrafficConnection<Handle>& require_active(int number, bool sends) {
        require_usable();
        if (number < 0 || number >= traffic.table.size())
            throw Failure(Code::argument, "connection " + std::to_string(number) + ": there are " +
                                              std::to_string(traffic.table.size()));
        auto& connection = traffic.connections[as_size(number)];
        if (!traffic.in_phase)
            throw Failure(Code::state, "the phase of the connection has ended, and no other is open");
        const int peer = traffic.table.peer(number);
        if (!connection.active)
            throw Failure(Code::argument, missing_connection(traffic.part, traffic.block, traffic.phase, peer,
                                                             traffic.table.sends(number)));
        if (sends != traffic.table.sends(number))
            traffic.fail(Code::argument, (sends ? "receives from " : "sends to ") + rank_words(traffic.part, peer) +
                                             " on this connection");
        if (connection.busy)
            traffic.fail(Code::state, "uses the connection with " + rank_words(traffic.part, peer) +
                                          " inside its own operator or producer");
        return connection;
    }

    // The bytes of so many elements.
    std::int64_t require_elements(std::int64_t count, std::int64_t element_bytes) const {
        if (element_bytes < 1 || count < 0)
            throw Failure(Code::argument, std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                                              " B: must be at least 0, of at least 1 B");
        if (count > std::numeric_limits<std::int64_t>::max() / element_bytes)
            throw Failure(Code::argument, std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                                              " B: more than 64 bits hold");
        return count * element_bytes;
    }

    void require_whole(std::int64_t element_bytes) const {
        if (element_bytes > traffic.packets.bytes)
            throw Failure(Code::argument, "an element of " + std::to_string(element_bytes) +
                                              " B does not fit a packet of " + std::to_string(traffic.packets.bytes) +
                                              " B");
    }

    void require_given(const void* data, std::int64_t count) const {
        if (data == nullptr && count > 0) throw Failure(Code::argument, "data: is NULL");
    }

    // The first send of a phase says how large elements are.
    void declare(int number, std::int64_t element_bytes) {
        traffic.require_size(number, element_bytes);
        traffic.windows[as_size(number)].element_bytes = element_bytes;
    }

    void spool(int number, const SpooledBlock& next) {
        traffic.connections[as_size(number)].spool.push_back(next);
        auto& spooling = traffic.spooling;
        if (std::find(spooling.begin(), spooling.end(), number) == spooling.end()) spooling.push_back(number);
        traffic.advance();
    }

    void keep_produced(int number, std::byte* elements, std::int64_t bytes);

    PacketTraffic<Handle> traffic;
    PhaseSwitch<Handle> phases;
    int running = 0;  // operators and producers
    bool closed = false;
};

namespace {

// An operator or producer runs on the packet in hand, which nobody else uses meanwhile.
template <class Handle>
class BusyConnection {
public:
    BusyConnection(TrafficConnection<Handle>& connection, PacketWindow& window, int& running)
        : connection_(&connection), window_(&window), running_(&running), kept_(window) {
        connection.busy = true;
        window.room = 0;
        ++running;
    }
    BusyConnection(const BusyConnection&) = delete;
    BusyConnection& operator=(const BusyConnection&) = delete;
    ~BusyConnection() {
        connection_->busy = false;
        --*running_;
        const bool left = connection_->sender && !connection_->sender->in_hand();
        if (!left) *window_ = kept_;
    }
    std::byte* elements() const { return kept_.at; }

private:
    TrafficConnection<Handle>* connection_;
    PacketWindow* window_;
    int* running_;
    PacketWindow kept_;
};

}  // namespace

template <class Handle>
OpenProgram<Handle>::OpenProgram(const MpiWorld<Handle>& world, RankConnections part, Packets packets,
                                 double timeout_s) {
    check(packets);
    check_timeout(timeout_s);
    state_ = std::make_unique<State>(world, std::move(part), packets);
    state_->traffic.timeout_s = timeout_s;
    windows_ = state_->traffic.windows.data();
    connections_ = state_->traffic.table.size();
}

template <class Handle>
OpenProgram<Handle>::~OpenProgram() = default;

template <class Handle>
void OpenProgram<Handle>::set_packets(Packets packets) {
    state_->require_usable();
    check(packets);
    if (state_->phases.started())
        throw Failure(Code::state, "packets: connections are open already; set them before the first phase");
    state_->traffic.packets = packets;
}

template <class Handle>
void OpenProgram<Handle>::set_timeout(double seconds) {
    check_timeout(seconds);
    state_->traffic.timeout_s = seconds;
}

template <class Handle>
void OpenProgram<Handle>::set_interrupt(std::function<void()> check) {
    state_->traffic.interrupt = std::move(check);
}

template <class Handle>
const RankConnections& OpenProgram<Handle>::part() const {
    return state_->traffic.part;
}

template <class Handle>
std::int64_t OpenProgram<Handle>::phases(int block) const {
    const RankConnections& all = part();
    if (block < 0 || as_size(block) >= all.names.size())
        throw Failure(Code::argument,
                      "block " + std::to_string(block) + ": there are " + std::to_string(all.names.size()));
    const auto schedule = all.block_schedule[block];
    return all.schedule_phases[schedule + 1] - all.schedule_phases[schedule];
}

template <class Handle>
std::int64_t OpenProgram<Handle>::global_phase(int block, int phase) const {
    const std::int64_t count = phases(block);
    if (phase < 0 || phase >= count)
        throw Failure(Code::argument, phase_words(part(), block, phase) + ": there are " + std::to_string(count));
    return part().schedule_phases[part().block_schedule[block]] + phase;
}

template <class Handle>
void OpenProgram<Handle>::instantiate(int block, int phase) {
    state_->require_usable();
    const std::int64_t global = global_phase(block, phase);
    if (state_->traffic.in_phase) state_->traffic.fail(Code::state, "opens another phase before it has ended this one");
    state_->phases.instantiate(block, phase, global);
}

template <class Handle>
bool OpenProgram<Handle>::in_phase() const {
    return state_->traffic.in_phase;
}

template <class Handle>
bool OpenProgram<Handle>::failed() const {
    return state_->failed();
}

template <class Handle>
int OpenProgram<Handle>::connection(int peer, bool send) const {
    state_->require_usable();
    const auto& traffic = state_->traffic;
    if (peer < 0 || peer >= traffic.part.ranks)
        throw Failure(Code::argument,
                      "peer " + std::to_string(peer) + ": there are " + std::to_string(traffic.part.ranks) + " ranks");
    if (!traffic.in_phase) throw Failure(Code::state, "no phase is open: instantiate one");
    const int number = traffic.table.find(peer, send);
    if (number < 0 || !traffic.connections[as_size(number)].active)
        throw Failure(Code::argument, missing_connection(traffic.part, traffic.block, traffic.phase, peer, send));
    const int second = traffic.table.find(peer, send, 1);
    if (second >= 0 && traffic.connections[as_size(second)].active)
        throw Failure(Code::argument, several_connections(traffic.part, traffic.block, traffic.phase, peer, send));
    return number;
}

template <class Handle>
int OpenProgram<Handle>::connection(int id) const {
    state_->require_usable();
    const auto& traffic = state_->traffic;
    if (!traffic.in_phase) throw Failure(Code::state, "no phase is open: instantiate one");
    const auto begin = traffic.part.id.begin() + traffic.part.offsets[traffic.global_phase];
    const auto end = traffic.part.id.begin() + traffic.part.offsets[traffic.global_phase + 1];
    const auto found = std::find(begin, end, id);
    if (found == end) throw Failure(Code::argument, missing_connection(traffic.part, traffic.block, traffic.phase, id));
    return traffic.table.of_phase(traffic.global_phase)[found - begin];
}

template <class Handle>
void OpenProgram<Handle>::send_slowly(int connection, const std::byte* data, std::int64_t count,
                                      std::int64_t element_bytes) {
    auto& traffic = state_->traffic;
    state_->require_active(connection, true);
    std::int64_t bytes = state_->require_elements(count, element_bytes);
    state_->require_given(data, count);
    if (count == 0) return;
    state_->declare(connection, element_bytes);
    traffic.wait_for_spool(connection);
    PacketWindow& window = traffic.windows[as_size(connection)];
    while (bytes > 0) {
        traffic.take_room(connection);
        const std::int64_t part_of_it = std::min(bytes, window.room);
        std::memcpy(window.at, data, as_size(part_of_it));
        window.advance(part_of_it);
        data += part_of_it;
        bytes -= part_of_it;
        if (window.room == 0) traffic.send_packet(connection, -1);
    }
}

template <class Handle>
void OpenProgram<Handle>::receive_slowly(int connection, std::byte* data, std::int64_t count,
                                         std::int64_t element_bytes) {
    auto& traffic = state_->traffic;
    state_->require_active(connection, false);
    std::int64_t bytes = state_->require_elements(count, element_bytes);
    state_->require_given(data, count);
    if (count == 0) return;
    traffic.wait_for_spool(connection);
    PacketWindow& window = traffic.windows[as_size(connection)];
    while (bytes > 0) {
        traffic.take_elements(connection, element_bytes, bytes);
        const std::int64_t part_of_it = std::min(bytes, window.room);
        std::memcpy(data, window.at, as_size(part_of_it));
        window.advance(part_of_it);
        data += part_of_it;
        bytes -= part_of_it;
        if (window.room == 0) traffic.release_packet(connection);
    }
}

template <class Handle>
void OpenProgram<Handle>::receive_apply(int connection, std::int64_t count, std::int64_t element_bytes, Operator apply,
                                        void* state) {
    auto& traffic = state_->traffic;
    auto& active = state_->require_active(connection, false);
    state_->require_elements(count, element_bytes);
    state_->require_whole(element_bytes);
    if (count == 0) return;
    traffic.wait_for_spool(connection);
    PacketWindow& window = traffic.windows[as_size(connection)];
    while (count > 0) {
        traffic.take_elements(connection, element_bytes, count * element_bytes);
        const std::int64_t run = std::min(count, window.room / element_bytes);
        {
            const BusyConnection busy(active, window, state_->running);
            apply(busy.elements(), run, state);
        }
        window.advance(run * element_bytes);
        count -= run;
        if (window.room == 0) traffic.release_packet(connection);
    }
}

template <class Handle>
void OpenProgram<Handle>::send_computed(int connection, std::int64_t count, std::int64_t element_bytes,
                                        Producer produce, void* state) {
    auto& traffic = state_->traffic;
    auto& active = state_->require_active(connection, true);
    state_->require_elements(count, element_bytes);
    state_->require_whole(element_bytes);
    if (count == 0) return;
    state_->declare(connection, element_bytes);
    traffic.wait_for_spool(connection);
    PacketWindow& window = traffic.windows[as_size(connection)];
    while (count > 0) {
        traffic.take_room(connection);
        const std::int64_t run = std::min(count, window.room / element_bytes);
        std::byte* elements = nullptr;
        active.produced = active.sender->filled();
        {
            const BusyConnection busy(active, window, state_->running);
            elements = busy.elements();
            produce(elements, run, state);
        }
        state_->keep_produced(connection, elements, run * element_bytes);
        count -= run;
        if (window.room == 0) traffic.send_packet(connection, -1);
    }
}

// What was in the packet before may have been sent while the producer waited: then these elements, which lie behind it,
// begin the next packet.
template <class Handle>
void OpenProgram<Handle>::State::keep_produced(int number, std::byte* elements, std::int64_t bytes) {
    PacketWindow& window = traffic.windows[as_size(number)];
    if (!traffic.connections[as_size(number)].sender->in_hand()) {
        traffic.take_room(number);
        std::memmove(window.at, elements, as_size(bytes));
    }
    window.advance(bytes);
}

template <class Handle>
void OpenProgram<Handle>::spool_send(int connection, const std::byte* data, std::int64_t count,
                                     std::int64_t element_bytes) {
    state_->require_active(connection, true);
    const std::int64_t bytes = state_->require_elements(count, element_bytes);
    state_->require_given(data, count);
    if (count == 0) return;
    state_->declare(connection, element_bytes);
    state_->spool(connection, {data, nullptr, bytes, element_bytes});
}

template <class Handle>
void OpenProgram<Handle>::spool_receive(int connection, std::byte* data, std::int64_t count,
                                        std::int64_t element_bytes) {
    state_->require_active(connection, false);
    const std::int64_t bytes = state_->require_elements(count, element_bytes);
    state_->require_given(data, count);
    if (count == 0) return;
    state_->spool(connection, {nullptr, data, bytes, element_bytes});
}

template <class Handle>
void OpenProgram<Handle>::spool_wait(int connection) {
    state_->require_usable();
    const bool known = connection >= 0 && connection < connections_;
    state_->require_active(connection, known && state_->traffic.table.sends(connection));
    state_->traffic.wait_for_spool(connection);
}

template <class Handle>
bool OpenProgram<Handle>::progress() {
    state_->require_usable();
    auto& traffic = state_->traffic;
    traffic.advance();
    traffic.flush();
    traffic.chains.answer(traffic.waiting);
    return !traffic.spooling.empty();
}

template <class Handle>
void OpenProgram<Handle>::phase_end() {
    state_->require_usable();
    if (!state_->traffic.in_phase) throw Failure(Code::state, "no phase is open: there is none to end");
    if (state_->running > 0) state_->traffic.fail(Code::state, "ends the phase inside an operator or producer");
    state_->phases.end_phase();
}

template <class Handle>
SwitchTimes OpenProgram<Handle>::times() const {
    return state_->phases.times();
}

template <class Handle>
void OpenProgram<Handle>::close() {
    if (state_->closed) return;
    if (state_->running > 0) state_->traffic.fail(Code::state, "closes the program inside an operator or producer");
    if (state_->traffic.in_phase && !failed())
        state_->traffic.fail(Code::state, "closes the program before it has ended the phase");
    state_->phases.close();
    state_->closed = true;
    state_->traffic.in_phase = false;
    for (PacketWindow& window : state_->traffic.windows) window.room = 0;
}

template class OpenProgram<int>;
template class OpenProgram<void*>;

}  // namespace conset
