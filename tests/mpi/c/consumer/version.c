#include <mpi.h>
#include <stdio.h>
/* then */
#include <conset.h>

int main(void) {
    printf("%s\n", conset_version());
    return 0;
}
