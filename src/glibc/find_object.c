// SPDX-License-Identifier: Apache-2.0
// Finds the image (executable or library) at an address. glibc 2.35 and later have _dl_find_object
// for this; libglint.so walks stacks with it, and so does the compiler's unwinder. Older loaders
// have a list, which this file searches. A thread remembers the images that it found last, because
// the same few are on every call path, and a process may have hundreds.
#include "glibc.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int glibc_finder(void *address, struct dl_find_object *found);

// --- The loader's list ---------------------------------------------------------------------------

enum { REMEMBERED = 16 };

struct image { // what is set of a struct dl_find_object: threads may have small stacks
    void *start, *end, *frames;
    struct link_map *object;
};

// Belongs to the thread. `busy`: a signal handler has interrupted a search, and must not use the
// rest. Initial-exec: the first access of a thread must not allocate memory.
static _Thread_local struct {
    _Atomic bool busy;
    unsigned next;
    unsigned long long adds, subs; // the loader's counters when the images were found
    struct image image[REMEMBERED];
} memory __attribute__((tls_model("initial-exec")));

struct search {
    uintptr_t address;
    struct dl_find_object *found;
    bool uses_memory, is_first, done;
};

static bool is_in(const struct image *image, uintptr_t address)
{
    return address >= (uintptr_t)image->start && address < (uintptr_t)image->end;
}

static void describe_image(const struct image *image, struct dl_find_object *found)
{
    memset(found, 0, sizeof(*found));
    found->dlfo_map_start = image->start;
    found->dlfo_map_end = image->end;
    found->dlfo_eh_frame = image->frames;
    found->dlfo_link_map = image->object;
}

static bool is_remembered(struct search *search, const struct dl_phdr_info *info)
{
    if (memory.adds != info->dlpi_adds || memory.subs != info->dlpi_subs) {
        memset(memory.image, 0, sizeof(memory.image));
        memory.adds = info->dlpi_adds;
        memory.subs = info->dlpi_subs;
    }
    for (unsigned i = 0; i < REMEMBERED; i++) {
        if (is_in(&memory.image[i], search->address)) {
            describe_image(&memory.image[i], search->found);
            return true;
        }
    }
    return false;
}

// The loader's lock is held, so that the list does not change.
static struct link_map *link_map_of(const struct dl_phdr_info *info, const void *dynamic)
{
    for (struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (map->l_addr == info->dlpi_addr && (const void *)map->l_ld == dynamic)
            return map;
    return NULL;
}

static bool describe(const struct dl_phdr_info *info, uintptr_t address, struct image *image)
{
    const uintptr_t page = 4095;
    uintptr_t start = UINTPTR_MAX, end = 0, frames = 0, dynamic = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            start = from < start ? from : start;
            end = to > end ? to : end;
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            frames = from;
        } else if (header->p_type == PT_DYNAMIC) {
            dynamic = from;
        }
    }
    if (address < (start & ~page) || address >= end)
        return false;
    image->start = (void *)(start & ~page);                   // NOLINT(performance-no-int-to-ptr)
    image->end = (void *)end;                                 // NOLINT(performance-no-int-to-ptr)
    image->frames = (void *)frames;                           // NOLINT(performance-no-int-to-ptr)
    image->object = link_map_of(info, (const void *)dynamic); // NOLINT
    return image->object;
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *data)
{
    (void)bytes;
    struct search *search = data;
    if (search->is_first && search->uses_memory && is_remembered(search, info)) {
        search->done = true;
        return 1;
    }
    struct image image;
    search->is_first = false;
    if (!describe(info, search->address, &image))
        return 0;
    describe_image(&image, search->found);
    if (search->uses_memory)
        memory.image[memory.next++ % REMEMBERED] = image;
    search->done = true;
    return 1;
}

bool glibc_search_object(void *address, struct dl_find_object *found)
{
    struct search search = {.address = (uintptr_t)address,
                            .found = found,
                            .uses_memory = !atomic_exchange(&memory.busy, true),
                            .is_first = true};
    dl_iterate_phdr(visit, &search);
    if (search.uses_memory)
        atomic_store(&memory.busy, false);
    return search.done;
}

// --- The loader's function -----------------------------------------------------------------------

static bool is_named(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

// Looks for the function in one library's symbols by itself: dlsym may be glint's, and takes locks.
static glibc_finder *finder_in(const struct link_map *object)
{
    const ElfW(Sym) *table = NULL;
    const char *strings = NULL;
    const uint32_t *hash = NULL;
    for (const ElfW(Dyn) *at = object->l_ld; at && at->d_tag != DT_NULL; at++) {
        // The loader has made these addresses absolute, except in the kernel's vdso.
        uintptr_t value = at->d_un.d_ptr;
        value += value < object->l_addr ? object->l_addr : 0;
        if (at->d_tag == DT_SYMTAB)
            table = (const void *)value; // NOLINT(performance-no-int-to-ptr)
        else if (at->d_tag == DT_STRTAB)
            strings = (const void *)value; // NOLINT(performance-no-int-to-ptr)
        else if (at->d_tag == DT_GNU_HASH)
            hash = (const void *)value; // NOLINT(performance-no-int-to-ptr)
    }
    if (!table || !strings || !hash || !hash[0])
        return NULL;
    uint32_t sum = 5381;
    for (const char *at = "_dl_find_object"; *at; at++)
        sum = sum * 33 + (unsigned char)*at;
    const uint32_t *buckets = hash + 4 + (size_t)hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + hash[0];
    for (uint32_t i = buckets[sum % hash[0]]; i >= hash[1]; i++) {
        if ((chain[i - hash[1]] | 1) == (sum | 1) && table[i].st_shndx != SHN_UNDEF &&
            is_named(strings + table[i].st_name, "_dl_find_object"))
            return (glibc_finder *)(object->l_addr + table[i].st_value); // NOLINT
        if (chain[i - hash[1]] & 1)
            break;
    }
    return NULL;
}

static int search_as_finder(void *address, struct dl_find_object *found)
{
    return glibc_search_object(address, found) ? 0 : -1;
}

int glibc_find_object(void *address, struct dl_find_object *found)
{
    static glibc_finder *_Atomic known;
    glibc_finder *finder = atomic_load_explicit(&known, memory_order_relaxed);
    if (!finder) {
        // The C library and the loader are in the list from the beginning, and stay.
        for (struct link_map *object = _r_debug.r_map; object && !finder; object = object->l_next)
            finder = finder_in(object);
        finder = finder ? finder : search_as_finder;
        atomic_store_explicit(&known, finder, memory_order_relaxed);
    }
    return finder(address, found);
}
