// SPDX-License-Identifier: Apache-2.0
// What blocks that are looked at load of global memory: makes the counters of a launch, reads what
// probes left in them, and compares it with what the simulator's log says of the same blocks.
#include "cudaabi/cudaabi.h"
#include "gpusim/gpusim.h"
#include "oracle.h"

enum { WORD = INSTRUMENT_WORD_BYTES };

// --- The launch ----------------------------------------------------------------------------------

static CUdeviceptr zeros(uint64_t bytes)
{
    CUdeviceptr memory;
    if (cuMemAlloc_v2(&memory, bytes + 1) != CUDA_SUCCESS ||
        cuMemsetD8_v2(memory, 0, bytes + 1) != CUDA_SUCCESS)
        abort();
    return memory;
}

static uint64_t blocks_of(const struct oracle_case *test)
{
    return (uint64_t)test->grid[0] * test->grid[1] * test->grid[2];
}

// One set for all roots of an object.
static void make_sets(const struct oracle_case *test, const struct oracle_level *level,
                      const unsigned *roots, unsigned root_count, struct oracle_reuse *reuse,
                      const struct oracle_object *objects, struct instrument_reuse *head)
{
    bool have[ORACLE_OBJECTS + 1] = {[ORACLE_OBJECTS] = true};
    for (unsigned i = 0; i < root_count; i++) {
        const struct oracle_object *object = &objects[roots[i]];
        struct instrument_reuse_set *set = &head->sets[head->set_count];
        if (have[roots[i]] ||
            !instrument_reuse_set(object->address, object->bytes,
                                  level->reuse_bits ? level->reuse_bits : 15, set))
            continue;
        have[roots[i]] = true;
        set->words =
            zeros(((uint64_t)WORD << (32 - set->shift)) * instrument_looked(blocks_of(test)));
        reuse->sets[head->set_count] = *set;
        reuse->objects[head->set_count++] = roots[i];
    }
}

uint64_t oracle_reuse_make(const struct oracle_case *test, const struct oracle_level *level,
                           const struct instrument_kernel *kernel, const unsigned *roots,
                           struct oracle_told *told)
{
    struct oracle_reuse *reuse = &told->reuse;
    const size_t bytes =
        sizeof(struct instrument_reuse) + ORACLE_OBJECTS * sizeof(struct instrument_reuse_set);
    reuse->complete = !kernel->unlooked;
    if (!kernel->looks)
        return 0;
    struct instrument_reuse *head = oracle_must(calloc(1, bytes));
    head->blocks = blocks_of(test);
    head->looked = reuse->looked = instrument_looked(head->blocks);
    make_sets(test, level, roots, kernel->root_count, reuse, told->objects, head);
    reuse->set_count = head->set_count;
    reuse->site_count = kernel->site_count;
    head->sites = reuse->sites_at =
        zeros((uint64_t)reuse->site_count * reuse->set_count * sizeof(uint64_t));
    head->counts = reuse->counts_at =
        zeros((uint64_t)reuse->looked * reuse->set_count * sizeof(struct instrument_reused));
    reuse->address = zeros(bytes);
    if (cuMemcpyHtoD_v2(reuse->address, head, bytes) != CUDA_SUCCESS)
        abort();
    free(head);
    return reuse->address;
}

// Reads the counters, and spoils one of them if the level says so: that with the number `which`.
void oracle_reuse_read(const struct oracle_level *level, struct oracle_shared *shared,
                       struct oracle_told *told)
{
    struct oracle_reuse *reuse = &told->reuse;
    const size_t count = (size_t)reuse->looked * reuse->set_count;
    if (!reuse->address)
        return;
    reuse->counts = oracle_take(shared, count * sizeof(*reuse->counts));
    const size_t sites_bytes = (size_t)reuse->site_count * reuse->set_count * sizeof(uint64_t);
    reuse->sites = oracle_take(shared, sites_bytes);
    if (cuMemcpyDtoH_v2(reuse->counts, reuse->counts_at, count * sizeof(*reuse->counts)) ||
        cuMemcpyDtoH_v2(reuse->sites, reuse->sites_at, sites_bytes))
        abort();
    if (level->spoil != ORACLE_ONE_REUSE || !count)
        return;
    struct instrument_reused *last = &reuse->counts[count - 1];
    last->loads += level->which == 0;
    last->words += level->which == 1;
    last->moved += level->which == 6;
    last->stores += level->which == 2;
    last->before += level->which == 3;
    last->end += level->which == 4;
    reuse->sites[0] += level->which == 5;
}

// --- The log -------------------------------------------------------------------------------------

struct oracle_reuse_log {
    const struct oracle_told *told;
    uint64_t blocks;
    uint64_t *sites;
    struct instrument_reused *counts;
    uint8_t **loaded; // by counts: whether each word was
    bool has_loads;   // of global memory
};

static uint64_t first_word(const struct instrument_reuse_set *set)
{
    return set->first / WORD;
}

struct oracle_reuse_log *oracle_reuse_create(const struct oracle_case *test,
                                             const struct oracle_told *told)
{
    const struct oracle_reuse *reuse = &told->reuse;
    struct oracle_reuse_log *log = oracle_must(calloc(1, sizeof(*log)));
    const size_t count = (size_t)reuse->looked * reuse->set_count;
    log->told = told;
    log->blocks = blocks_of(test);
    log->sites =
        oracle_must(calloc((size_t)reuse->site_count * reuse->set_count + 1, sizeof(*log->sites)));
    log->counts = oracle_must(calloc(count + 1, sizeof(*log->counts)));
    log->loaded = oracle_must(calloc(count + 1, sizeof(*log->loaded)));
    for (size_t i = 0; i < count; i++)
        log->loaded[i] =
            oracle_must(calloc(1, reuse->sets[i % reuse->set_count].bytes / WORD + 16));
    return log;
}

void oracle_reuse_destroy(struct oracle_reuse_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < (size_t)log->told->reuse.looked * log->told->reuse.set_count; i++)
        free(log->loaded[i]);
    free(log->loaded);
    free(log->counts);
    free(log->sites);
    free(log);
}

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void count_site(struct oracle_reuse_log *log, const struct gpusim_log_access *access,
                       uint32_t set, uint64_t words)
{
    for (unsigned i = 0; i < log->told->site_count; i++) {
        const struct oracle_site *site = &log->told->sites[i];
        if (site->index == access->site->index &&
            strcmp(site->function, access->site->function) == 0) {
            log->sites[i * log->told->reuse.set_count + set] += words;
            return;
        }
    }
}

// `at`: index of the block's counters of the object.
static void count_words(struct oracle_reuse_log *log, const struct gpusim_log_access *access,
                        size_t at, uint64_t from, uint64_t end)
{
    struct instrument_reused *counts = &log->counts[at];
    if (UINT32_MAX - from > counts->before)
        counts->before = (uint32_t)(UINT32_MAX - from);
    if (end > counts->end)
        counts->end = (uint32_t)end;
    if (access->kind != GPUSIM_LOG_LOAD) {
        counts->stores += end - from;
        return;
    }
    count_site(log, access, (uint32_t)(at % log->told->reuse.set_count), end - from);
    counts->loads += end - from;
    for (uint64_t word = from; word < end; word++) {
        counts->words += !log->loaded[at][word];
        log->loaded[at][word] = 1;
    }
}

// Returns whether no lane before it accesses the same word at once.
static bool is_first_at(const struct gpusim_log_access *access, unsigned lane)
{
    for (unsigned i = 0; i < lane; i++) {
        if (access->mask >> i & 1 && access->address[i] / WORD == access->address[lane] / WORD)
            return false;
    }
    return true;
}

void oracle_reuse_see(struct oracle_reuse_log *log, const struct gpusim_log_access *access)
{
    const struct oracle_reuse *reuse = &log->told->reuse;
    const char *text = access->site->text;
    uint32_t block = 0;
    log->has_loads |= starts_with(text, "ld");
    while (block < reuse->looked && instrument_looked_block(log->blocks, block) != access->block)
        block++;
    if (block == reuse->looked || !(starts_with(text, "ld") || starts_with(text, "st.") ||
                                    starts_with(text, "atom.") || starts_with(text, "red.")))
        return;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t address = access->address[__builtin_ctz(left)];
        const bool is_first = is_first_at(access, (unsigned)__builtin_ctz(left));
        for (uint32_t i = 0; i < reuse->set_count; i++) {
            const struct instrument_reuse_set *set = &reuse->sets[i];
            if (address - set->first >= set->bytes)
                continue;
            const uint64_t from = address / WORD - first_word(set);
            const uint64_t words = (access->bytes + WORD - 1) / WORD;
            const size_t at = (size_t)block * reuse->set_count + i;
            count_words(log, access, at, from, from + words);
            log->counts[at].moved += is_first && access->kind == GPUSIM_LOG_LOAD ? words : 0;
        }
    }
}

// A block that loads more words than its table takes need only be known to.
static bool same(const struct instrument_reused *told, const struct instrument_reused *wanted,
                 uint32_t most)
{
    const bool same_words =
        wanted->words > most ? told->words > most : told->words == wanted->words;
    return same_words && told->loads == wanted->loads && told->moved == wanted->moved &&
           told->stores == wanted->stores && told->before == wanted->before &&
           told->end == wanted->end;
}

void oracle_reuse_judge(const struct oracle_reuse_log *log, struct base_buf *complaints)
{
    const struct oracle_reuse *reuse = &log->told->reuse;
    if (log->has_loads && !reuse->address)
        base_buf_puts(complaints, "the kernel is said to load nothing\n");
    for (size_t i = 0; i < (size_t)reuse->looked * reuse->set_count; i++) {
        const struct instrument_reused *told = &reuse->counts[i], *wanted = &log->counts[i];
        if (!same(told, wanted, reuse->sets[i % reuse->set_count].most))
            base_buf_printf(
                complaints,
                "%s, block %zu: loads %llu, moved %llu, words %llu, stores %llu, from %u to %u; "
                "wanted %llu, %llu, %llu, %llu, from %u to %u\n",
                log->told->objects[reuse->objects[i % reuse->set_count]].name, i / reuse->set_count,
                (unsigned long long)told->loads, (unsigned long long)told->moved,
                (unsigned long long)told->words, (unsigned long long)told->stores,
                UINT32_MAX - told->before, told->end, (unsigned long long)wanted->loads,
                (unsigned long long)wanted->moved, (unsigned long long)wanted->words,
                (unsigned long long)wanted->stores, UINT32_MAX - wanted->before, wanted->end);
    }
    for (size_t i = 0; i < (size_t)reuse->site_count * reuse->set_count; i++) {
        if (reuse->sites[i] != log->sites[i])
            base_buf_printf(complaints, "site %zu: loads %llu, wanted %llu\n", i / reuse->set_count,
                            (unsigned long long)reuse->sites[i], (unsigned long long)log->sites[i]);
    }
}
