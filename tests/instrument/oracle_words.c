// SPDX-License-Identifier: Apache-2.0
// Counts, from the simulator's log, how often each word of shared memory was loaded and stored, and
// compares that with the counters of probes. Arrays lie where the simulated GPU places them
// (src/gpusim/machine/shared.c): those of the kernel and then those of the module, in the order of
// the text, and dynamic memory behind. If functions that the kernel reaches mention arrays, these
// come first, and then those that the kernel mentions, in that order.
#include "gpusim/gpusim.h"
#include "oracle.h"
#include "ptx/ptx.h"

enum { DYNAMIC_ALIGN = 128 };

struct oracle_words {
    const struct oracle_told *told;
    uint64_t *offsets; // of arrays in the block's shared memory
    struct instrument_word *counts;
};

static uint32_t align_of(const struct ptx_var *var)
{
    return var->align ? var->align : ptx_type_bytes((enum ptx_type)var->type) * var->vec;
}

// --- Places --------------------------------------------------------------------------------------

// Names of functions and variables that code mentions.
struct mentioned {
    BASE_ARRAY(const char *) names;
};

static bool has(const struct mentioned *mentioned, const char *name)
{
    for (size_t i = 0; i < mentioned->names.count; i++) {
        if (strcmp(mentioned->names.items[i], name) == 0)
            return true;
    }
    return false;
}

static void mention(struct mentioned *mentioned, const char *name)
{
    if (!has(mentioned, name))
        *(const char **)oracle_must(base_array_push(&mentioned->names)) = name;
}

static void mention_operand(struct mentioned *mentioned, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_VAR)
        mention(mentioned, operand->var->name);
    if (operand->kind == PTX_OPERAND_FUNCTION)
        mention(mentioned, operand->function->name);
    for (uint16_t i = 0; operand->elements && i < operand->count; i++)
        mention_operand(mentioned, &operand->elements[i]);
}

static const struct ptx_function *function_of(const struct ptx_module *module, const char *name)
{
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_FUNCTION && strcmp(item->function->name, name) == 0 &&
            item->function->first)
            return item->function;
    }
    return NULL;
}

// Collects the arrays that the function declares or mentions, and the functions that it mentions.
static void mention_in(struct mentioned *mentioned, const struct ptx_function *function)
{
    for (struct ptx_stmt *stmt = function ? function->first : NULL; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (stmt->kind == PTX_STMT_VAR)
            mention(mentioned, ((struct ptx_var_stmt *)stmt)->var->name);
        for (uint8_t i = 0; instr && i < instr->operand_count; i++)
            mention_operand(mentioned, &instr->operands[i]);
    }
}

// Places an array, with its offset if probes know it.
static void place(struct oracle_words *words, const struct ptx_var *var, bool dynamic,
                  uint64_t *used)
{
    uint64_t align = align_of(var), bytes = var->size_bytes;
    if (dynamic && align < DYNAMIC_ALIGN)
        align = DYNAMIC_ALIGN;
    *used = (*used + align - 1) / align * align;
    for (unsigned i = 0; i < words->told->array_count; i++) {
        if (strcmp(words->told->arrays[i].name, var->name) != 0)
            continue;
        words->offsets[i] = *used;
        bytes = words->told->arrays[i].bytes;
    }
    *used += dynamic ? 0 : bytes;
}

// Returns a variable of shared memory in the function or in the module.
static const struct ptx_var *find_var(const struct ptx_module *module,
                                      const struct ptx_function *function, const char *name)
{
    const struct ptx_var *found = NULL;
    for (struct ptx_stmt *stmt = function->first; stmt && !found; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_VAR)
            found = ((struct ptx_var_stmt *)stmt)->var;
        found = found && strcmp(found->name, name) == 0 ? found : NULL;
    }
    for (const struct ptx_item *item = module->first; item && !found; item = item->next) {
        if (item->kind == PTX_ITEM_VAR && strcmp(item->var->name, name) == 0)
            found = item->var;
    }
    return found && found->space == PTX_SPACE_SHARED ? found : NULL;
}

// Places the arrays that the function mentions, or only those that it declares, unless they have a
// place.
static void place_in(struct oracle_words *words, const struct ptx_module *module,
                     const struct ptx_function *function, bool own, struct mentioned *placed,
                     uint64_t *used)
{
    struct mentioned mentioned = {0};
    mention_in(&mentioned, function);
    for (size_t i = 0; i < mentioned.names.count; i++) {
        const struct ptx_var *var = find_var(module, function, mentioned.names.items[i]);
        if (!var || !var->size_bytes || (own && !var->function) || has(placed, var->name))
            continue;
        mention(placed, var->name);
        place(words, var, false, used);
    }
    base_array_fini(&mentioned.names);
}

static void place_all(struct oracle_words *words, const struct ptx_module *module,
                      const char *kernel)
{
    const struct ptx_function *entry = function_of(module, kernel);
    struct mentioned reached = {0}, placed = {0};
    uint64_t used = 0;
    mention(&reached, kernel);
    for (size_t i = 0; i < reached.names.count; i++)
        mention_in(&reached, function_of(module, reached.names.items[i]));
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_FUNCTION && item->function != entry && item->function->first &&
            has(&reached, item->function->name))
            place_in(words, module, item->function, false, &placed, &used);
    }
    if (placed.names.count)
        place_in(words, module, entry, false, &placed, &used);
    else
        place_in(words, module, entry, true, &placed, &used);
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        const struct ptx_var *var = item->kind == PTX_ITEM_VAR ? item->var : NULL;
        if (var && var->space == PTX_SPACE_SHARED && var->size_bytes && has(&reached, var->name) &&
            !has(&placed, var->name))
            place(words, var, false, &used);
    }
    for (unsigned i = 0; i < words->told->array_count; i++) {
        const struct oracle_array *array = &words->told->arrays[i];
        const struct ptx_var *var = array->dynamic ? find_var(module, entry, array->name) : NULL;
        if (var)
            place(words, var, true, &used);
    }
    base_array_fini(&reached.names);
    base_array_fini(&placed.names);
}

// --- Counts --------------------------------------------------------------------------------------

struct oracle_words *oracle_words_create(const struct oracle_case *test,
                                         const struct oracle_told *told)
{
    struct oracle_words *words = oracle_must(calloc(1, sizeof(*words)));
    struct ptx_module *module;
    struct base_error error = {0};
    words->told = told;
    words->offsets = oracle_must(calloc(told->array_count + 1, sizeof(*words->offsets)));
    words->counts = oracle_must(calloc(told->word_count + 1, sizeof(*words->counts)));
    if (ptx_parse(test->ptx, test->ptx_bytes, test->name, &module, &error) != BASE_OK)
        abort();
    place_all(words, module, test->kernel);
    ptx_module_destroy(module);
    return words;
}

void oracle_words_destroy(struct oracle_words *words)
{
    if (!words)
        return;
    free(words->offsets);
    free(words->counts);
    free(words);
}

static void count(struct oracle_words *words, uint64_t index, enum gpusim_log_access_kind kind)
{
    words->counts[index].loads += kind != GPUSIM_LOG_STORE;
    words->counts[index].stores += kind != GPUSIM_LOG_LOAD;
}

bool oracle_words_find(const struct oracle_words *words, uint64_t address, uint32_t bytes,
                       uint64_t *first, uint64_t *last)
{
    unsigned i = 0;
    while (i < words->told->array_count &&
           (address < words->offsets[i] ||
            address + bytes > words->offsets[i] + words->told->arrays[i].bytes))
        i++;
    if (i == words->told->array_count)
        return false;
    const uint64_t at = address - words->offsets[i];
    *first = words->told->arrays[i].first + at / 4;
    *last = words->told->arrays[i].first + (at + bytes - 1) / 4;
    return true;
}

void oracle_words_see(struct oracle_words *words, const struct gpusim_log_access *access)
{
    const uint32_t bytes = oracle_chunk(access->bytes);
    for (uint32_t left = access->mask; left; left &= left - 1) {
        for (uint32_t at = 0; at < access->bytes; at += bytes) {
            uint64_t first = 0, last = 0;
            oracle_words_find(words, access->address[__builtin_ctz(left)] + at, bytes, &first,
                              &last);
            for (uint64_t word = first; word <= last; word++)
                count(words, word, access->kind);
        }
    }
}

// Compares a word, whose counts may be less if that is allowed. Returns by how much they are.
static uint64_t compare(const struct oracle_words *words, const char *name, uint64_t word,
                        uint64_t index, bool less, struct base_buf *complaints)
{
    const struct instrument_word *told = &words->told->words[index];
    const struct instrument_word *wanted = &words->counts[index];
    const bool good = less ? told->loads <= wanted->loads && told->stores <= wanted->stores
                           : told->loads == wanted->loads && told->stores == wanted->stores;
    if (!good)
        base_buf_printf(complaints, "%s: word %llu: %llu loads, %llu stores, wanted %llu, %llu\n",
                        name, (unsigned long long)word, (unsigned long long)told->loads,
                        (unsigned long long)told->stores, (unsigned long long)wanted->loads,
                        (unsigned long long)wanted->stores);
    return wanted->loads - told->loads + wanted->stores - told->stores;
}

void oracle_words_judge(const struct oracle_words *words, struct base_buf *complaints)
{
    const struct oracle_told *told = words->told;
    uint64_t lost = compare(words, "outside of arrays", 0, 0, told->racy, complaints);
    for (unsigned i = 0; i < told->array_count; i++) {
        const struct oracle_array *array = &told->arrays[i];
        const bool less = told->racy || told->limited[i];
        for (uint64_t word = 0; word < (array->bytes + 3) / 4; word++)
            lost += compare(words, array->name, word, array->first + word, less, complaints);
    }
    if (lost != told->lost_counts)
        base_buf_printf(complaints, "%llu counts are lost, %llu said to be\n",
                        (unsigned long long)lost, (unsigned long long)told->lost_counts);
}
