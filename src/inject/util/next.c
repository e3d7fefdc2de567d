// SPDX-License-Identifier: Apache-2.0
// Finds functions in the libraries of the process through the loader's list and the symbol tables
// of the libraries. Sanitizers need functions before the C library's can be called, and replace
// some of those, so this calls none. Each of glint's libraries has its own copy: "after" is
// relative to the library that this file is linked into.
#include "next.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols {
    const ElfW(Sym) * table;
    const char *strings;
    const uint32_t *gnu, *sysv;
    const uint16_t *versions; // of each symbol; NULL: there are none
};

static struct symbols symbols_of(const struct link_map *object)
{
    struct symbols symbols = {0};
    for (const ElfW(Dyn) *dynamic = object->l_ld; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        // The loader has made these addresses absolute, except in the kernel's vdso.
        uintptr_t at = dynamic->d_un.d_ptr;
        if (at < object->l_addr)
            at += object->l_addr;
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
static bool is_function(const struct symbols *symbols, uint32_t index, const char *name, bool old)
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
           ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

// Returns the index of a defined function in the object's symbols; 0: none.
static uint32_t find_symbol(const struct symbols *symbols, const char *name, bool old)
{
    if (symbols->gnu) {
        const uint32_t buckets = symbols->gnu[0], first = symbols->gnu[1];
        const uint32_t *bucket =
            symbols->gnu + 4 + (size_t)symbols->gnu[2] * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = bucket + buckets, hash = gnu_hash(name);
        uint32_t index = buckets ? bucket[hash % buckets] : 0;
        for (; index >= first && index; index++) {
            if ((chain[index - first] | 1) == (hash | 1) && is_function(symbols, index, name, old))
                return index;
            if (chain[index - first] & 1)
                break;
        }
    } else if (symbols->sysv) {
        for (uint32_t index = 1; index < symbols->sysv[1]; index++) {
            if (is_function(symbols, index, name, old))
                return index;
        }
    }
    return 0;
}

static void *find_next(const char *name, bool old)
{
    void *before = NULL; // if there is none after this library
    bool behind = false;
    for (const struct link_map *object = _r_debug.r_map; object; object = object->l_next) {
        if (object->l_ld == _DYNAMIC) {
            behind = true;
            continue;
        }
        const struct symbols symbols = symbols_of(object);
        const uint32_t index =
            symbols.table && symbols.strings ? find_symbol(&symbols, name, old) : 0;
        if (!index)
            continue;
        void *found = (void *)(object->l_addr + symbols.table[index].st_value); // NOLINT
        if (behind)
            return found;
        before = before ? before : found;
    }
    return before;
}

void *util_next(const char *name)
{
    void *found = find_next(name, false);
    return found ? found : find_next(name, true);
}
