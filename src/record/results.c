// SPDX-License-Identifier: Apache-2.0
// Follows the code behind a call until the register with its result is read or overwritten. When
// the result is lost, goes on to the next call, into functions of the same image, to find out
// whether it asks for the last error.
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <string.h>

#include "code.h"
#include "results.h"

enum { MOST_STEPS = 256, MOST_WAITING = 16, MOST_INSIDE = 3, NAME_BYTES = 64 };

// Where the program may be.
struct point {
    size_t place; // index of the innermost place that it has not returned to
    uint32_t image;
    uint64_t address;
    bool lost;         // the register no longer holds the result
    unsigned inside;   // functions called since
    unsigned nameless; // which of them, from 1, has no name and may be the one looked for; or 0
    uint64_t returns[MOST_INSIDE]; // their return addresses
};

struct step { // already taken
    size_t place;
    uint32_t image;
    bool lost;
    uint64_t address;
};

struct walk {
    struct record_symbols *symbols;
    const struct record_results_place *places;
    size_t count;
    struct point waiting[MOST_WAITING];
    unsigned waiting_count;
    struct step steps[MOST_STEPS];
    unsigned step_count;
    bool looked_at, unknown;
};

// --- Images --------------------------------------------------------------------------------------

static Elf *file_of(struct walk *walk, uint32_t image)
{
    GElf_Addr bias = 0;
    Dwfl_Module *module = image ? record_symbols_module(walk->symbols, image) : NULL;
    return module ? dwfl_module_getelf(module, &bias) : NULL;
}

// Returns the machine code at an address, and how many bytes of it there are; NULL if there is no
// code.
static const unsigned char *code_at(Elf *elf, uint64_t address, size_t *bytes)
{
    size_t file_bytes = 0, headers = 0;
    const char *file = elf ? elf_rawfile(elf, &file_bytes) : NULL;
    if (!file || elf_getphdrnum(elf, &headers) != 0)
        return NULL;
    for (size_t i = 0; i < headers; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
            !(header.p_flags & PF_X) || address < header.p_vaddr ||
            address - header.p_vaddr >= header.p_filesz)
            continue;
        const uint64_t within = address - header.p_vaddr;
        if (header.p_offset > file_bytes || header.p_filesz > file_bytes - header.p_offset)
            return NULL;
        *bytes = (size_t)(header.p_filesz - within);
        return (const unsigned char *)file + header.p_offset + within;
    }
    return NULL;
}

static struct record_code decode(Elf *elf, uint64_t address)
{
    GElf_Ehdr header;
    size_t bytes = 0;
    const unsigned char *code = code_at(elf, address, &bytes);
    if (!code || !gelf_getehdr(elf, &header))
        return (struct record_code){0};
    switch (header.e_machine) {
    case EM_X86_64: return record_code_x86(code, bytes, address);
    case EM_AARCH64: return record_code_arm(code, bytes, address);
    default: return (struct record_code){0};
    }
}

// On aarch64 the register that holds a result also passes the first argument.
static bool passes_result(Elf *elf)
{
    GElf_Ehdr header;
    return gelf_getehdr(elf, &header) && header.e_machine == EM_AARCH64;
}

// --- Names of functions --------------------------------------------------------------------------

static void take_name(const char *from, char name[NAME_BYTES])
{
    const size_t length = from ? strcspn(from, "@") : 0;
    name[0] = '\0';
    if (length && length < NAME_BYTES) {
        memcpy(name, from, length);
        name[length] = '\0';
    }
}

// Finds the name of the function that begins at the address; "" if none is known.
static void name_at(struct walk *walk, uint32_t image, uint64_t address, char name[NAME_BYTES])
{
    uint64_t offset = 0;
    unsigned type = STT_NOTYPE;
    const char *found = record_symbols_function(walk->symbols, image, address, &offset, &type);
    const bool is_function = found && offset == 0 && (type == STT_FUNC || type == STT_GNU_IFUNC);
    take_name(is_function ? found : NULL, name);
}

// Finds the name of the function to which the loader sets the pointer at the address.
static void name_of_slot(Elf *elf, uint64_t slot, char name[NAME_BYTES])
{
    Elf_Scn *section = NULL;
    name[0] = '\0';
    while (!name[0] && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header, symbols_header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !header.sh_entsize)
            continue;
        Elf_Data *rows = elf_getdata(section, NULL);
        Elf_Scn *symbols = elf_getscn(elf, header.sh_link);
        Elf_Data *names = symbols ? elf_getdata(symbols, NULL) : NULL;
        if (!rows || !names || !gelf_getshdr(symbols, &symbols_header))
            continue;
        const size_t count = header.sh_size / header.sh_entsize;
        for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
            GElf_Rela row;
            GElf_Sym symbol;
            if (!gelf_getrela(rows, (int)i, &row))
                break;
            if (row.r_offset != slot || !gelf_getsym(names, (int)GELF_R_SYM(row.r_info), &symbol))
                continue;
            take_name(elf_strptr(elf, symbols_header.sh_link, symbol.st_name), name);
            break;
        }
    }
}

static bool asks_for_error(const char *name)
{
    return !strcmp(name, "cudaGetLastError") || !strcmp(name, "cudaPeekAtLastError");
}

static bool is_of_runtime(const char *name)
{
    return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

// --- Steps ---------------------------------------------------------------------------------------

// Returns false if this step was taken before, or there were too many.
static bool take_step(struct walk *walk, const struct point *at)
{
    for (unsigned i = 0; i < walk->step_count; i++) {
        const struct step *step = &walk->steps[i];
        if (step->address == at->address && step->image == at->image && step->place == at->place &&
            step->lost == at->lost)
            return false;
    }
    if (walk->step_count == MOST_STEPS) {
        walk->unknown |= !at->lost || at->nameless;
        return false;
    }
    walk->steps[walk->step_count++] = (struct step){at->place, at->image, at->lost, at->address};
    return true;
}

// Continues at the target of a branch later.
static void put_off(struct walk *walk, const struct point *at, uint64_t target)
{
    if (walk->waiting_count == MOST_WAITING) {
        walk->unknown |= !at->lost || at->nameless;
        return;
    }
    struct point *other = &walk->waiting[walk->waiting_count++];
    *other = *at;
    other->address = target;
}

// The functions below return whether the way continues at the point.

static bool end_unknown(struct walk *walk, const struct point *at)
{
    walk->unknown |= !at->lost || at->nameless;
    return false;
}

static bool leave_function(struct walk *walk, struct point *at)
{
    if (at->inside) {
        at->address = at->returns[--at->inside];
        at->nameless = at->nameless <= at->inside ? at->nameless : 0;
        return true;
    }
    at->place++;
    if (at->place >= walk->count)
        return end_unknown(walk, at);
    at->image = walk->places[at->place].image;
    at->address = walk->places[at->place].return_address;
    return true;
}

// A call, or a jump to another function, which returns to the caller. `code` is at the point.
static bool enter_function(struct walk *walk, Elf *elf, struct point *at,
                           const struct record_code *code)
{
    char name[NAME_BYTES] = "";
    if (code->target)
        name_at(walk, at->image, code->target, name);
    else if (code->slot)
        name_of_slot(elf, code->slot, name);
    if (asks_for_error(name)) {
        walk->looked_at = true;
        return false;
    }
    at->lost |= !passes_result(elf);
    // A stub has no name, but its slot has.
    if (code->flow == RECORD_CODE_LEAVE && name[0] && at->nameless == at->inside)
        at->nameless = 0;
    const bool returns_here = code->flow == RECORD_CODE_CALL;
    if (!code->target || is_of_runtime(name) || (returns_here && at->inside == MOST_INSIDE))
        return end_unknown(walk, at);
    if (returns_here)
        at->returns[at->inside++] = at->address + code->bytes;
    if (!name[0] && !at->nameless)
        at->nameless = at->inside;
    at->address = code->target;
    return true;
}

static bool go_on(struct walk *walk, struct point *at)
{
    Elf *elf = file_of(walk, at->image);
    const struct record_code code = decode(elf, at->address);
    if (!at->lost && code.reads) {
        walk->looked_at = true;
        return false;
    }
    at->lost |= code.writes;
    char name[NAME_BYTES] = "";
    switch (code.flow) {
    case RECORD_CODE_UNDECODED: return end_unknown(walk, at);
    case RECORD_CODE_STOP: return false;
    case RECORD_CODE_RETURN: return leave_function(walk, at);
    case RECORD_CODE_LEAVE:
        if (!code.slot)
            return end_unknown(walk, at);
        return enter_function(walk, elf, at, &code);
    case RECORD_CODE_CALL: return enter_function(walk, elf, at, &code);
    case RECORD_CODE_JUMP:
        name_at(walk, at->image, code.target, name);
        if (name[0])
            return enter_function(walk, elf, at, &code);
        at->address = code.target;
        return true;
    case RECORD_CODE_BRANCH: put_off(walk, at, code.target); break;
    case RECORD_CODE_NEXT: break;
    }
    at->address += code.bytes;
    return true;
}

enum profile_result_use record_results_use(struct record_symbols *symbols,
                                           const struct record_results_place *places, size_t count)
{
    if (count == 0)
        return PROFILE_RESULT_UNKNOWN;
    struct walk walk = {.symbols = symbols, .places = places, .count = count};
    walk.waiting[walk.waiting_count++] =
        (struct point){.image = places[0].image, .address = places[0].return_address};
    while (walk.waiting_count && !walk.looked_at) {
        struct point at = walk.waiting[--walk.waiting_count];
        while (take_step(&walk, &at) && go_on(&walk, &at))
            ;
    }
    return walk.looked_at ? PROFILE_RESULT_LOOKED_AT
           : walk.unknown ? PROFILE_RESULT_UNKNOWN
                          : PROFILE_RESULT_IGNORED;
}
