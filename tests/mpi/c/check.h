/* What the programs of this folder check with: every rank prints what is wrong, and the program's status is not 0. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int rank, ranks, wrong;

/* Goes on after it: the other ranks wait for this one. */
#define CHECK(what)                                                                                      \
    do {                                                                                                 \
        if (!(what)) {                                                                                   \
            ++wrong;                                                                                     \
            printf("rank %d, %s:%d: %s (%s)\n", rank, __FILE__, __LINE__, #what, conset_error_detail()); \
        }                                                                                                \
    } while (0)

#define CHECK_CODE(call, code)                                                                           \
    do {                                                                                                 \
        const int found = (call);                                                                        \
        if (found != (code)) {                                                                           \
            ++wrong;                                                                                     \
            printf("rank %d, %s:%d: %s gives %d (%s), not %d\n", rank, __FILE__, __LINE__, #call, found, \
                   conset_error_detail(), (int)(code));                                                  \
        }                                                                                                \
    } while (0)

/* The same on every rank. */
static inline unsigned next_random(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static inline void fill(char* buffer, int bytes, unsigned seed) {
    int i;
    for (i = 0; i < bytes; ++i) buffer[i] = (char)next_random(&seed);
}

void check_buffers(const char* machine);
void check_neighbors(void);
void check_learned(void);
void check_refused(void);
void check_states(void);
void check_timeout(void);
void check_plan(const char* path);
void check_compiled(const char* path);

#endif
