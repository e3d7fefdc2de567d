// SPDX-License-Identifier: Apache-2.0
// Examines libraries by their names, under the loader's lock: another thread may close one at any
// time. They are examined again after each dlopen, and within a millisecond if one was loaded in
// another way.
#include "libraries.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "inject/util/next.h"
#include "ranges.h"

const char guard_reader_io_uring[] =
    "the program uses io_uring: the system accesses its memory asynchronously";
const char guard_reader_network[] =
    "the program uses an RDMA library: network cards and other processes access its memory";
const char guard_reader_devices[] =
    "the program uses a library or device that accesses GPU memory outside of CUDA";
const char guard_reader_processes[] =
    "the program uses a library or device that lets other processes access its memory";
// Libraries, by the beginning of their file names. MPI uses those with `mpis`; libglint-mpi.so
// covers their accesses, unless the program itself is linked with them.
static const struct {
    const char *name, *why;
    bool mpis;
} libraries[] = {
    {"liburing", guard_reader_io_uring, false},
    {"libaio.", "the program uses libaio: the system accesses its memory asynchronously", false},
    {"libibverbs", guard_reader_network, true},
    {"librdmacm", guard_reader_network, true},
    {"libmlx", guard_reader_network, true},
    {"libefa", guard_reader_network, true},
    {"libucp", guard_reader_network, true},
    {"libuct", guard_reader_network, true},
    {"libfabric", guard_reader_network, true},
    {"libpsm", guard_reader_network, true},
    {"libportals", guard_reader_network, true},
    {"libnvshmem", guard_reader_network, false},
    {"libxpmem", guard_reader_processes, true},
    {"libknem", guard_reader_processes, true},
    {"libcufile", guard_reader_devices, false},
    {"libgdrapi", guard_reader_devices, false},
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };
_Static_assert(LIBRARIES <= 32, "each has a bit in struct libraries_view");

// Returns the index of the library in the list; LIBRARIES: it is not there.
static unsigned find_library(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    unsigned i = 0;
    while (i < LIBRARIES && strncmp(name, libraries[i].name, strlen(libraries[i].name)) != 0)
        i++;
    return i;
}

// What one look at the libraries finds.
struct libraries_view {
    uint64_t adds, subs; // the loader's counters
    bool begun, same;    // nothing has changed since the last time
    bool go, mpi;
    uint32_t found;            // a bit for each of the list
    const ElfW(Dyn) * program; // the executable's, which is never unloaded
};

// Returns whether the executable is linked with a library of that name.
static bool is_linked_with(const ElfW(Dyn) * dynamic, const char *name)
{
    const char *strings = NULL;
    for (const ElfW(Dyn) *at = dynamic; at && at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_STRTAB)                 // the loader has made it absolute
            strings = (const char *)at->d_un.d_ptr; // NOLINT(performance-no-int-to-ptr)
    }
    for (const ElfW(Dyn) *at = dynamic; strings && at && at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_NEEDED && strncmp(strings + at->d_un.d_val, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

// Go's linker writes a special note into the executable.
static bool is_go(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *at = (const char *)info->dlpi_addr + segment->p_vaddr;
        const char *end = at + segment->p_memsz;
        ElfW(Nhdr) note;
        while (segment->p_type == PT_NOTE && (size_t)(end - at) >= sizeof(note) + 4) {
            memcpy(&note, at, sizeof(note));
            if (note.n_namesz == 4 && memcmp(at + sizeof(note), "Go\0", 4) == 0)
                return true;
            const size_t bytes =
                sizeof(note) + ((note.n_namesz + 3) & ~3u) + ((note.n_descsz + 3) & ~3u);
            if (bytes > (size_t)(end - at))
                break;
            at += bytes;
        }
    }
    return false;
}

// The executable comes first.
static int visit(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct libraries_view *view = user;
    const struct guard_libraries *known = &guard_state.libraries;
    (void)bytes;
    if (!view->begun) {
        view->begun = true;
        view->adds = info->dlpi_adds;
        view->subs = info->dlpi_subs;
        view->same = atomic_load(&known->changes) && view->adds == atomic_load(&known->adds) &&
                     view->subs == atomic_load(&known->subs);
        if (view->same)
            return 1;
        view->program = util_dynamic(info);
        view->go = is_go(info);
    }
    const unsigned found = info->dlpi_name ? find_library(info->dlpi_name) : LIBRARIES;
    if (found < LIBRARIES)
        view->found |= UINT32_C(1) << found;
    view->mpi |= util_definition(info, "MPI_Init") != NULL;
    return 0;
}

static const char *judge(const struct libraries_view *view)
{
    if (view->go)
        return "the program is written in Go: its system calls bypass the C library";
    for (unsigned i = 0; i < LIBRARIES; i++) {
        if (view->found >> i & 1 &&
            !(view->mpi && libraries[i].mpis && !is_linked_with(view->program, libraries[i].name)))
            return libraries[i].why;
    }
    return NULL;
}

void guard_libraries_look(void)
{
    enum { OFTEN_NS = 1000000 };
    struct guard_libraries *known = &guard_state.libraries;
    struct guard_readers *readers = &guard_state.readers;
    const uint32_t loads = atomic_load(&readers->loads);
    const uint64_t now = core_now_ns();
    struct libraries_view view = {0};
    if (!guard_is_asked() || (atomic_load(&readers->looked) == loads + 1 &&
                              now - atomic_load(&known->looked_ns) < OFTEN_NS))
        return;
    dl_iterate_phdr(visit, &view);
    if (!view.same) {
        atomic_store(&known->mpi, view.mpi);
        atomic_store(&known->why, judge(&view));
        atomic_store(&known->adds, view.adds);
        atomic_store(&known->subs, view.subs);
        atomic_fetch_add(&known->changes, 1);
    }
    atomic_store(&known->looked_ns, now);
    // While a library is being loaded, it may not be listed yet.
    if (!atomic_load(&readers->loading))
        atomic_store(&readers->looked, loads + 1);
}

const char *guard_libraries_why(void)
{
    return atomic_load(&guard_state.libraries.why);
}

bool guard_libraries_have_mpi(void)
{
    return atomic_load(&guard_state.libraries.mpi);
}

uint32_t guard_libraries_changes(void)
{
    return atomic_load(&guard_state.libraries.changes);
}
