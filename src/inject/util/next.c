// SPDX-License-Identifier: Apache-2.0
// Finds functions in the libraries of the process through the loader's list and the symbol tables
// of the libraries. Sanitizers need functions before the C library's can be called, and replace
// some of those, so this calls none while the process starts. Each of glint's libraries has its own
// copy: "after" is relative to the library that this file is linked into.
//
// Libraries that were there at the start are never unloaded, and later ones follow them in the
// list, so that part of it is read without the loader's lock. Nearly all functions are there. Only
// for others the whole list is read, with the lock, because another thread may close a library.
#include "next.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols {
    const ElfW(Sym) * table;
    const char *strings;
    const uint32_t *gnu, *sysv;
    const uint16_t *versions; // of each symbol; NULL: there are none
};

// base: where the object is loaded.
static struct symbols symbols_of(const ElfW(Dyn) * dynamic, uint64_t base)
{
    struct symbols symbols = {0};
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        // The loader has made these addresses absolute, except in the kernel's vdso.
        uintptr_t at = dynamic->d_un.d_ptr;
        if (at < base)
            at += base;
        switch (dynamic->d_tag) {
        case DT_SYMTAB: symbols.table = (const void *)at; break;    // NOLINT
        case DT_STRTAB: symbols.strings = (const void *)at; break;  // NOLINT
        case DT_GNU_HASH: symbols.gnu = (const void *)at; break;    // NOLINT
        case DT_HASH: symbols.sysv = (const void *)at; break;       // NOLINT
        case DT_VERSYM: symbols.versions = (const void *)at; break; // NOLINT
        default: break;
        }
    }
    return symbols;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

// old: also accepts a version that is kept for old programs, which may be another function.
// variable: also accepts a variable.
static bool is_function(const struct symbols *symbols, uint32_t index, const char *name, bool old,
                        bool variable)
{
    enum { HIDDEN = 0x8000 };
    const ElfW(Sym) *symbol = &symbols->table[index];
    if (!old && symbols->versions && symbols->versions[index] & HIDDEN)
        return false;
    const char *other = symbols->strings + symbol->st_name;
    while (*name && *name == *other) {
        name++;
        other++;
    }
    return *name == *other && symbol->st_shndx != SHN_UNDEF &&
           (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ||
            (variable && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT));
}

// Returns the index of a defined function in the object's symbols; 0: none.
static uint32_t find_symbol(const struct symbols *symbols, const char *name, bool old,
                            bool variable)
{
    if (symbols->gnu) {
        const uint32_t buckets = symbols->gnu[0], first = symbols->gnu[1];
        const uint32_t *bucket =
            symbols->gnu + 4 + (size_t)symbols->gnu[2] * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = bucket + buckets, hash = gnu_hash(name);
        uint32_t index = buckets ? bucket[hash % buckets] : 0;
        for (; index >= first && index; index++) {
            if ((chain[index - first] | 1) == (hash | 1) &&
                is_function(symbols, index, name, old, variable))
                return index;
            if (chain[index - first] & 1)
                break;
        }
    } else if (symbols->sysv) {
        for (uint32_t index = 1; index < symbols->sysv[1]; index++) {
            if (is_function(symbols, index, name, old, variable))
                return index;
        }
    }
    return 0;
}

// Returns the function in the object; NULL: it does not define it.
static void *find_in(const ElfW(Dyn) * dynamic, uint64_t base, const char *name, bool old,
                     bool variable)
{
    const struct symbols symbols = symbols_of(dynamic, base);
    const uint32_t index =
        symbols.table && symbols.strings ? find_symbol(&symbols, name, old, variable) : 0;
    return index ? (void *)(base + symbols.table[index].st_value) : NULL; // NOLINT
}

void *util_symbol(const struct link_map *object, const char *name)
{
    return find_in(object->l_ld, object->l_addr, name, true, true);
}

static bool begins(const char *text, const char *with)
{
    while (*with && *text == *with) {
        text++;
        with++;
    }
    return !*with;
}

bool util_needs(const struct link_map *object, const char *beginning)
{
    const struct symbols symbols = symbols_of(object->l_ld, object->l_addr);
    for (const ElfW(Dyn) *at = object->l_ld; at && symbols.strings && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_NEEDED && begins(symbols.strings + at->d_un.d_val, beginning))
            return true;
    return false;
}

// --- Libraries of the start ----------------------------------------------------------------------

// The last of them; NULL: the process is starting, and has no others.
static const struct link_map *_Atomic last;

__attribute__((constructor)) static void settle(void)
{
    const struct link_map *object = _r_debug.r_map;
    while (object && object->l_next)
        object = object->l_next;
    atomic_store(&last, object);
}

struct search {
    const char *name;
    bool old;
    bool behind;  // this library has been passed
    void *before; // found, in case there is none after this library
};

// Returns what was found after this library; NULL: nothing yet.
static void *look_in(struct search *search, const ElfW(Dyn) * dynamic, uint64_t base)
{
    if (dynamic == _DYNAMIC) {
        search->behind = true;
        return NULL;
    }
    void *found = find_in(dynamic, base, search->name, search->old, false);
    if (!search->before && !search->behind)
        search->before = found;
    return search->behind ? found : NULL;
}

static void *find_at_start(const char *name, bool old)
{
    const struct link_map *end = atomic_load(&last);
    struct search search = {.name = name, .old = old};
    for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next) {
        void *found = look_in(&search, object->l_ld, object->l_addr);
        if (found)
            return found;
        if (object == end)
            break;
    }
    return search.before;
}

// --- All libraries -------------------------------------------------------------------------------

const ElfW(Dyn) * util_dynamic(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); // NOLINT
    }
    return NULL;
}

void *util_definition(const struct dl_phdr_info *info, const char *name)
{
    return find_in(util_dynamic(info), info->dlpi_addr, name, true, false);
}

struct later_search {
    struct search search;
    void *found;
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct later_search *later = user;
    (void)bytes;
    later->found = look_in(&later->search, util_dynamic(info), info->dlpi_addr);
    return later->found != NULL;
}

static void *find_later(const char *name, bool old)
{
    struct later_search later = {.search = {.name = name, .old = old}};
    if (atomic_load(&last))
        dl_iterate_phdr(visit, &later);
    return later.found ? later.found : later.search.before;
}

void *util_next(const char *name)
{
    void *found = find_at_start(name, false);
    if (!found)
        found = find_at_start(name, true);
    if (!found)
        found = find_later(name, false);
    return found ? found : find_later(name, true);
}
