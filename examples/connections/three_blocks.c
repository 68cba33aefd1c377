/* A program of three blocks over connections: a transpose, a halo exchange, a tree that adds up and tells all.
 *
 *     conset compile program.toml --on iwarp:4x4 -o program.json
 *     conset plan program.json -o program.plan
 *     mpicc -std=c99 $(conset config --cflags) three_blocks.c -o three_blocks $(conset config --libs)
 *     mpiexec -n 16 ./three_blocks program.plan 100
 *
 * Elements are numbers of 8 bytes, sent one by one on all connections of a phase in turn, and received so; what a phase
 * sends on a connection fits its packets, so a rank sends all of it first. All values are whole, so every one that a
 * rank has after a block must equal what it works out for itself.
 *
 *   transpose: 64 x 64 numbers, 4 rows on each rank; every second repetition transposes back.
 *
 *   halo: 64 x 64 points that go round, a tile of 16 x 16 on each rank of a grid of 4 x 4: points become the sum of
 *   their neighbours and themselves, modulo 1009.
 *
 *   reduction: 8 sums over all tiles, up a tree, each rank adding what comes as it comes, and down again.
 */
#include <mpi.h>

#include <conset.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16, SIDE = 64, ROWS = SIDE / RANKS, GRID = 4, TILE = SIDE / GRID, SUMS = 8, MOST = 2 * RANKS };

/* A rank's part of everything. */
typedef struct Part {
    conset_program* program;
    int rank, run;
    long long checked, wrong;
    double rows[ROWS][SIDE], turned[ROWS][SIDE];
    double tile[TILE + 2][TILE + 2]; /* with halo */
    double grid[SIDE][SIDE];         /* what all tiles together must be */
    double sum[SUMS];
} Part;

/* The connections of the open phase, in posting order. */
typedef struct Phase {
    int count;
    conset_connection_info of[MOST];
    struct conset_connection* open[MOST];
} Phase;

static void check(const char* call, int code) {
    if (code == CONSET_SUCCESS) return;
    fprintf(stderr, "three_blocks: %s: %s: %s\n", call, conset_error_string(code), conset_error_detail());
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(1);
}

static void expect(Part* part, double found, double right) {
    ++part->checked;
    if (found != right) ++part->wrong;
}

/* ---- Transpose ---- */

static double element_at(int run, int row, int column) { return run * (double)(SIDE * SIDE) + row * SIDE + column; }

static void begin_rows(Part* part) {
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < SIDE; ++j) part->rows[i][j] = element_at(part->run, ROWS * part->rank + i, j);
}

/* Element k of the block of a peer goes on in its turn, on every connection of one direction. */
static void transpose_phase(Part* part, const Phase* phase, int direction) {
    for (int k = 0; k < ROWS * ROWS; ++k)
        for (int c = 0; c < phase->count; ++c) {
            int i = k / ROWS, j = k % ROWS, peer = phase->of[c].peer;
            if (phase->of[c].direction != direction) continue;
            if (direction == CONSET_SEND)
                check("send", conset_send_elements(phase->open[c], &part->rows[i][ROWS * peer + j], 1, MPI_DOUBLE));
            else
                check("receive",
                      conset_receive_elements(phase->open[c], &part->turned[j][ROWS * peer + i], 1, MPI_DOUBLE));
        }
}

static void transpose_end(Part* part, long long repetition) {
    int own = ROWS * part->rank;
    for (int i = 0; i < ROWS; ++i) /* the block that stays here */
        for (int j = 0; j < ROWS; ++j) part->turned[j][own + i] = part->rows[i][own + j];
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < SIDE; ++j) {
            int row = repetition % 2 ? own + i : j, column = repetition % 2 ? j : own + i;
            expect(part, part->turned[i][j], element_at(part->run, row, column));
        }
    memcpy(part->rows, part->turned, sizeof part->rows);
    memset(part->turned, 0xff, sizeof part->turned); /* NaN: what does not arrive is seen */
}

/* ---- Halo ---- */

static void begin_tile(Part* part) {
    int top = part->rank / GRID * TILE, left = part->rank % GRID * TILE;
    for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) part->grid[i][j] = (i * 31 + j * 17 + part->run) % 1009;
    for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j) part->tile[i + 1][j + 1] = part->grid[top + i][left + j];
}

/* Where the border towards a peer lies in a tile, or its halo: first element, and the step to the next. */
static double* border(Part* part, int peer, int halo, int* step) {
    int down = (peer / GRID - part->rank / GRID + GRID) % GRID, right = (peer % GRID - part->rank % GRID + GRID) % GRID;
    int first = halo ? 0 : 1, last = halo ? TILE + 1 : TILE;
    *step = down ? 1 : TILE + 2;
    if (down) return &part->tile[down == 1 ? last : first][1];
    return &part->tile[1][right == 1 ? last : first];
}

static void halo_phase(Part* part, const Phase* phase, int direction) {
    for (int k = 0; k < TILE; ++k)
        for (int c = 0; c < phase->count; ++c) {
            int step;
            double* at = border(part, phase->of[c].peer, direction == CONSET_RECEIVE, &step);
            if (phase->of[c].direction != direction) continue;
            if (direction == CONSET_SEND)
                check("send", conset_send_elements(phase->open[c], at + k * step, 1, MPI_DOUBLE));
            else
                check("receive", conset_receive_elements(phase->open[c], at + k * step, 1, MPI_DOUBLE));
        }
}

/* One step of the tile, and of the whole grid, which knows nothing of tiles. */
static void halo_end(Part* part, long long repetition) {
    static double next[SIDE][SIDE];
    int top = part->rank / GRID * TILE, left = part->rank % GRID * TILE, last = SIDE - 1;
    (void)repetition;
    for (int i = 1; i <= TILE; ++i)
        for (int j = 1; j <= TILE; ++j) {
            double (*t)[TILE + 2] = part->tile;
            next[i][j] = (double)((long)(t[i][j] + t[i - 1][j] + t[i + 1][j] + t[i][j - 1] + t[i][j + 1]) % 1009);
        }
    memset(part->tile, 0, sizeof part->tile);
    for (int i = 1; i <= TILE; ++i) memcpy(&part->tile[i][1], &next[i][1], TILE * sizeof next[i][1]);
    for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) {
            double (*g)[SIDE] = part->grid, sum = g[i][j] + g[(i + last) % SIDE][j] + g[(i + 1) % SIDE][j];
            next[i][j] = (double)((long)(sum + g[i][(j + last) % SIDE] + g[i][(j + 1) % SIDE]) % 1009);
        }
    memcpy(part->grid, next, sizeof next);
    for (int i = 0; i < TILE; ++i)
        for (int j = 0; j < TILE; ++j) expect(part, part->tile[i + 1][j + 1], part->grid[top + i][left + j]);
}

/* ---- Reduction ---- */

/* Sum s is of the points whose column is s modulo SUMS. */
static void begin_sums(Part* part) {
    memset(part->sum, 0, sizeof part->sum);
    for (int i = 1; i <= TILE; ++i)
        for (int j = 1; j <= TILE; ++j) part->sum[(j - 1) % SUMS] += part->tile[i][j];
}

/* Where the next element of a child is added. */
static void add(const void* elements, int64_t count, void* state) {
    double** at = state;
    const double* from = elements;
    for (int64_t k = 0; k < count; ++k) *(*at)++ += from[k];
}

/* In a tree by heap numbers the parent has a lower number, children have higher ones. */
static void reduce(Part* part, const Phase* phase, int direction, int from_above) {
    for (int c = 0; c < phase->count; ++c) {
        double* at = part->sum;
        if (phase->of[c].direction != direction || (phase->of[c].peer < part->rank) != from_above) continue;
        if (direction == CONSET_SEND)
            check("send", conset_send_elements(phase->open[c], part->sum, SUMS, MPI_DOUBLE));
        else if (from_above)
            check("receive", conset_receive_elements(phase->open[c], part->sum, SUMS, MPI_DOUBLE));
        else
            check("apply", conset_receive_apply(phase->open[c], SUMS, MPI_DOUBLE, add, &at));
    }
}

/* First up: what children send is added, then the sum goes to the parent; in the second call down again. */
static void reduction_phase(Part* part, const Phase* phase, int direction) {
    reduce(part, phase, CONSET_RECEIVE, direction == CONSET_RECEIVE);
    reduce(part, phase, CONSET_SEND, direction == CONSET_SEND);
}

static void reduction_end(Part* part, long long repetition) {
    double whole[SUMS] = {0};
    (void)repetition;
    for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) whole[j % SUMS] += part->grid[i][j];
    for (int s = 0; s < SUMS; ++s) expect(part, part->sum[s], whole[s]);
    begin_sums(part);
}

/* ---- The program ---- */

typedef struct Block {
    const char* name;
    void (*begin)(Part*);
    void (*phase)(Part*, const Phase*, int direction); /* is called for what is sent, then for what is received */
    void (*end)(Part*, long long repetition);
} Block;

static const Block blocks[] = {
    {"transpose", begin_rows, transpose_phase, transpose_end},
    {"halo", begin_tile, halo_phase, halo_end},
    {"reduction", begin_sums, reduction_phase, reduction_end},
};

static void run_phase(Part* part, int block, int number) {
    conset_connection_info of[MOST];
    Phase phase;
    check("connections", conset_phase_connections(part->program, block, number, &phase.count, NULL));
    if (phase.count > MOST) check("connections", CONSET_ERR_ARGUMENT);
    check("connections", conset_phase_connections(part->program, block, number, &phase.count, of));
    for (int c = 0; c < phase.count; ++c) phase.of[of[c].order] = of[c];
    check("instantiate", conset_instantiate(part->program, block, number));
    for (int c = 0; c < phase.count; ++c)
        check("connection", conset_connection(part->program, phase.of[c].peer, phase.of[c].direction, &phase.open[c]));
    blocks[block].phase(part, &phase, CONSET_SEND);
    blocks[block].phase(part, &phase, CONSET_RECEIVE);
    check("phase end", conset_phase_end(part->program));
}

/* All repetitions of all blocks, forth and back where a block turns. */
static void run_program(Part* part) {
    conset_step step = CONSET_NO_STEP, next;
    int begun = -1;
    check("next", conset_program_next(part->program, &step));
    for (; step.block >= 0; step = next) {
        next = step;
        check("next", conset_program_next(part->program, &next));
        if (begun != step.block) blocks[begun = step.block].begin(part);
        run_phase(part, step.block, step.phase);
        if (next.block != step.block || next.repetition != step.repetition)
            blocks[step.block].end(part, step.repetition);
    }
}

/* Sums and longest times over all ranks, on rank 0. */
static void report(const Part* part, int runs, double elapsed_s) {
    long long own[2] = {part->checked, part->wrong}, sum[2] = {0, 0};
    conset_switch_times times;
    check("times", conset_program_times(part->program, &times));
    double spent[4] = {elapsed_s, times.drain_s, times.synchronization_s, times.setup_s}, most[4] = {0, 0, 0, 0};
    MPI_Reduce(own, sum, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(spent, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (part->rank != 0) return;
    printf("three_blocks: %d runs, %lld values checked, %lld wrong\n", runs, sum[0], sum[1]);
    printf(
        "  %lld phases, %lld switches in %.3f s; of the slowest rank: drain %.3f s, synchronization %.3f s, set-up "
        "%.3f s\n",
        (long long)times.phases, (long long)times.switches, most[0], most[1], most[2], most[3]);
}

int main(int argc, char** argv) {
    static Part part;
    int ranks, found, runs = argc > 2 ? atoi(argv[2]) : 1;
    double begin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 2 || ranks != RANKS) {
        fprintf(stderr, "three_blocks: a plan file, and %d ranks, required\n", RANKS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check("open", conset_program_open(argv[1], MPI_COMM_WORLD, &part.program));
    check("timeout", conset_program_timeout(part.program, 30));
    for (int block = 0; block < 3; ++block) {
        check("block", conset_program_find(part.program, blocks[block].name, &found));
        if (found != block) check(blocks[block].name, CONSET_ERR_MISMATCH);
    }
    begin = MPI_Wtime();
    for (part.run = 0; part.run < runs; ++part.run) run_program(&part);
    report(&part, runs, MPI_Wtime() - begin);
    check("close", conset_program_close(&part.program));
    MPI_Finalize();
    return part.wrong != 0;
}
