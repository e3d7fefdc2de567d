// SPDX-License-Identifier: Apache-2.0
// Keeps the names of unknown functions, and writes each into the profile as a note. glint knows the
// functions that src/cudaabi/driver.h declares, hooked or not, and those for graphics, of which the
// runtime asks for all. The first questions come before the recorder is met, so names are kept
// until then, and for children of fork, which begin anew.
#include "asked.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "inject/core/hook.h"
#include "inject/core/state.h"

enum { MOST = 128, NAME_BYTES = 80 };

// Entries are only added. `ready` is set after the name; `told` is the generation of the process
// that has written the note.
static struct {
    _Atomic uint32_t count; // may exceed the room
    struct {
        _Atomic bool ready;
        _Atomic uint32_t told;
        char name[NAME_BYTES];
    } entries[MOST];
} asked;

static const char *const known_names[] = {
#include "driver_names.inc"
};

static int compare(const void *name, const void *known)
{
    return strcmp(name, *(const char *const *)known);
}

static bool is_known(const char *name)
{
    static const char *const graphics[] = {
        "cuGL", "cuEGL", "cuGraphics", "cuVDPAU", "cuWGL", "cuD3D", "cuEventCreateFromEGLSync"};
    for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++)
        if (strncmp(name, graphics[i], strlen(graphics[i])) == 0)
            return true;
    return bsearch(name, known_names, sizeof(known_names) / sizeof(known_names[0]),
                   sizeof(known_names[0]), compare);
}

static bool is_hooked(const char *name)
{
    for (int i = 0; i < HOOK_COUNT; i++)
        if (strcmp(core_hook_rows[i].name, name) == 0)
            return true;
    return false;
}

static void tell(uint32_t index)
{
    char text[NAME_BYTES + 100];
    if (!atomic_load_explicit(&asked.entries[index].ready, memory_order_acquire) ||
        atomic_exchange(&asked.entries[index].told, core_state.generation) == core_state.generation)
        return;
    snprintf(text, sizeof(text), "unknown driver function: %s", asked.entries[index].name);
    core_note(EVENT_INFO, text);
}

static void tell_all(void)
{
    const uint32_t count = atomic_load(&asked.count);
    for (uint32_t i = 0; i < count && i < MOST; i++)
        tell(i);
}

static uint32_t find(const char *name)
{
    const uint32_t count = atomic_load(&asked.count);
    uint32_t i = 0;
    while (i < count && i < MOST &&
           !(atomic_load_explicit(&asked.entries[i].ready, memory_order_acquire) &&
             strcmp(asked.entries[i].name, name) == 0))
        i++;
    return i < count ? i : MOST;
}

void hooks_asked(const char *name, int version)
{
    char text[NAME_BYTES];
    if (strncmp(name, "cu", 2) != 0 || strlen(name) > NAME_BYTES / 2)
        return;
    if (!is_known(name))
        snprintf(text, sizeof(text), "%s", name);
    else if (version && is_hooked(name)) // a newer form of a hooked function
        snprintf(text, sizeof(text), "%s of CUDA %d.%d", name, version / 1000, version % 1000 / 10);
    else
        return;
    uint32_t index = find(text);
    if (index == MOST) {
        index = atomic_fetch_add(&asked.count, 1);
        if (index >= MOST)
            return;
        memcpy(asked.entries[index].name, text, sizeof(text));
        atomic_store_explicit(&asked.entries[index].ready, true, memory_order_release);
    }
    if (core_state.phase && atomic_load(core_state.phase) == PHASE_ON)
        tell(index);
}

static bool start(const struct core_driver *driver)
{
    (void)driver;
    tell_all();
    return true;
}

const struct inject_layer hooks_asked_layer = {
    .name = "asked",
    .start = start,
    .ended = tell_all,
};
