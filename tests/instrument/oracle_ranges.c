// SPDX-License-Identifier: Apache-2.0
// Follows, in the simulator's log, which store each load of a word of shared memory belongs to, and
// compares that with the counters of probes: for each site that stores and each word. The order of
// the log is that of the kernel without probes. If a word is accessed by several lanes in no
// certain order, only sums of the word are compared that do not depend on it. Of lanes that store a
// word with one instruction, the last one wins on the simulated GPU.
#include "gpusim/gpusim.h"
#include "oracle.h"
#include "ptx/ptx.h"

enum { WARP = 32, MOST_WORDS = 5 }; // that a lane touches

// The last store to a word of a block.
struct tag {
    uint32_t site; // 1 + index; 0: none
    uint32_t thread;
    bool whole; // from a register of the thread
    bool loaded;
};

struct oracle_ranges {
    const struct oracle_told *told;
    const struct oracle_words *words;
    const char *kernel;
    uint64_t blocks;
    struct tag *tags; // by block, then by word
    struct instrument_range *counts;
    bool *drains; // by instruction
    uint32_t instr_count;
    bool unknown; // a store has no site
    bool ordered;
};

static void find_drains(struct oracle_ranges *ranges, struct ptx_function *function)
{
    struct ptx_facts *facts;
    struct ptx_site *sites;
    struct ptx_staging *stagings;
    uint32_t count;
    struct base_error error = {0};
    if (ptx_facts_create(function, 0, &facts, &error) != BASE_OK ||
        ptx_sites_find(facts, &sites, &count, &error) != BASE_OK ||
        ptx_staging_find(facts, sites, count, &stagings, &error) != BASE_OK)
        abort();
    ranges->instr_count = function->instr_count;
    ranges->drains = oracle_must(calloc(function->instr_count + 1, sizeof(*ranges->drains)));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; stagings[i].kind == PTX_STAGING_DRAIN && k < stagings[i].source_count;
             k++)
            ranges->drains[sites[stagings[i].sources[k]].instr->index] = true;
    }
    ptx_facts_destroy(facts);
}

struct oracle_ranges *oracle_ranges_create(const struct oracle_case *test,
                                           const struct oracle_told *told,
                                           const struct oracle_words *words)
{
    struct oracle_ranges *ranges = oracle_must(calloc(1, sizeof(*ranges)));
    struct ptx_module *module;
    struct base_error error = {0};
    ranges->told = told;
    ranges->words = words;
    ranges->kernel = test->kernel;
    ranges->ordered = test->ordered;
    ranges->blocks = (uint64_t)test->grid[0] * test->grid[1] * test->grid[2];
    ranges->tags =
        oracle_must(calloc(ranges->blocks * (told->word_count + 1), sizeof(*ranges->tags)));
    ranges->counts = oracle_must(calloc(told->range_count + 1, sizeof(*ranges->counts)));
    if (ptx_parse(test->ptx, test->ptx_bytes, test->name, &module, &error) != BASE_OK)
        abort();
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_FUNCTION && strcmp(item->function->name, test->kernel) == 0 &&
            item->function->first)
            find_drains(ranges, item->function);
    }
    ptx_module_destroy(module);
    return ranges;
}

void oracle_ranges_destroy(struct oracle_ranges *ranges)
{
    if (!ranges)
        return;
    free(ranges->tags);
    free(ranges->counts);
    free(ranges->drains);
    free(ranges);
}

// Returns 1 + the index of the access's site among those that store, or 0. A copy may store to its
// destination and to its barrier, which has another size.
static uint32_t site_of(const struct oracle_ranges *ranges, const struct gpusim_log_access *access)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ranges->told->range_site_count; i++) {
        const struct oracle_range_site *site = &ranges->told->range_sites[i];
        if (site->index == access->site->index &&
            strcmp(ranges->kernel, access->site->function) == 0 &&
            (!found || site->bytes == access->bytes))
            found = i + 1;
    }
    return found;
}

// Returns whether no thread is said to have loaded or stored the data: rows of matrices, and what
// is not in registers.
static bool is_of_nobody(const struct gpusim_log_access *access)
{
    static const char *const names[] = {"ldmatrix",         "stmatrix",  "wgmma",
                                        "cp.async.bulk",    "cp.reduce", "mbarrier",
                                        "cp.async.mbarrier"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (strncmp(access->site->text, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static void load(struct oracle_ranges *ranges, const struct gpusim_log_access *access,
                 uint32_t thread, uint64_t word)
{
    struct tag *tag = &ranges->tags[access->block * (ranges->told->word_count + 1) + word];
    const uint64_t row = tag->site ? ranges->told->range_sites[tag->site - 1].row : 0;
    struct instrument_range *count = &ranges->counts[row + word];
    const bool own = tag->site && tag->whole && tag->thread == thread && !is_of_nobody(access);
    count->loads[(tag->loaded ? INSTRUMENT_LOAD_AGAIN : 0) + (own ? INSTRUMENT_LOAD_OWN : 0)]++;
    count->drained +=
        access->site->index < ranges->instr_count && ranges->drains[access->site->index];
    tag->loaded = true;
}

static void store(struct oracle_ranges *ranges, const struct gpusim_log_access *access,
                  uint32_t thread, uint64_t word)
{
    const uint32_t site = site_of(ranges, access);
    ranges->unknown |= !site;
    if (!site)
        return;
    ranges->tags[access->block * (ranges->told->word_count + 1) + word] =
        (struct tag){.site = site, .thread = thread, .whole = !is_of_nobody(access)};
    ranges->counts[ranges->told->range_sites[site - 1].row + word].ranges++;
}

// An instruction accesses the first word of all lanes, then the second.
static void see_chunk(struct oracle_ranges *ranges, const struct gpusim_log_access *access,
                      uint32_t at, uint32_t bytes)
{
    for (uint64_t i = 0; i < MOST_WORDS; i++) {
        for (uint32_t left = access->mask; left; left &= left - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(left);
            uint64_t first, last;
            if (!oracle_words_find(ranges->words, access->address[lane] + at, bytes, &first,
                                   &last) ||
                first + i > last)
                continue;
            if (access->kind != GPUSIM_LOG_STORE)
                load(ranges, access, access->warp * WARP + lane, first + i);
            if (access->kind != GPUSIM_LOG_LOAD)
                store(ranges, access, access->warp * WARP + lane, first + i);
        }
    }
}

void oracle_ranges_see(struct oracle_ranges *ranges, const struct gpusim_log_access *access)
{
    const uint32_t bytes = oracle_chunk(access->bytes);
    for (uint32_t at = 0; at < access->bytes; at += bytes)
        see_chunk(ranges, access, at, bytes);
}

static void compare(const char *what, uint64_t word, const struct instrument_range *told,
                    const struct instrument_range *wanted, struct base_buf *complaints)
{
    if (memcmp(told, wanted, sizeof(*told)) == 0)
        return;
    base_buf_printf(complaints, "%s, word %llu:", what, (unsigned long long)word);
    for (unsigned i = 0; i < 2; i++, told = wanted)
        base_buf_printf(complaints, "%s %llu ranges, %llu+%llu+%llu+%llu loads, %llu drained",
                        i ? ", wanted" : "", (unsigned long long)told->ranges,
                        (unsigned long long)told->loads[0], (unsigned long long)told->loads[1],
                        (unsigned long long)told->loads[2], (unsigned long long)told->loads[3],
                        (unsigned long long)told->drained);
    base_buf_putc(complaints, '\n');
}

// Adds up what is counted of a word: all loads, and those of drains.
static struct instrument_range sum_up(const struct oracle_told *told,
                                      const struct instrument_range *counts, uint64_t word)
{
    struct instrument_range sum = {0};
    for (uint32_t i = 0; i <= told->range_site_count; i++) {
        const struct oracle_range_site *site = i ? &told->range_sites[i - 1] : NULL;
        if (site && (word < site->first || word >= site->end))
            continue;
        const struct instrument_range *from = &counts[(site ? site->row : 0) + word];
        for (unsigned kind = 0; kind < INSTRUMENT_LOAD_KINDS; kind++)
            sum.loads[0] += from->loads[kind];
        sum.drained += from->drained;
    }
    return sum;
}

static void compare_sums(const struct oracle_ranges *ranges, uint64_t word,
                         struct base_buf *complaints)
{
    const struct instrument_range told = sum_up(ranges->told, ranges->told->ranges, word),
                                  wanted = sum_up(ranges->told, ranges->counts, word);
    compare("in all", word, &told, &wanted, complaints);
}

void oracle_ranges_judge(const struct oracle_ranges *ranges, struct base_buf *complaints)
{
    const struct oracle_told *told = ranges->told;
    if (ranges->unknown)
        base_buf_puts(complaints, "a store begins no live range\n");
    for (uint64_t word = 1; word <= told->word_count && !ranges->ordered; word++)
        compare_sums(ranges, word, complaints);
    for (uint64_t word = 1; word <= told->word_count && ranges->ordered; word++)
        compare("before a store", word, &told->ranges[word], &ranges->counts[word], complaints);
    for (uint32_t i = 0; i < told->range_site_count; i++) {
        char what[64];
        snprintf(what, sizeof(what), "stores of instruction %u", told->range_sites[i].index);
        for (uint64_t word = told->range_sites[i].first; word < told->range_sites[i].end; word++) {
            const uint64_t at = told->range_sites[i].row + word;
            if (ranges->ordered)
                compare(what, word, &told->ranges[at], &ranges->counts[at], complaints);
            else if (told->ranges[at].ranges != ranges->counts[at].ranges)
                base_buf_printf(complaints, "%s, word %llu: %llu ranges, wanted %llu\n", what,
                                (unsigned long long)word,
                                (unsigned long long)told->ranges[at].ranges,
                                (unsigned long long)ranges->counts[at].ranges);
        }
    }
}
