// SPDX-License-Identifier: Apache-2.0
// random [--repeats] COUNT [SEED]: compares COUNT random kernels from SEED on (default 1) with the
// log, each in three of six ways, which depend on the seed, or in all if GLINT_RANDOM_ALL is set.
// With --repeats, their launches are compared with each other instead (random_repeats.h). random
// --print SEED: prints the PTX of one. A failing kernel is reduced, and its PTX is kept in the
// current folder as seed-N.ptx and seed-N-small.ptx. GLINT_RANDOM_OFF names features that kernels
// must not have ("loops,atomics"), GLINT_RANDOM_ONLY those that they may have; see random_features.
// Exit status: 0 if all kernels agree with the log, else 1.
#include <stdlib.h>
#include <string.h>

#include "random_kernel.h"
#include "random_repeats.h"

// Each way in which kernels are compared has an alternative. Returns whether this seed has the
// first one of the pair (0), or the second one (1).
static bool takes(uint64_t seed, unsigned pair, unsigned which)
{
    return getenv("GLINT_RANDOM_ALL") || (random_hash(seed, 100 + pair) >> 40) % 2 == which;
}

// The levels objects with requests and shared memory, elements, and counts, at granularities that
// depend on the seed, some of them with parallel workers. holds() runs all of them again with
// values.
enum { LEVELS = 4, MOST_LEFT_OUT = 4096 };
static void make_levels(uint64_t seed, struct oracle_level levels[LEVELS])
{
    static const uint32_t shifts[] = {2, 3, 2, 5};
    const uint32_t counts = INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS;
    levels[0] =
        (struct oracle_level){.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS | INSTRUMENT_SHARED,
                              .shift = 2,
                              .no_reuse = true};
    levels[1] = (struct oracle_level){.facts = INSTRUMENT_ELEMENTS, .shift = shifts[seed % 4]};
    levels[2] = (struct oracle_level){.facts = seed % 2 ? counts : counts | INSTRUMENT_OBJECTS,
                                      .shift = shifts[seed / 4 % 4]};
    levels[3] = (struct oracle_level){.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                                      .shift = 2,
                                      .counted = (enum instrument_counted)(seed % 3),
                                      .light = true};
    for (unsigned i = 0; i < LEVELS; i++) {
        levels[i].gpu = seed % 2 ? 90 : 0;
        levels[i].parts = seed % 3; // no parts, or clones in separate modules
    }
    levels[0].workers = seed % 5 ? 1 : 3;
    levels[0].counted = (enum instrument_counted)((seed + 2) % 3);
}

static bool named(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

static uint32_t features_off(void)
{
    const char *off_list = getenv("GLINT_RANDOM_OFF"), *only = getenv("GLINT_RANDOM_ONLY");
    uint32_t off = 0;
    for (unsigned i = 0; i < FEATURES; i++) {
        if (named(off_list, random_features[i]) || (only && !named(only, random_features[i])))
            off |= 1u << i;
    }
    return only && named(only, "impure") ? off : off | FEATURE_IMPURE;
}

static void keep(const struct random_kernel *kernel, uint64_t seed, const char *suffix)
{
    char path[64];
    snprintf(path, sizeof(path), "seed-%llu%s.ptx", (unsigned long long)seed, suffix);
    FILE *to = fopen(path, "w");
    if (to) {
        const struct oracle_case *test = &kernel->test;
        fprintf(to, "// grid %u,%u,%u block %u,%u,%u\n", test->grid[0], test->grid[1],
                test->grid[2], test->block[0], test->block[1], test->block[2]);
        fputs(test->ptx, to);
        fclose(to);
        printf("kept %s\n", path);
    }
}

// Words of shared memory, and what blocks load of global memory, are counted outside of device
// functions only, and not those of other blocks, so that kernels without them are compared, too.
static bool holds_words(uint64_t seed, uint32_t off, const uint64_t *without, size_t count,
                        FILE *complaints)
{
    static const uint32_t ways[] = {
        INSTRUMENT_WORDS_BEST, INSTRUMENT_WORDS_SPARE,
        INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_SMALL,
        INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_SMALL | INSTRUMENT_WORDS_RACY, 0};
    static const uint32_t spares[] = {8, 4, 8, 0, 8, 4, 8}; // not all kernels have a use for it
    struct random_kernel kernel;
    const struct oracle_level with_requests = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED | INSTRUMENT_REQUESTS,
        .shift = 2,
        .workers = 1,
        .all_words = true,
        .word_ways = ways[seed % 5] | INSTRUMENT_WORDS_RANGES,
        .spare_word = spares[seed % 7],
        .without_tags = seed % 11 == 3,
        .no_reuse = true,
        .parts = seed % 3,
    };
    const struct oracle_level with_reuse = {
        .facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED | (seed % 2 ? 0 : INSTRUMENT_VALUES),
        .shift = 2,
        .workers = 1,
        .all_words = true,
        .all_reuse = true,
        .word_ways = ways[seed % 5] | INSTRUMENT_WORDS_RANGES,
        .spare_word = spares[seed % 7],
        .without_tags = seed % 11 == 3,
        .parts = seed % 3,
    };
    struct oracle_level untraced = with_requests;
    untraced.light = true;
    const struct oracle_level levels[] = {with_reuse, seed % 4 == 1 ? untraced : with_requests};
    bool good = true;
    if (takes(seed, 1, 0)) {
        random_kernel_make(&kernel, seed, off | FEATURE_FUNCTIONS | FEATURE_CLUSTERS, without,
                           count);
        good = oracle_holds(&kernel.test, levels, seed % 2 ? 2 : 1, complaints);
        random_kernel_free(&kernel);
    }
    if (!takes(seed, 1, 1))
        return good;
    // If a block is one warp, whose lanes do not take turns on several paths, the order of all
    // accesses is certain.
    random_kernel_make(&kernel, seed,
                       off | FEATURE_FUNCTIONS | FEATURE_CLUSTERS | FEATURE_WARPS |
                           FEATURE_BRANCHES | FEATURE_WHILE | FEATURE_RETURNS,
                       without, count);
    kernel.test.ordered = true;
    good &= oracle_holds(&kernel.test, levels, seed % 2 ? 2 : 1, complaints);
    random_kernel_free(&kernel);
    return good;
}

// Lines of global memory are traced outside of device functions only, too, beside some other facts.
// Not all kernels are: some have copies whose size is in a register.
static bool holds_lines(uint64_t seed, uint32_t off, const uint64_t *without, size_t count,
                        FILE *complaints)
{
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                                     INSTRUMENT_ELEMENTS,
                                     INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    static const uint32_t limits[] = {0, 0x0fffffff, 0x7fffffff, 0, 0x00ffffff};
    static const uint32_t rooms[] = {0, 0, 50, 0};
    struct random_kernel kernel;
    const struct oracle_level level = {
        .facts = facts[seed % 6] | INSTRUMENT_CACHE,
        .shift = 2,
        .workers = seed % 7 || seed % 6 == 5 ? 1 : 3,
        .no_reuse = true,
        .trace_limit = limits[seed % 5],
        .trace_room = rooms[seed % 4],
        .trace_shelves = 1u << seed % 6,
        .gpu = seed % 2 ? 90 : 0,
        .parts = seed % 3,
    };
    bool good = true;
    if (takes(seed, 2, 0)) {
        random_kernel_make(&kernel, seed, off | FEATURE_FUNCTIONS | FEATURE_CLUSTERS, without,
                           count);
        good = oracle_holds(&kernel.test, &level, 1, complaints);
        random_kernel_free(&kernel);
    }
    if (!takes(seed, 2, 1))
        return good;
    // If lanes do not diverge, the order of a warp's records is certain.
    random_kernel_make(&kernel, seed,
                       off | FEATURE_FUNCTIONS | FEATURE_CLUSTERS | FEATURE_BRANCHES |
                           FEATURE_WHILE | FEATURE_RETURNS | FEATURE_GUARDS,
                       without, count);
    kernel.test.together = true;
    good &= oracle_holds(&kernel.test, &level, 1, complaints);
    random_kernel_free(&kernel);
    return good;
}

static bool holds(uint64_t seed, uint32_t off, const uint64_t *without, size_t count,
                  FILE *complaints)
{
    struct random_kernel kernel;
    struct oracle_level levels[LEVELS];
    make_levels(seed, levels);
    random_kernel_make(&kernel, seed, off, without, count);
    bool good = !takes(seed, 0, 0) || oracle_holds(&kernel.test, levels, LEVELS, complaints);
    for (unsigned i = 0; i < LEVELS; i++) {
        levels[i].facts |= INSTRUMENT_VALUES | INSTRUMENT_ACCESSED;
        levels[i].watch = (enum oracle_watch)((seed + i) % 3);
        levels[i].workers = 1;
    }
    good &= !takes(seed, 0, 1) || oracle_holds(&kernel.test, levels, LEVELS, complaints);
    random_kernel_free(&kernel);
    return good && holds_words(seed, off, without, count, complaints) &&
           holds_lines(seed, off, without, count, complaints);
}

// --- Launches that repeat themselves -------------------------------------------------------------

static struct repeats_seen {
    unsigned pure, impure, judged, varied; // kernels
    unsigned varied_by[RANDOM_SOURCES];    // those that vary, by their statement
} repeats_seen;

static bool holds_repeats(uint64_t seed, uint32_t off, const uint64_t *without, size_t count,
                          FILE *complaints)
{
    struct random_kernel kernel;
    struct random_repeats told;
    random_kernel_make(&kernel, seed, off, without, count);
    const bool good = random_repeats_hold(&kernel, &told, complaints);
    repeats_seen.pure += kernel.source < 0;
    repeats_seen.impure += kernel.source >= 0;
    repeats_seen.judged += told.judged;
    repeats_seen.varied += told.varies;
    if (kernel.source >= 0)
        repeats_seen.varied_by[kernel.source] += told.varies;
    random_kernel_free(&kernel);
    return good;
}

// Says what was compared. Returns false if it shows nothing: if no kernel was said to repeat
// itself, or some source never made one vary, although there were enough kernels.
enum { KERNELS_BY_SOURCE = 20 };
static bool tell_repeats(unsigned count, uint64_t first)
{
    bool good = repeats_seen.judged;
    printf("%u random kernels, seeds %llu to %llu: %u touch the same whenever their parameters are "
           "the same, as is said of them; of %u others, %u do not\n",
           count, (unsigned long long)first, (unsigned long long)first + count - 1,
           repeats_seen.judged, count - repeats_seen.judged, repeats_seen.varied);
    for (unsigned i = 0; i < RANDOM_SOURCES && count >= KERNELS_BY_SOURCE * RANDOM_SOURCES; i++) {
        if (repeats_seen.varied_by[i] || !random_sources[i].varies)
            continue;
        printf("no kernel varied because of %s\n", random_sources[i].name);
        good = false;
    }
    return good;
}

// --- All -----------------------------------------------------------------------------------------

typedef bool holds_function(uint64_t seed, uint32_t off, const uint64_t *without, size_t count,
                            FILE *complaints);

// Removes features, then statements, that the kernel does not need to fail.
static void shrink(holds_function *check, uint64_t seed, uint32_t off)
{
    static uint64_t without[MOST_LEFT_OUT];
    size_t count = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    struct random_kernel kernel;
    for (unsigned i = 0; nowhere && i < FEATURES; i++) {
        if (!(off & 1u << i) && !check(seed, off | 1u << i, NULL, 0, nowhere))
            off |= 1u << i;
    }
    for (size_t i = 0; nowhere; i++) {
        random_kernel_make(&kernel, seed, off, without, count);
        const bool more = i < kernel.statements.count && count < MOST_LEFT_OUT;
        if (more)
            without[count] = kernel.statements.items[i];
        random_kernel_free(&kernel);
        if (!more)
            break;
        if (!check(seed, off, without, count + 1, nowhere)) {
            count++;
            i--;
        }
    }
    random_kernel_make(&kernel, seed, off, without, count);
    keep(&kernel, seed, "-small");
    printf("smaller, without");
    for (unsigned i = 0; i < FEATURES; i++)
        printf("%s%s", off & 1u << i ? " " : "", off & 1u << i ? random_features[i] : "");
    printf(" and without %zu statements:\n", count);
    fflush(stdout);
    check(seed, off, without, count, stdout);
    random_kernel_free(&kernel);
    if (nowhere)
        fclose(nowhere);
}

int main(int argc, char **argv)
{
    const uint32_t off = features_off();
    const bool repeats = argc > 1 && strcmp(argv[1], "--repeats") == 0;
    struct random_kernel kernel;
    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        random_kernel_make(&kernel, strtoull(argv[2], NULL, 0), off, NULL, 0);
        fputs(kernel.test.ptx, stdout);
        random_kernel_free(&kernel);
        return 0;
    }
    argc -= repeats;
    argv += repeats;
    const unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 100;
    const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    holds_function *check = repeats ? holds_repeats : holds;
    unsigned failed = 0;
    for (uint64_t seed = first; seed < first + count && failed < 3; seed++) {
        const uint32_t own_off = repeats ? random_repeats_off(seed, off) : off;
        if (check(seed, own_off, NULL, 0, stdout))
            continue;
        failed++;
        random_kernel_make(&kernel, seed, own_off, NULL, 0);
        keep(&kernel, seed, "");
        random_kernel_free(&kernel);
        shrink(check, seed, own_off);
    }
    if (!failed && repeats)
        failed = !tell_repeats(count, first);
    else if (!failed)
        printf("%u random kernels, seeds %llu to %llu: probes tell what the log says\n", count,
               (unsigned long long)first, (unsigned long long)first + count - 1);
    return failed != 0;
}
