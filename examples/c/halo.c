/* The halo exchange of a finite-element mesh in parts: y = K x, element by element, with K of equilateral triangles.
 *
 *     python examples/make_mesh.py plate.mesh
 *     conset compile plate.mesh --parts 4 --on mesh:2x2 --layout halo.npz -o halo.json
 *     conset plan halo.json --layout halo.npz -o halo.plan
 *     python examples/c/write_parts.py halo.npz plate.part
 *     mpiexec -n 4 ./halo plate.mesh plate.part halo.plan
 *
 * Every rank has the nodes of its own elements, by rising number; nodes on a border are on several ranks. What border
 * elements give goes to the others while the rest is computed; what comes from them is added. Values are small whole
 * numbers, so the sum must equal that of all elements on one rank exactly.
 */
#include <mpi.h>

#include <conset.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct Mesh {
    int elements, nodes;
    int* corners; /* shape=(elements, 3), nodes from 0 */
    int* part;    /* the rank of each element */
} Mesh;

static void fail(const char* what, const char* why) {
    fprintf(stderr, "halo: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Codes become the end of the job here; another program may do otherwise. */
static void check(const char* call, int code) {
    if (code != CONSET_SUCCESS) {
        fprintf(stderr, "halo: %s: %s: %s\n", call, conset_error_string(code), conset_error_detail());
        MPI_Abort(MPI_COMM_WORLD, code);
    }
}

static void* allocate(size_t count, size_t size) {
    void* memory = calloc(count ? count : 1, size);
    if (!memory) fail("memory", "used up");
    return memory;
}

static FILE* open_text(const char* path) {
    FILE* file = fopen(path, "r");
    if (!file) fail(path, "cannot be read");
    return file;
}

static int read_number(FILE* file, const char* path, int least) {
    int number;
    if (fscanf(file, "%d", &number) != 1 || number < least) fail(path, "a number is missing or too small");
    return number;
}

/* A mesh in METIS' form: how many elements, then their nodes from 1. */
static Mesh read_mesh(const char* mesh_path, const char* part_path) {
    Mesh mesh = {0, 0, NULL, NULL};
    FILE* file = open_text(mesh_path);
    mesh.elements = read_number(file, mesh_path, 1);
    mesh.corners = allocate(3 * (size_t)mesh.elements, sizeof *mesh.corners);
    for (int k = 0; k < 3 * mesh.elements; ++k) {
        mesh.corners[k] = read_number(file, mesh_path, 1) - 1;
        if (mesh.corners[k] >= mesh.nodes) mesh.nodes = mesh.corners[k] + 1;
    }
    fclose(file);
    file = open_text(part_path);
    mesh.part = allocate((size_t)mesh.elements, sizeof *mesh.part);
    for (int e = 0; e < mesh.elements; ++e) mesh.part[e] = read_number(file, part_path, 0);
    fclose(file);
    return mesh;
}

/* place[node]: where a rank has it in its arrays, -1 if nowhere; returns how many it has. */
static int place_nodes(const Mesh* mesh, int rank, int* place) {
    int count = 0;
    for (int k = 0; k < mesh->nodes; ++k) place[k] = -1;
    for (int e = 0; e < mesh->elements; ++e)
        for (int c = 0; c < 3; ++c)
            if (mesh->part[e] == rank) place[mesh->corners[3 * e + c]] = 0;
    for (int k = 0; k < mesh->nodes; ++k)
        if (place[k] == 0) place[k] = count++;
    return count;
}

/* The first rank that has each node, or -2 where several have: only elements with such a corner are waited for. */
static int* find_holders(const Mesh* mesh) {
    int* holder = allocate((size_t)mesh->nodes, sizeof *holder);
    for (int k = 0; k < mesh->nodes; ++k) holder[k] = -1;
    for (int k = 0; k < 3 * mesh->elements; ++k) {
        int *of = &holder[mesh->corners[k]], rank = mesh->part[k / 3];
        *of = *of == -1 || *of == rank ? rank : -2;
    }
    return holder;
}

static double value_at(int node) { return (double)(node * 7919L % 1009); }

static void add_element(const int* corner, const int* place, double* y) {
    double x[3] = {value_at(corner[0]), value_at(corner[1]), value_at(corner[2])};
    for (int c = 0; c < 3; ++c) y[place ? place[corner[c]] : corner[c]] += 3 * x[c] - (x[0] + x[1] + x[2]);
}

/* Adds what the rank's elements give: those at a border, or the others. */
static void multiply(const Mesh* mesh, int rank, const int* holder, const int* place, int at_border, double* y) {
    for (int e = 0; e < mesh->elements; ++e) {
        const int* corner = mesh->corners + 3 * e;
        int border = holder[corner[0]] == -2 || holder[corner[1]] == -2 || holder[corner[2]] == -2;
        if (mesh->part[e] == rank && border == at_border) add_element(corner, place, y);
    }
}

/* Steps of the product; returns how many values are not those of one rank alone. */
static int run(const Mesh* mesh, conset_plan* plan, int rank, int steps) {
    int *place = allocate((size_t)mesh->nodes, sizeof *place), *holder = find_holders(mesh), wrong = 0;
    size_t own = (size_t)place_nodes(mesh, rank, place);
    double *border = allocate(own, sizeof *border), *interior = allocate(own, sizeof *interior);
    double *sum = allocate(own, sizeof *sum), *whole = allocate((size_t)mesh->nodes, sizeof *whole);
    conset_exchange* exchange = NULL;

    for (int e = 0; e < mesh->elements; ++e) add_element(mesh->corners + 3 * e, NULL, whole);
    check("conset_exchange_init", conset_exchange_init(plan, border, sum, &exchange));
    for (int step = 0; step < steps; ++step) {
        for (size_t k = 0; k < own; ++k) border[k] = interior[k] = 0;
        multiply(mesh, rank, holder, place, 1, border);
        memcpy(sum, border, own * sizeof *sum); /* what comes is added to it */
        check("conset_start", conset_start(exchange));
        multiply(mesh, rank, holder, place, 0, interior); /* meanwhile */
        check("conset_wait", conset_wait(exchange));
        for (int k = 0; k < mesh->nodes; ++k)
            if (place[k] >= 0 && sum[place[k]] + interior[place[k]] != whole[k]) ++wrong;
    }
    check("conset_free", conset_free(&exchange));
    free(place), free(holder), free(border), free(interior), free(sum), free(whole);
    return wrong;
}

int main(int argc, char** argv) {
    int rank, wrong, all;
    conset_plan* plan = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) fail("arguments", "MESH PARTS PLAN required");
    Mesh mesh = read_mesh(argv[1], argv[2]);
    check("conset_plan_read", conset_plan_read(argv[3], MPI_COMM_WORLD, &plan));
    check("conset_plan_timeout", conset_plan_timeout(plan, 30));
    wrong = run(&mesh, plan, rank, 3);
    check("conset_plan_free", conset_plan_free(&plan));
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("halo: %d nodes, %d elements, %d wrong values\n", mesh.nodes, mesh.elements, all);
    free(mesh.corners), free(mesh.part);
    MPI_Finalize();
    return all != 0;
}
