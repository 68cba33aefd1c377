// Heat on a torus of squares: each rank has one, its four sides go to its neighbours in a distributed graph.
//
//     mpiexec -n 4 ./halo
//
// A class holds the exchange: it is freed at the end of its scope, before MPI ends. While sides travel the interior is
// computed. In the end every rank computes the whole torus alone; bits must be equal.
#include <mpi.h>

#include <conset.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kSide = 16, kSteps = 10, kWays = 4;  // left, right, down, up
enum Way { kLeft, kRight, kDown, kUp };

void check(const char* call, int code) {
    if (code != CONSET_SUCCESS)
        throw std::runtime_error(std::string(call) + ": " + conset_error_string(code) + ": " + conset_error_detail());
}

// What conset_neighbor_alltoallv_init makes; moved, not copied.
class NeighborExchange {
public:
    NeighborExchange(MPI_Comm graph, const std::vector<double>& send, std::vector<double>& receive,
                     const std::string& options) {
        const std::array<int, kWays> counts{kSide, kSide, kSide, kSide}, displs{0, kSide, 2 * kSide, 3 * kSide};
        check("conset_neighbor_alltoallv_init",
              conset_neighbor_alltoallv_init(send.data(), counts.data(), displs.data(), MPI_DOUBLE, receive.data(),
                                             counts.data(), displs.data(), MPI_DOUBLE, graph, options.c_str(),
                                             &exchange_));
    }
    NeighborExchange(NeighborExchange&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
    NeighborExchange& operator=(NeighborExchange&&) = delete;
    NeighborExchange(const NeighborExchange&) = delete;
    NeighborExchange& operator=(const NeighborExchange&) = delete;
    ~NeighborExchange() { conset_free(&exchange_); }

    void start() { check("conset_start", conset_start(exchange_)); }
    void wait() { check("conset_wait", conset_wait(exchange_)); }

private:
    conset_exchange* exchange_ = nullptr;
};

// Ranks in rows of `columns`, both ends of a row or column are neighbours.
struct Torus {
    int columns, rows, rank;

    int at(int column, int row) const { return (row + rows) % rows * columns + (column + columns) % columns; }
    std::array<int, kWays> neighbors() const {
        const int x = rank % columns, y = rank / columns;
        return {at(x - 1, y), at(x + 1, y), at(x, y - 1), at(x, y + 1)};
    }
};

// Sources stand where what they send goes: what everybody sends to the left comes from the right. On a torus of two the
// left neighbour is the right one too, and blocks of one pair are matched in their order.
MPI_Comm make_graph(const Torus& torus) {
    const auto targets = torus.neighbors();
    const std::array<int, kWays> sources{targets[kRight], targets[kLeft], targets[kUp], targets[kDown]};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, kWays, sources.data(), MPI_UNWEIGHTED, kWays, targets.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    return graph;
}

double first_value(int x, int y) { return static_cast<double>((x * 37 + y * 101) % 64); }

double mean(double left, double right, double down, double up) { return 0.25 * ((left + right) + (down + up)); }

// A square with a border of one value: kSide + 2 in a row.
class Square {
public:
    double& at(int x, int y) { return values_[index(x, y)]; }
    double at(int x, int y) const { return values_[index(x, y)]; }

    void pack(std::vector<double>& send) const {
        for (int k = 0; k < kSide; ++k) {
            put(send, kLeft, k, at(0, k)), put(send, kRight, k, at(kSide - 1, k));
            put(send, kDown, k, at(k, 0)), put(send, kUp, k, at(k, kSide - 1));
        }
    }
    // What was sent to the left has come from the right.
    void unpack(const std::vector<double>& receive) {
        for (int k = 0; k < kSide; ++k) {
            at(kSide, k) = get(receive, kLeft, k), at(-1, k) = get(receive, kRight, k);
            at(k, kSide) = get(receive, kDown, k), at(k, -1) = get(receive, kUp, k);
        }
    }
    void step(Square& to, int x, int y) const {
        to.at(x, y) = mean(at(x - 1, y), at(x + 1, y), at(x, y - 1), at(x, y + 1));
    }
    void step_interior(Square& to) const {
        for (int y = 1; y < kSide - 1; ++y)
            for (int x = 1; x < kSide - 1; ++x) step(to, x, y);
    }
    void step_rim(Square& to) const {
        for (int k = 0; k < kSide; ++k) {
            step(to, 0, k), step(to, kSide - 1, k);
            step(to, k, 0), step(to, k, kSide - 1);
        }
    }

private:
    static std::size_t index(int x, int y) { return static_cast<std::size_t>((y + 1) * (kSide + 2) + x + 1); }
    static void put(std::vector<double>& all, Way way, int k, double value) {
        all[static_cast<std::size_t>(way * kSide + k)] = value;
    }
    static double get(const std::vector<double>& all, Way way, int k) {
        return all[static_cast<std::size_t>(way * kSide + k)];
    }
    std::vector<double> values_ = std::vector<double>((kSide + 2) * (kSide + 2));
};

Square run(const Torus& torus, MPI_Comm graph, const std::string& options) {
    std::vector<double> send(kWays * kSide), receive(kWays * kSide);
    Square now, next;
    for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x)
            now.at(x, y) = first_value(torus.rank % torus.columns * kSide + x, torus.rank / torus.columns * kSide + y);
    NeighborExchange sides(graph, send, receive, options);
    for (int k = 0; k < kSteps; ++k) {
        now.pack(send);
        sides.start();
        now.step_interior(next);  // meanwhile
        sides.wait();
        now.unpack(receive);
        now.step_rim(next);
        std::swap(now, next);
    }
    return now;
}

// The whole torus on one rank.
std::vector<double> run_alone(int width, int height) {
    const auto index = [=](int x, int y) {
        return static_cast<std::size_t>((y + height) % height * width + (x + width) % width);
    };
    std::vector<double> now(static_cast<std::size_t>(width * height)), next(now.size());
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) now[index(x, y)] = first_value(x, y);
    for (int k = 0; k < kSteps; ++k) {
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                next[index(x, y)] =
                    mean(now[index(x - 1, y)], now[index(x + 1, y)], now[index(x, y - 1)], now[index(x, y + 1)]);
        std::swap(now, next);
    }
    return now;
}

int count_wrong(const Torus& torus, const Square& mine) {
    const int width = torus.columns * kSide;
    const auto whole = run_alone(width, torus.rows * kSide);
    int wrong = 0;
    for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
            const int row = torus.rank / torus.columns * kSide + y, column = torus.rank % torus.columns * kSide + x;
            wrong += mine.at(x, y) != whole[static_cast<std::size_t>(row * width + column)];
        }
    return wrong;
}

int run_on_all() {
    int ranks = 0, wrong = 0, all = 0;
    std::array<int, 2> shape{};
    Torus torus{};
    MPI_Comm_rank(MPI_COMM_WORLD, &torus.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, shape.data());
    torus.rows = shape[0], torus.columns = shape[1];
    MPI_Comm graph = make_graph(torus);
    const auto machine = "torus:" + std::to_string(torus.rows) + "x" + std::to_string(torus.columns);
    wrong = count_wrong(torus, run(torus, graph, "machine=" + machine + ";timeout=30s"));
    MPI_Comm_free(&graph);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (torus.rank == 0) std::printf("halo: %d x %d ranks, %d wrong values\n", torus.rows, torus.columns, all);
    return all != 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int code = 1;
    try {
        code = run_on_all();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "halo: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}
