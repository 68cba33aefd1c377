/* A matrix-vector product on a ring: y = A x, where the sum of a row visits every rank and no message is ever stored.
 *
 *     conset compile shift:by=1 --on ring:4 -o ring.json
 *     conset plan ring.json -o ring.plan
 *     mpiexec -n 4 ./connections ring.plan
 *
 * Every rank has some elements of x, the columns of A that belong to them, and wants some rows of y. It begins the sums
 * of its predecessor's rows where they leave from; each rank on the way adds what its own columns give as a sum
 * arrives, and passes it on; the last hop ends at the rank that wants the row. BATCH sums are between two ranks at
 * once, fewer than a connection's packets hold. Values are small whole numbers, so y must equal the sum on one rank
 * exactly.
 */
#include <mpi.h>

#include <conset.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 512, BATCH = 64 }; /* of a rank */

typedef struct Product {
    int rank, ranks, last; /* last: the sums have come to their end */
    int row;               /* of A, that the next sum belongs to */
    const double* x;
    double* y;
    struct conset_connection* to;
} Product;

static void check(const char* call, int code) {
    if (code != CONSET_SUCCESS) {
        fprintf(stderr, "connections: %s: %s: %s\n", call, conset_error_string(code), conset_error_detail());
        MPI_Abort(MPI_COMM_WORLD, code);
    }
}

static double matrix(int row, int column) { return (row * 7 + column * 3) % 11 - 5; }
static double vector(int column) { return column % 13 - 6; }

/* What this rank's columns add to a row. */
static double part(const Product* product) {
    const int first = product->rank * ROWS;
    double sum = 0;
    int k;
    for (k = 0; k < ROWS; ++k) sum += matrix(product->row, first + k) * product->x[k];
    return sum;
}

static void begin(void* sums, int64_t count, void* state) {
    Product* product = (Product*)state;
    int64_t k;
    for (k = 0; k < count; ++k, ++product->row) ((double*)sums)[k] = part(product);
}

static void add(const void* sums, int64_t count, void* state) {
    Product* product = (Product*)state;
    int64_t k;
    for (k = 0; k < count; ++k, ++product->row) {
        const double sum = ((const double*)sums)[k] + part(product);
        if (product->last)
            product->y[product->row - product->rank * ROWS] = sum;
        else
            check("conset_send_elements", conset_send_elements(product->to, &sum, 1, MPI_DOUBLE));
    }
}

static void multiply(Product* product, struct conset_connection* from) {
    int batch, hop;
    for (batch = 0; batch < ROWS; batch += BATCH)
        for (hop = 0; hop < product->ranks; ++hop) {
            /* begun by rank - hop for its predecessor */
            const int owner = (product->rank - hop - 1 + 2 * product->ranks) % product->ranks;
            product->row = owner * ROWS + batch;
            product->last = hop == product->ranks - 1;
            if (hop == 0)
                check("conset_send_computed", conset_send_computed(product->to, BATCH, MPI_DOUBLE, begin, product));
            else
                check("conset_receive_apply", conset_receive_apply(from, BATCH, MPI_DOUBLE, add, product));
        }
}

static int count_wrong(const Product* product) {
    int wrong = 0, row, column;
    for (row = 0; row < ROWS; ++row) {
        double sum = 0;
        for (column = 0; column < product->ranks * ROWS; ++column)
            sum += matrix(product->rank * ROWS + row, column) * vector(column);
        wrong += sum != product->y[row];
    }
    return wrong;
}

int main(int argc, char** argv) {
    static double x[ROWS], y[ROWS];
    Product product = {0, 0, 0, 0, x, y, NULL};
    struct conset_connection* from = NULL;
    conset_program* program = NULL;
    int k, wrong, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &product.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &product.ranks);
    for (k = 0; k < ROWS; ++k) x[k] = vector(product.rank * ROWS + k);
    check("conset_program_open", conset_program_open(argc > 1 ? argv[1] : "ring.plan", MPI_COMM_WORLD, &program));
    check("conset_program_timeout", conset_program_timeout(program, 30));
    check("conset_instantiate", conset_instantiate(program, 0, 0));
    check("conset_connection",
          conset_connection(program, (product.rank + 1) % product.ranks, CONSET_SEND, &product.to));
    check("conset_connection",
          conset_connection(program, (product.rank + product.ranks - 1) % product.ranks, CONSET_RECEIVE, &from));
    multiply(&product, from);
    check("conset_phase_end", conset_phase_end(program));
    check("conset_program_close", conset_program_close(&program));
    wrong = count_wrong(&product);
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (product.rank == 0) printf("connections: %d rows, %d wrong values\n", product.ranks * ROWS, all);
    MPI_Finalize();
    return 0;
}
