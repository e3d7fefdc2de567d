// SPDX-License-Identifier: Apache-2.0
// Reads whole files. Reads to the end instead of relying on the file's size, so that pipes and
// /proc work.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum base_code base_file_read(const char *path, char **bytes, size_t *length,
                              struct base_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    BASE_RETURN_IF(fd < 0, error, BASE_IO, "cannot open %s: %s", path, strerror(errno));
    struct stat status = {0};
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(fd);
        return base_fail(error, BASE_IO, "cannot read %s: it is a folder", path);
    }
    size_t capacity = status.st_size > 0 ? (size_t)status.st_size + 2 : 1 << 16;
    size_t used = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        if (used + 1 >= capacity) {
            char *larger = capacity < SIZE_MAX / 2 ? realloc(buffer, capacity * 2) : NULL;
            if (!larger) {
                free(buffer);
                buffer = NULL;
                break;
            }
            buffer = larger;
            capacity *= 2;
        }
        ssize_t got = read(fd, buffer + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int reason = errno;
            free(buffer);
            close(fd);
            return base_fail(error, BASE_IO, "cannot read %s: %s", path, strerror(reason));
        }
        if (got == 0)
            break;
        used += (size_t)got;
    }
    close(fd);
    if (!buffer)
        return base_no_memory_while(error, "reading %s", path);
    buffer[used] = '\0';
    *bytes = buffer;
    *length = used;
    return BASE_OK;
}
