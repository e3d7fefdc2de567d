// SPDX-License-Identifier: Apache-2.0
// streams FILE: writes to the file which descriptors the program finds, before and after it uses
// CUDA, and whether it can write to its standard streams.
#include <fcntl.h>
#include <unistd.h>

#include "program.h"

static void list(FILE *file)
{
    for (int i = 0; i < 64; i++)
        if (i != fileno(file) && fcntl(i, F_GETFD) >= 0)
            fprintf(file, "%d ", i);
    fputc('\n', file);
}

int main(int count, char **arguments)
{
    FILE *file = count == 2 ? fopen(arguments[1], "w") : NULL;
    CUdeviceptr memory;
    unsigned word = 0;
    if (!file)
        return 2;
    fprintf(file, "the first is %d\n", fileno(file));
    list(file);
    start_thread();
    CHECK(cuMemAlloc_v2(&memory, sizeof(word)));
    CHECK(cuMemsetD8_v2(memory, 3, sizeof(word)));
    CHECK(cuMemcpyDtoH_v2(&word, memory, sizeof(word)));
    list(file);
    fprintf(file, "%x, %d, %d\n", word, (int)write(STDOUT_FILENO, "\n", 1),
            (int)write(STDERR_FILENO, "\n", 1));
    fclose(file);
    return 7;
}
