// Phases of an open program: connections opened, phases begun and ended, contexts switched. Only for the sources of
// OpenProgram.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conset/connections/packet_traffic.hpp"

namespace conset {

template <class Handle>
class PhaseSwitch {
public:
    explicit PhaseSwitch(PacketTraffic<Handle>& traffic) : traffic_(&traffic) {}
    PhaseSwitch(const PhaseSwitch&) = delete;
    PhaseSwitch& operator=(const PhaseSwitch&) = delete;
    // Calls nothing of MPI: memory of connections that are open stays MPI's.
    ~PhaseSwitch();

    bool started() const { return context_ >= 0; }
    void instantiate(int block, int phase, std::int64_t global);
    // Throws Failure (Code::mismatch) where elements were not read; the phase has ended.
    void end_phase();
    // Ends what is open; where something has failed, whatever is under way.
    void close();
    SwitchTimes times() const;

private:
    void start();
    void change(int context);
    void wait_until_read();
    void pass_barrier();
    void set_up(int context);
    void open(int number);
    void close(int number);
    PacketPlaces places();
    void join_own() const;
    bool end_all(Array<int>& pending);
    bool end(int number);
    bool end_send(int number);
    bool end_receive(int number);
    std::string unread(int number) const;

    PacketTraffic<Handle>* traffic_;
    int context_ = -1;  // none yet
    Array<int> open_;
    std::vector<PacketPlaces> unused_;  // of connections that were closed
    SwitchTimes times_;
};

extern template class PhaseSwitch<int>;
extern template class PhaseSwitch<void*>;

}  // namespace conset
