#include "conset/runtime/agreement.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace conset {

namespace {

struct Verdict {
    Code code;
    std::uint64_t digest;
};

}  // namespace

template <class Handle>
Outcome lowest_failure(Collectives<Handle>& collectives, View<const Code> codes, const Outcome& own) {
    const auto first = std::find_if(codes.begin(), codes.end(), [](Code code) { return code != Code::fine; });
    if (first == codes.end()) return {};
    std::array<char, 512> text{};
    const int rank = static_cast<int>(first - codes.begin());
    if (rank == collectives.rank()) own.detail.copy(text.data(), text.size() - 1);
    collectives.broadcast(View<std::byte>(reinterpret_cast<std::byte*>(text.data()), text.size()), rank);
    return {*first, text.data()};
}

template <class Handle>
Outcome agree(Collectives<Handle>& collectives, Outcome own, std::uint64_t digest, const char* what) {
    const Array<Verdict> verdicts = collectives.all_gather(Verdict{own.code, digest});
    Array<Code> codes;
    for (const Verdict& verdict : verdicts) codes.push_back(verdict.code);
    const bool fine = std::all_of(codes.begin(), codes.end(), [](Code code) { return code == Code::fine; });
    if (fine) {
        for (std::size_t rank = 0; rank < verdicts.size(); ++rank)
            if (verdicts[rank].digest != verdicts[0].digest) codes[rank] = Code::mismatch;
        if (codes[collectives.rank()] == Code::mismatch)
            own = {Code::mismatch, "rank " + std::to_string(collectives.rank()) + ": " + what};
    }
    return lowest_failure(collectives, View<const Code>(codes), own);
}

template Outcome lowest_failure(Collectives<int>&, View<const Code>, const Outcome&);
template Outcome lowest_failure(Collectives<void*>&, View<const Code>, const Outcome&);
template Outcome agree(Collectives<int>&, Outcome, std::uint64_t, const char*);
template Outcome agree(Collectives<void*>&, Outcome, std::uint64_t, const char*);

}  // namespace conset
