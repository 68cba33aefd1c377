// Exchange ejection: one phase fewer, by moving items that throw out others; part of the exchange search.
#pragma once

#include <cstdint>
#include <random>

#include "conset/array.hpp"
#include "conset/scheduling/complete_exchange/exchange_search.hpp"

namespace conset {

class Ejection {
public:
    Ejection(const ExchangeSearch& search, ExchangePacking packing, std::uint64_t seed);

    ExchangePacking run(std::int32_t target, std::int64_t moves);

private:
    static constexpr std::int32_t kNobody = -1;

    std::int32_t* holders(std::int32_t row, std::int32_t phase) {
        return holder_.data() + first_holder_[row] + static_cast<std::int64_t>(phase) * search_.capacity_[row];
    }
    void build(std::int32_t phases);
    bool reduce(std::int64_t& moves);
    void put(std::int32_t item, std::int64_t alternative, std::int32_t phase);
    void take_out(std::int32_t item, std::int64_t move);
    std::int32_t blockers(std::int64_t alternative, std::int32_t phase, std::int32_t most);
    void move_in(std::int32_t item, std::int64_t move);

    const ExchangeSearch& search_;
    ExchangePacking packing_;
    std::mt19937_64 random_;
    std::int32_t phases_ = 0;
    Array<std::int64_t> first_holder_;
    Array<std::int32_t> holder_, outside_, place_outside_, found_;
    Array<std::int32_t> tabu_;    // [item * phases + phase]: the move until which it may not return
    Array<std::int64_t> mark_;    // [item]: the evaluation that counted it last
    Array<std::int64_t> thrown_;  // [item]: how often it was thrown out; breaks ties towards the patient
    std::int64_t evaluation_ = 0;
};

}  // namespace conset
