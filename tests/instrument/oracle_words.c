// SPDX-License-Identifier: Apache-2.0
// Counts, from the simulator's log, how often each word of shared memory was loaded and stored, and
// compares that with the counters of probes. Arrays lie where the simulated GPU places them: those
// of the kernel and then those of the module, in the order of the text, and dynamic memory behind.
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

// Finds the array in the kernel or in the module.
static const struct ptx_var *find(const struct ptx_module *module, const char *kernel,
                                  const char *name)
{
    const struct ptx_var *found = NULL;
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_VAR && !found && strcmp(item->var->name, name) == 0)
            found = item->var;
        if (item->kind != PTX_ITEM_FUNCTION || strcmp(item->function->name, kernel) != 0)
            continue;
        for (struct ptx_stmt *stmt = item->function->first; stmt; stmt = stmt->next) {
            if (stmt->kind == PTX_STMT_VAR &&
                strcmp(((struct ptx_var_stmt *)stmt)->var->name, name) == 0)
                found = ((struct ptx_var_stmt *)stmt)->var;
        }
    }
    return found;
}

static void place(struct oracle_words *words, const struct ptx_module *module, const char *kernel)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < words->told->array_count; i++) {
        const struct oracle_array *array = &words->told->arrays[i];
        const struct ptx_var *var = find(module, kernel, array->name);
        uint64_t align = var ? align_of(var) : 1;
        if (array->dynamic && align < DYNAMIC_ALIGN)
            align = DYNAMIC_ALIGN;
        words->offsets[i] = (used + align - 1) / align * align;
        used = words->offsets[i] + array->bytes;
    }
}

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
    place(words, module, test->kernel);
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
