// SPDX-License-Identifier: Apache-2.0
// Any bytes as a profile: opened, and all of it read. SQLite wants a file, so it is one in memory.
#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include "../profile/reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char path[] = "/dev/shm/glint-fuzz-XXXXXX";
    struct base_error error = {0};
    int file = mkstemp(path);
    if (file < 0 || (size_bytes && write(file, data, size_bytes) != (ssize_t)size_bytes))
        abort();
    close(file);
    reading_all(path, &error);
    unlink(path);
    return 0;
}
