// SPDX-License-Identifier: Apache-2.0
// Watches processes from outside, through /proc and the slots in which processes with the library
// say that they have it. A process is taken to run without the library if it was found twice, some
// time apart, as a program of which no process has a slot: at the first time it may still have been
// loading. Programs that run for a few milliseconds only are not found; so nothing here claims that
// a program has not used CUDA.
#include "unseen.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EVERY_NS = 10000000,
    MOST_PROCESSES = 256, // that are looked at, at once
    DEEPEST = 16,
};

void record_unseen_begin(struct record_unseen *unseen, const char *socket_path)
{
    unseen->presence = event_presence_make(socket_path);
}

void record_unseen_become(const struct record_unseen *unseen)
{
    if (unseen->presence)
        atomic_store(&unseen->presence->root, getpid());
}

// --- Slots ---------------------------------------------------------------------------------------

static uint32_t slot_count(const struct event_presence *presence)
{
    const uint32_t others = atomic_load(&presence->count);
    return others < EVENT_PRESENT_SLOTS - 1 ? others + 1 : EVENT_PRESENT_SLOTS;
}

// Returns whether some process with the library ran that program. A child of fork has no slot.
static bool had_library(const struct record_unseen *unseen, uint64_t device, uint64_t inode)
{
    const struct event_presence *presence = unseen->presence;
    for (uint32_t i = 0; i < slot_count(presence); i++) {
        const struct event_presence_slot *slot = &presence->slots[i];
        if (atomic_load(&slot->pid) && slot->device == device && slot->inode == inode)
            return true;
    }
    return false;
}

// --- Processes -----------------------------------------------------------------------------------

static bool read_name(pid_t pid, char name[EVENT_PRESENT_NAME])
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(name, 1, EVENT_PRESENT_NAME, file) : 0;
    if (file)
        fclose(file);
    if (got)
        name[got - 1] = '\0'; // the newline
    return got > 0;
}

static bool lacks_environment(pid_t pid)
{
    char path[64], *text = NULL;
    size_t length = 0;
    struct base_error error;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    if (base_file_read(path, &text, &length, &error) != BASE_OK)
        return false;
    bool socket = false, library = false;
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        socket |= strncmp(at, EVENT_SOCKET_VARIABLE "=", strlen(EVENT_SOCKET_VARIABLE "=")) == 0;
        library |= strncmp(at, "LD_PRELOAD=", strlen("LD_PRELOAD=")) == 0 &&
                   strstr(at, "libglint.so") != NULL;
    }
    free(text);
    return !socket || !library;
}

static void note(struct record_unseen *unseen, pid_t pid, const struct stat *about,
                 const char *link)
{
    char path[PATH_MAX];
    for (uint32_t i = 0; i < unseen->count; i++) {
        struct record_unseen_program *known = &unseen->programs[i];
        if (known->pid == pid && known->device == about->st_dev && known->inode == about->st_ino) {
            known->times++;
            known->lacks_environment = lacks_environment(pid);
            return;
        }
    }
    const ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (unseen->count == UNSEEN_MOST || length <= 0)
        return;
    path[length] = '\0';
    struct record_unseen_program *program = &unseen->programs[unseen->count];
    *program = (struct record_unseen_program){.pid = pid,
                                              .device = (uint64_t)about->st_dev,
                                              .inode = (uint64_t)about->st_ino,
                                              .path = strdup(path),
                                              .lacks_environment = lacks_environment(pid),
                                              .times = 1};
    unseen->count += program->path != NULL;
}

static void look_at(struct record_unseen *unseen, pid_t pid, uint32_t *left, int depth);

static void look_at_children(struct record_unseen *unseen, const char *path, uint32_t *left,
                             int depth)
{
    FILE *file = fopen(path, "re");
    int child;
    while (file && *left && fscanf(file, "%d", &child) == 1) // NOLINT: the kernel's numbers
        look_at(unseen, child, left, depth + 1);
    if (file)
        fclose(file);
}

static void look_at(struct record_unseen *unseen, pid_t pid, uint32_t *left, int depth)
{
    char path[300];
    struct stat about;
    --*left;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    const bool known = stat(path, &about) == 0;
    const bool has = known && had_library(unseen, (uint64_t)about.st_dev, (uint64_t)about.st_ino);
    if (pid == unseen->root && known)
        unseen->same = has && read_name(pid, unseen->name);
    if (known && !has)
        note(unseen, pid, &about, path);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *threads = depth < DEEPEST ? opendir(path) : NULL;
    for (const struct dirent *entry; threads && *left && (entry = readdir(threads));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, entry->d_name);
        look_at_children(unseen, path, left, depth);
    }
    if (threads)
        closedir(threads);
}

void record_unseen_look(struct record_unseen *unseen, int64_t now_ns)
{
    uint32_t left = MOST_PROCESSES;
    if (!unseen->presence || !unseen->root || now_ns - unseen->looked_ns < EVERY_NS)
        return;
    unseen->looked_ns = now_ns;
    look_at(unseen, unseen->root, &left, 0);
}

// --- The result ----------------------------------------------------------------------------------

// Its executable is unknown by now, but not its name. A program can also change that itself, so a
// new name counts only if the program did not have it already when it was last looked at.
void record_unseen_ended(struct record_unseen *unseen, struct record_why *why)
{
    char name[EVENT_PRESENT_NAME] = "";
    if (!unseen->presence || !read_name(unseen->root, name))
        return;
    const struct event_presence_slot *slot = &unseen->presence->slots[0];
    if (atomic_load(&slot->pid) && !(atomic_load(&slot->flags) & EVENT_PRESENT_ENDED) &&
        strcmp(name, slot->name) != 0 && !(unseen->same && strcmp(name, unseen->name) == 0))
        memcpy(why->became, name, sizeof(name));
}

static void tell_slot(const struct event_presence_slot *slot, bool root, struct record_why *why)
{
    const uint32_t flags = atomic_load(&slot->flags);
    const uint32_t refusal = atomic_load(&slot->refusal);
    if (!atomic_load(&slot->pid))
        return;
    why->processes++;
    why->loaded |= root;
    why->used_cuda |= (flags & EVENT_PRESENT_CALLED) != 0;
    why->driver_loaded |= (flags & EVENT_PRESENT_DRIVER) != 0;
    why->runtime_loaded |= (flags & EVENT_PRESENT_RUNTIME) != 0;
    if (refusal && !why->refused) {
        why->refused = refusal == EVENT_REFUSED_MEMORY ? RECORD_WHY_MEMORY : RECORD_WHY_CONNECTION;
        why->refused_error = atomic_load(&slot->error);
    }
}

void record_unseen_tell(const struct record_unseen *unseen, struct record_why *why)
{
    if (!unseen->presence)
        return;
    why->known = true;
    for (uint32_t i = 0; i < slot_count(unseen->presence); i++)
        tell_slot(&unseen->presence->slots[i], i == 0, why);
    for (uint32_t i = 0; i < unseen->count; i++) {
        const struct record_unseen_program *program = &unseen->programs[i];
        const bool twice = program->times > 1 || program->pid == unseen->root;
        bool told = false;
        for (uint32_t k = 0; k < why->unloaded_count; k++)
            told |= strcmp(why->unloaded[k].path, program->path) == 0;
        if (!twice || told || had_library(unseen, program->device, program->inode) ||
            why->unloaded_count == RECORD_WHY_MOST)
            continue;
        char *path = strdup(program->path);
        if (path)
            why->unloaded[why->unloaded_count++] =
                (struct record_unloaded){path, program->lacks_environment};
    }
}

void record_unseen_tell_captured(const struct record_unseen *unseen,
                                 struct record_captured *captured)
{
    uint32_t flags = 0;
    if (!unseen->presence)
        return;
    for (uint32_t i = 0; i < slot_count(unseen->presence); i++)
        flags |= atomic_load(&unseen->presence->slots[i].flags);
    *captured = (struct record_captured){.known = true,
                                         .nvtx = flags & EVENT_PRESENT_NVTX,
                                         .range = flags & EVENT_PRESENT_RANGE,
                                         .other = flags & EVENT_PRESENT_OTHER,
                                         .inside = flags & EVENT_PRESENT_INSIDE};
}

void record_unseen_fini(struct record_unseen *unseen)
{
    for (uint32_t i = 0; i < unseen->count; i++)
        free(unseen->programs[i].path);
    event_presence_release(unseen->presence);
    *unseen = (struct record_unseen){0};
}
