// SPDX-License-Identifier: Apache-2.0
// The file in which processes with libglint.so say that they have it. It has its full size from the
// start, so that no access faults, and lies in the folder of the socket, which is the user's only.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "event.h"

static const char file_name[] = "processes";

static int open_beside(const char *socket_path, int flags)
{
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(file_name)];
    const char *slash = strrchr(socket_path, '/');
    const size_t folder = slash ? (size_t)(slash - socket_path) + 1 : 0;
    if (folder + sizeof(file_name) > sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, socket_path, folder);
    memcpy(path + folder, file_name, sizeof(file_name));
    return open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
}

// Closes the descriptor.
static struct event_presence *map_file(int file)
{
    const size_t bytes = sizeof(struct event_presence);
    struct stat about;
    void *memory = MAP_FAILED;
    if (file < 0)
        return NULL;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == (off_t)bytes)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int why = errno;
    close(file);
    errno = why;
    return memory == MAP_FAILED ? NULL : memory;
}

struct event_presence *event_presence_make(const char *socket_path)
{
    const int file = open_beside(socket_path, O_CREAT | O_EXCL);
    const int failed =
        file >= 0 ? posix_fallocate(file, 0, (off_t)sizeof(struct event_presence)) : 0;
    if (failed) {
        close(file);
        errno = failed;
        return NULL;
    }
    return map_file(file);
}

struct event_presence *event_presence_join(const char *socket_path)
{
    return map_file(open_beside(socket_path, 0));
}

static struct event_presence_slot *choose(struct event_presence *presence)
{
    const uint32_t number = atomic_fetch_add(&presence->count, 1) + 1;
    return number < EVENT_PRESENT_SLOTS ? &presence->slots[number] : NULL;
}

static void copy_slot(struct event_presence_slot *to, const struct event_presence_slot *from)
{
    atomic_store(&to->flags, atomic_load(&from->flags));
    atomic_store(&to->refusal, atomic_load(&from->refusal));
    atomic_store(&to->error, atomic_load(&from->error));
    to->device = from->device;
    to->inode = from->inode;
    memcpy(to->name, from->name, sizeof(to->name));
    atomic_store(&to->pid, atomic_load(&from->pid));
}

// The program's first process has the first slot. What it was before exec goes to another one.
static struct event_presence_slot *choose_root(struct event_presence *presence)
{
    struct event_presence_slot *root = &presence->slots[0];
    struct event_presence_slot *earlier = atomic_load(&root->pid) ? choose(presence) : NULL;
    if (earlier)
        copy_slot(earlier, root);
    return root;
}

struct event_presence_slot *event_presence_take(struct event_presence *presence)
{
    const int32_t pid = getpid();
    struct event_presence_slot *slot =
        pid == atomic_load(&presence->root) ? choose_root(presence) : choose(presence);
    struct stat about;
    if (!slot)
        return NULL;
    atomic_store(&slot->flags, 0);
    atomic_store(&slot->refusal, EVENT_REFUSED_NOTHING);
    const bool known = stat("/proc/self/exe", &about) == 0;
    slot->device = known ? (uint64_t)about.st_dev : 0;
    slot->inode = known ? (uint64_t)about.st_ino : 0;
    char name[EVENT_PRESENT_NAME] = "";
    prctl(PR_GET_NAME, name);
    memcpy(slot->name, name, sizeof(name));
    atomic_store(&slot->pid, pid);
    return slot;
}

void event_presence_release(struct event_presence *presence)
{
    if (presence)
        munmap(presence, sizeof(*presence));
}
