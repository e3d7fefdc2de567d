// SPDX-License-Identifier: Apache-2.0
// Symbols with a size are sorted by where they begin, and each knows how far it and those before it
// reach, so that the search for those that cover an address ends early. Symbols without a size are
// labels of assembly code. They count only where no others do, which is rare, and libdw's rules for
// them are subtle, so libdw is asked then.
#include "functions.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/base.h"

struct function {
    uint64_t start, end;
    uint64_t reach; // where the last of this one and those before it ends
    int symbol;
    uint8_t binding; // a greater number binds more strongly
    uint8_t type;
};

struct record_functions {
    Dwfl_Module *module;
    BASE_ARRAY(struct function) sized;
    BASE_ARRAY(uint64_t) labels; // where symbols without a size are
};

static uint8_t binding_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL: return 3;
    case STB_WEAK: return 2;
    case STB_LOCAL: return 1;
    default: return 0;
    }
}

static bool is_code(const GElf_Sym *symbol)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF &&
           (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

// Returns false if memory ran out.
static bool add(struct record_functions *functions, int number)
{
    GElf_Sym symbol;
    GElf_Addr address;
    const char *name =
        dwfl_module_getsym_info(functions->module, number, &symbol, &address, NULL, NULL, NULL);
    if (!name || !name[0] || !is_code(&symbol))
        return true;
    if (!symbol.st_size) {
        uint64_t *label = base_array_push(&functions->labels);
        if (label)
            *label = address;
        return label;
    }
    struct function *function = base_array_push(&functions->sized);
    if (function)
        *function = (struct function){.start = address,
                                      .end = address + symbol.st_size,
                                      .symbol = number,
                                      .binding = binding_of(&symbol),
                                      .type = GELF_ST_TYPE(symbol.st_info)};
    return function;
}

// Functions that begin at one place: the best comes last.
static int by_start(const void *a, const void *b)
{
    const struct function *one = a, *other = b;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    if (one->end != other->end)
        return one->end > other->end ? -1 : 1;
    if (one->binding != other->binding)
        return one->binding < other->binding ? -1 : 1;
    return one->symbol > other->symbol ? -1 : one->symbol < other->symbol;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

struct record_functions *record_functions_create(Dwfl_Module *module)
{
    struct record_functions *functions = calloc(1, sizeof(*functions));
    if (!functions)
        return NULL;
    functions->module = module;
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i++) { // the first is no symbol
        if (!add(functions, i)) {
            record_functions_destroy(functions);
            return NULL;
        }
    }
    if (functions->sized.count)
        qsort(functions->sized.items, functions->sized.count, sizeof(struct function), by_start);
    if (functions->labels.count)
        qsort(functions->labels.items, functions->labels.count, sizeof(uint64_t), by_address);
    uint64_t reach = 0;
    for (size_t i = 0; i < functions->sized.count; i++) {
        struct function *function = &functions->sized.items[i];
        reach = function->end > reach ? function->end : reach;
        function->reach = reach;
    }
    return functions;
}

void record_functions_destroy(struct record_functions *functions)
{
    if (!functions)
        return;
    base_array_fini(&functions->sized);
    base_array_fini(&functions->labels);
    free(functions);
}

// Returns how many functions begin at or before the address.
static size_t count_before(const struct record_functions *functions, uint64_t address)
{
    size_t low = 0, high = functions->sized.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions->sized.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Returns whether a label is at or before the address, and behind all that begins before that.
static bool has_label(const struct record_functions *functions, uint64_t address, uint64_t reach)
{
    size_t low = 0, high = functions->labels.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions->labels.items[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && functions->labels.items[low - 1] >= reach;
}

const char *record_functions_find(const struct record_functions *functions, uint64_t address,
                                  uint64_t *offset, unsigned *type)
{
    GElf_Sym symbol;
    GElf_Addr start;
    const size_t before = count_before(functions, address);
    const uint64_t reach = before ? functions->sized.items[before - 1].reach : 0;
    for (size_t i = before; i > 0 && functions->sized.items[i - 1].reach > address; i--) {
        const struct function *function = &functions->sized.items[i - 1];
        if (function->end <= address)
            continue;
        *offset = address - function->start;
        *type = function->type;
        return dwfl_module_getsym_info(functions->module, function->symbol, &symbol, &start, NULL,
                                       NULL, NULL);
    }
    if (!has_label(functions, address, reach))
        return NULL;
    const char *name =
        dwfl_module_addrinfo(functions->module, address, offset, &symbol, NULL, NULL, NULL);
    *type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;
    return name && is_code(&symbol) ? name : NULL;
}
