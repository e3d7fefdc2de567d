// SPDX-License-Identifier: Apache-2.0
// Finds running processes that have the recorder's socket in their environment: those that outlive
// the program (a daemon, a worker) and may still use CUDA.
#include "remaining.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "event/event.h"

// Returns true if the process was started with the socket in its environment and still runs. The
// environment of a process that has ended cannot be read.
static bool knows_socket(const char *pid, const char *socket)
{
    char path[64], wanted[160], *text = NULL;
    size_t length = 0;
    struct base_error error;
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    int size = snprintf(wanted, sizeof(wanted), EVENT_SOCKET_VARIABLE "=%s", socket);
    if (size <= 0 || (size_t)size >= sizeof(wanted) ||
        base_file_read(path, &text, &length, &error) != BASE_OK)
        return false;
    // Each variable ends with a NUL, which is compared too.
    const char *at = memmem(text, length, wanted, (size_t)size + 1);
    bool found = at && (at == text || at[-1] == '\0');
    free(text);
    return found;
}

unsigned record_remaining_processes(const char *socket)
{
    unsigned count = 0;
    DIR *processes = opendir("/proc");
    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
            count += knows_socket(entry->d_name, socket);
    }
    if (processes)
        closedir(processes);
    return count;
}
