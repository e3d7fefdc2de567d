// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a job profile: reports on it, checks it, compares it with itself, and merges
// it. SQLite needs a file, so the bytes are written to one in memory.
#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "../job/using.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[] = "/dev/shm/glint-fuzz-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || (size_bytes && write(file, data, size_bytes) != (ssize_t)size_bytes))
        abort();
    close(file);
    using_job(path, path);
    unlink(path);
    return 0;
}
