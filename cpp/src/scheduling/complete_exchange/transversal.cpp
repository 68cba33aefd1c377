#include "conset/scheduling/complete_exchange/transversal.hpp"

#include <algorithm>
#include <random>

namespace conset {

namespace {

class TransversalSearch {
public:
    TransversalSearch(std::int32_t n, View<const std::int32_t> symbol, std::int32_t most, std::uint64_t seed)
        : n_(n),
          symbol_(symbol),
          most_(most),
          random_(seed),
          target_(size(), -1),
          source_(size(), -1),
          holder_(size(), -1),
          up_(size(), 0),
          down_(size(), 0),
          tabu_(size() * size(), 0) {
        const std::int32_t ring = n / 2 - 1;  // vertices that have a next one in the circle method
        for (std::int32_t u = 0; u < ring; ++u) {
            start(u, (u + 1) % ring);
            start(n - 1 - (u + 1) % ring, n - 1 - u);
        }
    }

    Array<std::int32_t> run() {
        for (std::int64_t move = 1; move <= 2000LL * n_; ++move) {
            Array<std::int32_t> holes;
            for (std::int32_t x = 0; x < n_; ++x)
                if (target_[x] < 0) holes.push_back(x);
            if (holes.empty()) return target_;
            if (holes.size() == 1 && stuck(holes[0]))
                eject(below(n_), move);
            else
                fill(holes[static_cast<std::size_t>(below(static_cast<std::int32_t>(holes.size())))], move);
        }
        return {};
    }

private:
    std::size_t size() const { return static_cast<std::size_t>(n_); }
    std::int32_t at(std::int32_t x, std::int32_t y) const { return symbol_[cell(x, n_, y)]; }
    std::int32_t below(std::int32_t count) {
        return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(count));
    }

    bool stuck(std::int32_t hole) const {
        const auto y = static_cast<std::int32_t>(std::find(source_.begin(), source_.end(), -1) - source_.begin());
        return holder_[at(hole, y)] >= 0;
    }

    void start(std::int32_t x, std::int32_t y) {
        if (x != y && target_[x] < 0 && source_[y] < 0 && holder_[at(x, y)] < 0 && fits(x, y)) add(x, y);
    }

    bool fits(std::int32_t x, std::int32_t y) const {
        const auto& load = x < y ? up_ : down_;
        for (std::int32_t link = std::min(x, y); link < std::max(x, y); ++link)
            if (load[link] >= most_) return false;
        return true;
    }

    void count(std::int32_t x, std::int32_t y, std::int32_t change) {
        auto& load = x < y ? up_ : down_;
        for (std::int32_t link = std::min(x, y); link < std::max(x, y); ++link) load[link] += change;
    }

    void add(std::int32_t x, std::int32_t y) {
        target_[x] = y;
        source_[y] = x;
        holder_[at(x, y)] = x;
        count(x, y, 1);
    }

    void eject(std::int32_t x, std::int64_t move) {
        const std::int32_t y = target_[x];
        if (y < 0) return;
        count(x, y, -1);
        target_[x] = source_[y] = holder_[at(x, y)] = -1;
        tabu_[cell(x, n_, y)] = move + 5 + below(10);
    }

    void fill(std::int32_t x, std::int64_t move) {
        std::int32_t best = -1, least = 3, ties = 0;
        for (std::int32_t y = 0; y < n_; ++y) {
            if (tabu_[cell(x, n_, y)] > move || !fits(x, y)) continue;
            const std::int32_t a = source_[y], b = holder_[at(x, y)];
            const std::int32_t ejected = (a >= 0) + (b >= 0 && b != a);
            if (ejected > least) continue;
            ties = ejected < least ? 1 : ties + 1;
            least = ejected;
            if (below(ties) == 0) best = y;
        }
        if (best < 0) return eject(below(n_), move);
        if (source_[best] >= 0) eject(source_[best], move);
        if (holder_[at(x, best)] >= 0) eject(holder_[at(x, best)], move);
        add(x, best);
    }

    std::int32_t n_;
    View<const std::int32_t> symbol_;
    std::int32_t most_;
    std::mt19937_64 random_;
    Array<std::int32_t> target_, source_, holder_, up_, down_;
    Array<std::int64_t> tabu_;
};

}  // namespace

Array<std::int32_t> find_transversal(std::int32_t n, View<const std::int32_t> symbol, std::int32_t most,
                                     std::uint64_t seed) {
    return TransversalSearch(n, symbol, most, seed).run();
}

}  // namespace conset
