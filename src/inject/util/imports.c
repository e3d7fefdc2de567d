// SPDX-License-Identifier: Apache-2.0
// Only entries that the linker made for calls are exchanged. Code that takes the function's address
// uses others, and gets the same address as without glint. An entry is in one of these states:
//   - not relocated yet: it holds an offset, which is no address of the library;
//   - bound lazily and not called yet: it leads into the library itself, to code that asks the
//     loader, which then stores the function's address;
//   - bound: it holds the function's address.
// It is exchanged in the last two. A thread that is asking the loader at that moment stores the
// function's address over glint's, and later calls of this thread and others go past glint. The
// entry is therefore not taken as done before a call has seen it exchanged twice.
//
// Tables of libraries that bind all functions at once are read-only once the loader is done with
// them. Only such a page is opened for the exchange, and closed again. A page that is still
// writable although it is going to be closed belongs to a library that is being loaded.
#include "imports.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT };
#endif

enum {
    MOST_IMPORTS = 32,
    MOST_TRIES = 16, // looks at a library that does not become ready
};

// One look at all libraries.
struct look {
    struct util_imports *imports;
    unsigned long long loaded, unloaded;
    void *first[MOST_IMPORTS]; // the first definition of each function; NULL: there is none
    bool several[MOST_IMPORTS];
    bool any;     // there is a definition of at least one
    bool waits;   // a library is to be examined once more
    bool changed; // since the last look
};

static void *as_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}

// --- Tables of a library -------------------------------------------------------------------------

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * calls;
    size_t count;
};

static struct tables tables_of(const struct dl_phdr_info *info)
{
    struct tables tables = {0};
    const ElfW(Dyn) *dynamic = util_dynamic(info);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        uint64_t at = dynamic->d_un.d_ptr;
        if (at < info->dlpi_addr)
            at += info->dlpi_addr;
        switch (dynamic->d_tag) {
        case DT_SYMTAB: tables.symbols = as_pointer(at); break;
        case DT_STRTAB: tables.strings = as_pointer(at); break;
        case DT_JMPREL: tables.calls = as_pointer(at); break;
        case DT_PLTRELSZ: tables.count = dynamic->d_un.d_val / sizeof(ElfW(Rela)); break;
        default: break;
        }
    }
    return tables;
}

// Returns whether the address lies in one of the library's segments that have the flags.
static bool is_within(const struct dl_phdr_info *info, uint64_t address, uint32_t flags)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & flags) == flags &&
            address - info->dlpi_addr - header->p_vaddr < header->p_memsz)
            return true;
    }
    return false;
}

bool util_imports_calls(const struct dl_phdr_info *info, const char *function)
{
    const struct tables tables = tables_of(info);
    for (size_t i = 0; tables.symbols && tables.strings && tables.calls && i < tables.count; i++) {
        const uint64_t call = tables.calls[i].r_info;
        if (ELF64_R_TYPE(call) == JUMP_SLOT &&
            strcmp(tables.strings + tables.symbols[ELF64_R_SYM(call)].st_name, function) == 0)
            return true;
    }
    return false;
}

bool util_imports_has_code(const struct dl_phdr_info *info, const void *address)
{
    return is_within(info, (uint64_t)(uintptr_t)address, PF_X);
}

// --- Exchange ------------------------------------------------------------------------------------

static uint64_t page_bytes(void)
{
    return getauxval(AT_PAGESZ);
}

// Returns whether the loader closes the page of the entry, as it does it: whole pages only.
static bool is_to_be_closed(const struct dl_phdr_info *info, uint64_t address)
{
    const uint64_t mask = ~(page_bytes() - 1);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO && address >= (start & mask) &&
            address < ((start + header->p_memsz) & mask))
            return true;
    }
    return false;
}

// The kernel atomically adds 0 to the word, or fails with EFAULT. guard/fault.c says whom it wakes.
static bool can_be_written(uint64_t address)
{
    enum { RARE = 0x800 };
    static uint32_t nobody;
    const uint32_t add = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, RARE);
    return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0, (long)address, (long)add) >=
               0 ||
           errno != EFAULT;
}

enum outcome { DONE, LATER, NEVER };

static enum outcome store(const struct dl_phdr_info *info, void *_Atomic *entry, void *value)
{
    const uint64_t address = (uint64_t)(uintptr_t)entry, bytes = page_bytes();
    const bool closed = is_to_be_closed(info, address);
    void *page = as_pointer(address & ~(bytes - 1));
    if (closed && can_be_written(address))
        return LATER;
    if (closed && syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_WRITE) != 0)
        return NEVER;
    atomic_store(entry, value);
    if (closed)
        syscall(SYS_mprotect, page, bytes, PROT_READ);
    return DONE;
}

// Returns the function that the entry leads to; NULL: unknown, or the library is not ready, and
// *later says so.
static void *function_of(const struct look *look, const struct dl_phdr_info *info, unsigned index,
                         void *bound, bool *later)
{
    const char *name = look->imports->items[index].name;
    void *own = util_definition(info, name);
    *later = false;
    if (bound && (bound == own || bound == look->first[index]))
        return bound;
    if (is_within(info, (uint64_t)(uintptr_t)bound, PF_X)) // it asks the loader
        return look->several[index] ? NULL : look->first[index];
    *later = (uint64_t)(uintptr_t)bound < info->dlpi_addr;
    return NULL;
}

static enum outcome exchange(const struct look *look, const struct dl_phdr_info *info,
                             unsigned index, void *_Atomic *entry)
{
    struct util_import *import = &look->imports->items[index];
    void *bound = atomic_load(entry), *none = NULL;
    bool later;
    if (bound == import->hook)
        return DONE;
    void *function = function_of(look, info, index, bound, &later);
    if (!function)
        return later ? LATER : NEVER;
    if (!atomic_compare_exchange_strong(&import->real, &none, function) && none != function)
        return NEVER; // glint can only pass calls on to one
    const enum outcome outcome = store(info, entry, import->hook);
    return outcome == DONE ? LATER : outcome; // once more: see above
}

// Returns whether the library needs no second look.
static bool examine(const struct look *look, const struct dl_phdr_info *info)
{
    const struct tables tables = tables_of(info);
    bool ready = true;
    for (size_t i = 0; tables.symbols && tables.strings && tables.calls && i < tables.count; i++) {
        const ElfW(Rela) *call = &tables.calls[i];
        const uint64_t address = info->dlpi_addr + call->r_offset;
        if (ELF64_R_TYPE(call->r_info) != JUMP_SLOT || address % sizeof(void *) ||
            !is_within(info, address, PF_W))
            continue;
        const char *name = tables.strings + tables.symbols[ELF64_R_SYM(call->r_info)].st_name;
        if (strncmp(name, look->imports->prefix, strlen(look->imports->prefix)) != 0)
            continue;
        for (unsigned k = 0; k < look->imports->count; k++) {
            if (strcmp(name, look->imports->items[k].name) == 0)
                ready &= exchange(look, info, k, as_pointer(address)) != LATER;
        }
    }
    return ready;
}

// --- All libraries -------------------------------------------------------------------------------

static bool is_own(const struct dl_phdr_info *info)
{
    return util_dynamic(info) == _DYNAMIC;
}

static int find_definitions(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct look *look = user;
    if (bytes < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        return 1;
    look->loaded = info->dlpi_adds;
    look->unloaded = info->dlpi_subs;
    look->changed = look->imports->waits || look->loaded != look->imports->loaded ||
                    look->unloaded != look->imports->unloaded;
    if (!look->changed)
        return 1;
    for (unsigned i = 0; i < look->imports->count && !is_own(info); i++) {
        void *found = util_definition(info, look->imports->items[i].name);
        look->several[i] |= found && look->first[i];
        look->first[i] = look->first[i] ? look->first[i] : found;
        look->any |= found != NULL;
    }
    return 0;
}

// A library may take the place of one that was unloaded.
static void forget_unloaded(struct look *look)
{
    if (look->unloaded != look->imports->unloaded)
        base_map_fini(&look->imports->examined);
    look->imports->unloaded = look->unloaded;
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct look *look = user;
    const uint64_t key = (uint64_t)(uintptr_t)util_dynamic(info);
    (void)bytes;
    if (info->dlpi_adds != look->loaded || info->dlpi_subs != look->unloaded) {
        look->waits = true; // it changed between the two walks
        return 1;
    }
    forget_unloaded(look);
    if (!key || is_own(info) || base_map_get(&look->imports->examined, key))
        return 0;
    if (!examine(look, info) || !base_map_put(&look->imports->examined, key, NULL))
        look->waits = true;
    return 0;
}

static int finish(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct look *look = user;
    (void)info;
    (void)bytes;
    const bool same = look->loaded == look->imports->loaded;
    look->imports->tries = same ? look->imports->tries + 1 : 0;
    look->imports->waits = look->waits && look->imports->tries < MOST_TRIES;
    look->imports->loaded = look->loaded;
    look->imports->unloaded = look->unloaded;
    return 1;
}

void util_imports_redirect(struct util_imports *imports)
{
    const int error = errno;
    struct look look = {.imports = imports};
    if (imports->count <= MOST_IMPORTS)
        dl_iterate_phdr(find_definitions, &look);
    if (look.changed && look.any)
        dl_iterate_phdr(visit, &look);
    if (look.changed)
        dl_iterate_phdr(finish, &look);
    errno = error;
}
