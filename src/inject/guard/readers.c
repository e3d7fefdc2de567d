// SPDX-License-Identifier: Apache-2.0
// Finds others that read or write the program's memory. Libraries are examined by libraries.c, and
// open files before each decision: a ring of io_uring is an open file even if the program made it
// by a direct system call. Readers without such a trace are not found: a ring whose
// file was closed after it was registered, and another process that calls process_vm_readv without
// the program's consent (PR_SET_PTRACER).
#include "readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "libraries.h"
#include "ranges.h"
#include "system.h"

static const char own_memory[] = "the program reads or writes its own memory through a file";
static const char traced[] = "another process traces the program";

const char *guard_readers_known(void)
{
    return atomic_load_explicit(&guard_state.readers.found, memory_order_acquire);
}

// --- Open files ----------------------------------------------------------------------------------

// System calls without libc: no function of libglint-sync.so is entered, and errno is kept.
static long call3(long number, long a, const void *b, long c)
{
    return guard_system_call(number, a, (long)(uintptr_t)b, c, 0);
}

static long status_of(long file, struct stat *status)
{
    return guard_system_call(SYS_newfstatat, file, (long)(uintptr_t) "", (long)(uintptr_t)status,
                             AT_EMPTY_PATH);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// "/proc/4711/mem", of this process or a thread of it.
static bool is_own_memory(const char *path)
{
    char *end;
    char task[64];
    if (!begins(path, "/proc/"))
        return false;
    const unsigned long number = strtoul(path + strlen("/proc/"), &end, 10);
    if (begins(end, "/task/"))
        strtoul(end + strlen("/task/"), &end, 10);
    if (strcmp(end, "/mem") != 0)
        return false;
    snprintf(task, sizeof(task), "/proc/self/task/%lu", number);
    return guard_system_call(SYS_faccessat, AT_FDCWD, (long)(uintptr_t)task, F_OK, 0) == 0;
}

// Reads the target of a link of /proc/self/fd; empty if unknown.
static void read_name(long folder, const char *link, char *name, size_t room)
{
    const long got = guard_system_call(SYS_readlinkat, folder, (long)(uintptr_t)link,
                                       (long)(uintptr_t)name, (long)room - 1);
    name[got > 0 ? got : 0] = '\0';
}

static const char *why_of_name(const char *name)
{
    return strstr(name, "[io_uring]")                                      ? guard_reader_io_uring
           : strstr(name, "[userfaultfd]")                                 ? own_memory
           : is_own_memory(name)                                           ? own_memory
           : begins(name, "/dev/infiniband/")                              ? guard_reader_network
           : begins(name, "/dev/xpmem") || begins(name, "/dev/knem")       ? guard_reader_processes
           : begins(name, "/dev/gdrdrv") || begins(name, "/dev/nvidia-fs") ? guard_reader_devices
                                                                           : NULL;
}

// Most files are regular files, pipes, sockets or the driver's: only for others the name is read.
static bool may_be_reader(const struct stat *status, dev_t proc)
{
    enum { NVIDIA_MAJOR = 195 };
    const mode_t kind = status->st_mode & S_IFMT;
    if (kind == 0) // an anonymous file
        return true;
    if (kind == S_IFREG)
        return status->st_dev == proc;
    return kind == S_IFCHR && (status->st_rdev >> 8 & 0xfff) != NVIDIA_MAJOR;
}

static const char *look_at_file(long folder, const char *number, dev_t proc)
{
    struct stat status;
    char name[128];
    if (status_of(strtol(number, NULL, 10), &status) || !may_be_reader(&status, proc))
        return NULL;
    read_name(folder, number, name, sizeof(name));
    return why_of_name(name);
}

// A new file gets the lowest free descriptor. While that one is still free there is no new file,
// unless another was closed before it was opened; therefore all are examined again after a
// millisecond. Listing them takes 20 us, and a program may come here thousands of times per second.
static bool may_have_new_file(void)
{
    enum { OFTEN_NS = 1000000 };
    const uint64_t looked = atomic_load(&guard_state.readers.files_ns);
    return !looked || core_now_ns() - looked > OFTEN_NS ||
           guard_system_call(SYS_fcntl, atomic_load(&guard_state.readers.free_file), F_GETFD, 0,
                             0) != -EBADF;
}

static const char *look_at_files(void)
{
    struct entry { // as getdents64 returns them
        uint64_t inode;
        int64_t next;
        uint16_t bytes;
        uint8_t kind;
        char name[];
    };
    static const char path[] = "/proc/self/fd";
    uint64_t buffer[256];
    struct stat proc;
    const char *why = NULL;
    if (!may_have_new_file())
        return NULL;
    const uint64_t now = core_now_ns();
    const long folder = guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path,
                                          O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return "the program's open files cannot be listed";
    long got = status_of(folder, &proc) ? -1 : 1;
    while (got > 0 && !why) {
        got = call3(SYS_getdents64, folder, buffer, sizeof(buffer));
        for (long at = 0; at < got && !why;) {
            const struct entry *entry = (const void *)((const char *)buffer + at);
            if (entry->name[0] != '.')
                why = look_at_file(folder, entry->name, proc.st_dev);
            at += entry->bytes;
        }
    }
    guard_system_call(SYS_close, folder, 0, 0, 0);
    atomic_store(&guard_state.readers.free_file, folder);
    atomic_store(&guard_state.readers.files_ns, now);
    return why;
}

void guard_readers_opened(int file)
{
    struct stat status, proc;
    char link[32], name[128];
    static const char self[] = "/proc/self/fd/";
    if (file < 0 || guard_readers_known() || status_of(file, &status) || !S_ISREG(status.st_mode) ||
        guard_system_call(SYS_newfstatat, AT_FDCWD, (long)(uintptr_t)self, (long)(uintptr_t)&proc,
                          0) ||
        status.st_dev != proc.st_dev)
        return;
    snprintf(link, sizeof(link), "%s%d", self, file);
    read_name(AT_FDCWD, link, name, sizeof(name));
    const char *why = why_of_name(name);
    if (why)
        guard_readers_found(why);
}

// --- Tracers -------------------------------------------------------------------------------------

// A tracer that attaches later is found within a tenth of a second.
static const char *look_at_tracer(void)
{
    enum { OFTEN_NS = 100000000 };
    static const char path[] = "/proc/self/status", field[] = "\nTracerPid:\t";
    const uint64_t now = core_now_ns(), asked = atomic_load(&guard_state.readers.asked_ns);
    char text[1024];
    if (asked && now - asked < OFTEN_NS)
        return NULL;
    atomic_store(&guard_state.readers.asked_ns, now);
    const long file =
        guard_system_call(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0);
    const long got = file < 0 ? 0 : call3(SYS_read, file, text, sizeof(text) - 1);
    if (file >= 0)
        guard_system_call(SYS_close, file, 0, 0, 0);
    text[got > 0 ? got : 0] = '\0';
    const char *tracer = strstr(text, field);
    return tracer && tracer[sizeof(field) - 1] != '0' ? traced : NULL;
}

// --- All readers ---------------------------------------------------------------------------------

const char *guard_readers_find(void)
{
    const char *why = guard_readers_known();
    if (!why)
        why = guard_libraries_why();
    if (!why)
        why = look_at_files();
    if (!why)
        why = look_at_tracer();
    const char *none = NULL;
    if (why)
        atomic_compare_exchange_strong(&guard_state.readers.found, &none, why);
    return why;
}

void guard_readers_found(const char *why)
{
    const char *none = NULL;
    if (core_thread.depth ||
        !atomic_compare_exchange_strong(&guard_state.readers.found, &none, why) || !core_is_on())
        return;
    const int error = errno;
    core_layers_reader_found(why);
    if (!guard_state.table.owes)
        guard_open_all();
    errno = error;
}

// --- Loading -------------------------------------------------------------------------------------

bool guard_readers_are_loading(void)
{
    return atomic_load(&guard_state.readers.loading);
}

void guard_readers_thread_is_back(void)
{
    if (!core_thread.loading)
        return;
    core_thread.loading = false;
    atomic_fetch_sub(&guard_state.readers.loading, 1);
}

// The function that loads the library does not return here, because the loader has to see its
// caller. So nothing is owed until the thread is seen again.
void guard_readers_load(const char *escapes, const void *caller)
{
    if (core_thread.depth || core_thread.tracking || core_driver_is_below(caller))
        return;
    if (escapes) {
        guard_readers_found(escapes);
        return;
    }
    if (!core_thread.loading) {
        core_thread.loading = true;
        atomic_fetch_add(&guard_state.readers.loading, 1);
    }
    atomic_fetch_add(&guard_state.readers.loads, 1);
    if (core_is_on())
        core_layers_loading();
}
