// SPDX-License-Identifier: Apache-2.0
// Describes the program for the recorder, which may read /proc only after the process has ended.
#include "program.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// Appends the target of a symbolic link, with its NUL; if it cannot be read, only the NUL.
static size_t add_link(const char *link, char *text, size_t room)
{
    const ssize_t length = readlink(link, text, room - 1);
    const size_t used = length > 0 ? (size_t)length : 0;
    text[used] = '\0';
    return used + 1;
}

size_t core_program_describe(char *text, size_t room)
{
    size_t used = add_link("/proc/self/exe", text, room / 2);
    used += add_link("/proc/self/cwd", text + used, room - used);
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text + used, room - used) : -1;
    for (; got > 0 && used < room; got = read(file, text + used, room - used))
        used += (size_t)got;
    if (file >= 0)
        close(file);
    return used;
}
