// SPDX-License-Identifier: Apache-2.0
// The reduction alone: random bitmaps and counters of all densities are compared with plain loops.
// The reduction must leave its memory in the state that the next one needs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow/memory.h"
#include "inject/shadow/model.h"
#include "inject/shadow/reduce.h"
#include "shadow_harness.h"

// Real GPUs have blocks of more threads than the simulated one, whose code differs. With counts it
// is the same.
static int start_with(void **unused, bool simulated)
{
    harness_start(unused);
    core_state.simulated = simulated;
    pthread_mutex_lock(&shadow_of(harness_context)->lock);
    assert_true(shadow_reduce_load(shadow_of(harness_context), false));
    assert_true(shadow_reduce_load(shadow_of(harness_context), true));
    pthread_mutex_unlock(&shadow_of(harness_context)->lock);
    assert_int_equal(shadow_of(harness_context)->few, simulated);
    return 0;
}

static int start_real(void **unused)
{
    return start_with(unused, false);
}

static int start_simulated(void **unused)
{
    return start_with(unused, true);
}

static uint32_t random_word(uint32_t *seed)
{
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        word = word << 16 | *seed >> 16;
    }
    return word;
}

// Allocates memory that host and device can both access.
static void *zeroed(size_t bytes)
{
    void *memory = harness_pinned(bytes);
    memset(memory, 0, bytes);
    return memory;
}

static uint64_t address(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

// In the last jobs, the launch touches every element, in long stretches equally often. Their chunks
// are full, and their pieces have few and many elements.
enum { JOBS = 8, UNEVEN = 5, STRETCH = 150 };
static const uint32_t job_words[JOBS] = {4, 128, 4096, 4100, 23456, 60, 900, 300000};

struct job {
    uint32_t *bits, *any, *multi, *counts;
    unsigned char *full;
    uint32_t *had_any, *had_multi; // before the launch
    uint32_t *touched;             // by this launch
    struct {
        struct device_sums sums;
        struct device_counts counts;
    } * sums;
    struct device_sums expected;
    struct device_counted counted;
};

static void make_job(struct job *job, uint32_t words, bool counts)
{
    job->bits = zeroed(words * sizeof(uint32_t));
    job->any = zeroed(words * sizeof(uint32_t));
    job->multi = zeroed(words * sizeof(uint32_t));
    job->full = zeroed(words / DEVICE_CHUNK_WORDS + 1);
    job->had_any = calloc(words, sizeof(uint32_t));
    job->had_multi = calloc(words, sizeof(uint32_t));
    job->touched = calloc(words, sizeof(uint32_t));
    job->sums = zeroed(sizeof(*job->sums));
    job->counts = counts ? zeroed((size_t)words * 32 * sizeof(uint32_t)) : NULL;
}

static uint32_t some_bits(uint32_t *seed)
{
    const uint32_t kind = random_word(seed) % 8;
    return kind < 3 ? 0 : kind < 5 ? UINT32_MAX : random_word(seed) & random_word(seed);
}

// A count of up to 32 bits, small or large.
static uint32_t some_count(uint32_t *seed)
{
    return random_word(seed) >> random_word(seed) % 32 >> 1;
}

static unsigned bin_of(uint64_t count)
{
    unsigned log = 0;
    while (count >> (log + 1))
        log++;
    return 2 * log + (2 * count >= 3 * (UINT64_C(1) << log) && log);
}

// Finds the hottest pieces; of equal ones, the first comes first.
static void find_hottest(uint64_t *pieces, struct device_counted *counted)
{
    for (int place = 0; place < DEVICE_HOTTEST; place++) {
        int best = 0;
        for (int i = 1; i < DEVICE_PIECES; i++)
            best = pieces[i] > pieces[best] ? i : best;
        if (!pieces[best])
            break;
        counted->hottest[place].piece = (uint64_t)best;
        counted->hottest[place].sum = pieces[best];
        pieces[best] = 0;
    }
}

// One word of a launch: the elements touched, how often all were touched together, whether some
// were touched separately, and how often each (0: random).
struct word {
    uint32_t touched, together;
    bool apart;
    uint32_t own;
};

static struct word some_word(bool counts, uint32_t touched, uint32_t *seed)
{
    const bool whole = touched == UINT32_MAX;
    struct word word = {.touched = touched};
    word.together = counts && whole ? some_count(seed) / 2 : 0;
    word.apart = counts && (!whole || !word.together || random_word(seed) % 2);
    return word;
}

// Gives words of one stretch the same counts, unless the counts are random.
static struct word even_word(bool counts, uint32_t index)
{
    static const uint32_t kinds[][2] = {{3, 0},     {0, 5}, {2, 1}, {70000, 0},
                                        {0, 70000}, {0, 9}, {0, 0}};
    const uint32_t *kind = kinds[index / STRETCH % (sizeof(kinds) / sizeof(kinds[0]))];
    return (struct word){
        .touched = UINT32_MAX,
        .together = counts ? kind[0] : 0,
        .apart = counts && (kind[1] || !kind[0]),
        .own = kind[1],
    };
}

// Fills in the words of a launch and the expected results.
static void fill_job(struct job *job, uint32_t words, uint32_t first, uint32_t piece, bool even,
                     uint32_t *seed)
{
    uint64_t pieces[DEVICE_PIECES] = {0};
    unsigned __int128 squares = 0;
    memset(&job->expected, 0, sizeof(job->expected));
    memset(&job->counted, 0, sizeof(job->counted));
    for (uint32_t i = 0; i < words; i++) {
        uint32_t touched = even ? UINT32_MAX : some_bits(seed);
        if (i < 4 && first) // no elements precede the object's first
            touched &= i * 32 + 32 <= first ? 0
                       : i * 32 >= first    ? UINT32_MAX
                                            : UINT32_MAX << first % 32;
        const struct word word = even && touched == UINT32_MAX
                                     ? even_word(job->counts, i)
                                     : some_word(job->counts, touched, seed);
        job->bits[i] =
            !job->counts ? touched : word.together | (word.apart && touched ? 1u << 31 : 0);
        for (uint32_t bit = 0; job->counts && bit < 32; bit++) {
            if (!(touched >> bit & 1))
                continue;
            const uint32_t own = !word.apart ? 0
                                 : word.own  ? word.own
                                             : some_count(seed) / 2 + (word.together ? 0 : 1);
            const uint64_t count = (uint64_t)word.together + own;
            job->counts[32 * (size_t)i + bit] = own;
            job->counted.sum += count;
            squares += (unsigned __int128)count * count;
            if (count > job->counted.most) {
                job->counted.most = count;
                job->counted.most_at = 32 * (uint64_t)i + bit - first;
            }
            job->counted.bins[bin_of(count)]++;
            pieces[(32 * (uint64_t)i + bit - first) / piece] += count;
        }
        job->touched[i] = touched;
        job->had_any[i] = job->any[i];
        job->had_multi[i] = job->multi[i];
        job->expected.elements += (uint64_t)__builtin_popcount(touched);
        job->expected.fresh += (uint64_t)__builtin_popcount(touched & ~job->any[i]);
        job->expected.shared +=
            (uint64_t)__builtin_popcount(touched & job->any[i] & ~job->multi[i]);
        job->had_multi[i] |= touched & job->had_any[i];
        job->had_any[i] |= touched;
    }
    job->counted.squares_low = (uint64_t)squares;
    job->counted.squares_high = (uint64_t)(squares >> 64);
    find_hottest(pieces, &job->counted);
}

static void check_zero(const void *memory, size_t bytes)
{
    const unsigned char *at = memory;
    assert_true(!at[0] && memcmp(at, at + 1, bytes - 1) == 0);
}

// A chunk that is marked full is full, and a full chunk that this launch touched completely is
// marked.
static void check_full(const struct job *job, uint32_t words)
{
    for (uint32_t from = 0; from < words; from += DEVICE_CHUNK_WORDS) {
        bool full = true, touched = true;
        for (uint32_t i = from; i < words && i < from + DEVICE_CHUNK_WORDS; i++) {
            full &= job->multi[i] == UINT32_MAX;
            touched &= job->touched[i] == UINT32_MAX;
        }
        const bool said = job->full[from / DEVICE_CHUNK_WORDS];
        assert_true(full || !said);
        assert_true(said || !full || !touched);
    }
}

static void check_job(const struct job *job, uint32_t words, const struct device_sums *sums,
                      const struct device_counted *counted)
{
    assert_memory_equal(sums, &job->expected, sizeof(*sums));
    if (job->counts) {
        struct device_counted came = *counted;
        for (int i = 0; i < DEVICE_HOTTEST; i++)
            came.hottest[i].piece = came.hottest[i].sum ? came.hottest[i].piece : 0;
        assert_memory_equal(&came, &job->counted, sizeof(came));
        check_zero(job->counts, (size_t)words * 32 * sizeof(uint32_t));
    }
    check_zero(job->bits, words * sizeof(uint32_t));
    check_zero(job->sums, sizeof(*job->sums));
    assert_memory_equal(job->any, job->had_any, words * sizeof(uint32_t));
    assert_memory_equal(job->multi, job->had_multi, words * sizeof(uint32_t));
    check_full(job, words);
}

static void reductions_are_exact(bool counts, unsigned blocks)
{
    enum { ROUNDS = 3, TALLIES = 70, TALLY_ROW = 640, FLAGS = 21, FLAG_ROW = 128 };
    struct job jobs[JOBS];
    uint32_t seed = 99 + counts + blocks;
    uint32_t *done = zeroed(sizeof(*done));
    unsigned char *flags = zeroed(FLAG_ROW * INSTRUMENT_FLAG_ROWS);
    uint64_t *tallies = zeroed(TALLY_ROW * INSTRUMENT_TALLY_ROWS);
    struct {
        struct device_result head;
        uint64_t tallies[TALLIES];
        unsigned char flags[24];
        struct device_sums sums[JOBS];
        struct device_counted counts[JOBS];
    } *record = zeroed(sizeof(*record));
    struct device_reduction about = {
        .done = address(done),
        .small.result = address(record),
        .sequence = 1,
        .small.tallies_at = (uint32_t)(address(record->tallies) - address(record)),
        .small.flags_at = (uint32_t)(address(record->flags) - address(record)),
        .jobs_at = (uint32_t)(address(record->sums) - address(record)),
        .job_counts_at = (uint32_t)(address(record->counts) - address(record)),
        .small.flags = address(flags),
        .small.flag_count = FLAGS,
        .small.flag_rows = INSTRUMENT_FLAG_ROWS,
        .small.flag_row_bytes = FLAG_ROW,
        .small.tallies = address(tallies),
        .small.tally_count = TALLIES,
        .small.tally_rows = INSTRUMENT_TALLY_ROWS,
        .small.tally_row_bytes = TALLY_ROW,
        .job_count = JOBS,
    };
    for (int i = 0; i < JOBS; i++) {
        make_job(&jobs[i], job_words[i], counts);
        about.jobs[i] = (struct device_job){
            .bits = address(jobs[i].bits),
            .counts = counts ? address(jobs[i].counts) : 0,
            .any = address(jobs[i].any),
            .multi = address(jobs[i].multi),
            .full = address(jobs[i].full),
            .sums = address(jobs[i].sums),
            .words = job_words[i],
            .first = i == JOBS - 1 ? 0 : (uint32_t)i * 31 % 128,
            .piece = (job_words[i] * 32 + DEVICE_PIECES - 1) / DEVICE_PIECES,
        };
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t sums[TALLIES] = {0};
        unsigned char set[FLAGS] = {0};
        for (int i = 0; i < JOBS; i++)
            fill_job(&jobs[i], job_words[i], about.jobs[i].first, about.jobs[i].piece, i >= UNEVEN,
                     &seed);
        for (int row = 0; row < INSTRUMENT_TALLY_ROWS; row++) {
            for (int i = 0; i < TALLIES; i++) {
                const uint64_t tally = (uint64_t)random_word(&seed) << 32 | random_word(&seed);
                tallies[row * (TALLY_ROW / 8) + i] = tally;
                sums[i] += tally;
            }
        }
        for (int i = 0; i < FLAGS; i++) {
            if (random_word(&seed) % 2)
                flags[random_word(&seed) % INSTRUMENT_FLAG_ROWS * FLAG_ROW + (unsigned)i] = set[i] =
                    1;
        }
        record->head.sequence = 0;
        void *params[] = {&about};
        const struct shadow *shadow = shadow_of(harness_context);
        MUST(REAL(cuLaunchKernel)(shadow->reduce[counts], blocks, 1, 1,
                                  shadow_reduce_threads(shadow, counts), 1, 1, 0, CU_STREAM_LEGACY,
                                  params, NULL));
        MUST(DRIVER(cuCtxSynchronize)());
        assert_int_equal(record->head.sequence, 1);
        assert_int_equal(*done, 0);
        assert_memory_equal(record->tallies, sums, sizeof(sums));
        assert_memory_equal(record->flags, set, sizeof(set));
        check_zero(tallies, TALLY_ROW * INSTRUMENT_TALLY_ROWS);
        check_zero(flags, FLAG_ROW * INSTRUMENT_FLAG_ROWS);
        for (int i = 0; i < JOBS; i++)
            check_job(&jobs[i], job_words[i], &record->sums[i], &record->counts[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        free(jobs[i].had_any);
        free(jobs[i].had_multi);
        free(jobs[i].touched);
    }
}

// The reduction does not read chunks that are marked full, and reads all others.
static void full_chunks_are_left_alone(bool counts)
{
    enum { WORDS = 2 * DEVICE_CHUNK_WORDS, ELEMENTS = 32 * DEVICE_CHUNK_WORDS };
    struct job job;
    uint32_t *done = zeroed(sizeof(*done));
    struct {
        struct device_result head;
        struct device_sums sums;
        struct device_counted counts;
    } *record = zeroed(sizeof(*record));
    make_job(&job, WORDS, counts);
    for (int i = 0; i < WORDS; i++) // with counts: all touched once, together
        job.bits[i] = counts ? 1 : UINT32_MAX;
    job.full[1] = 1;
    struct device_reduction about = {
        .done = address(done),
        .small.result = address(record),
        .sequence = 1,
        .jobs_at = (uint32_t)(address(&record->sums) - address(record)),
        .job_counts_at = (uint32_t)(address(&record->counts) - address(record)),
        .job_count = 1,
        .jobs = {{
            .bits = address(job.bits),
            .counts = counts ? address(job.counts) : 0,
            .any = address(job.any),
            .multi = address(job.multi),
            .full = address(job.full),
            .sums = address(job.sums),
            .words = WORDS,
            .piece = (2 * ELEMENTS + DEVICE_PIECES - 1) / DEVICE_PIECES,
        }},
    };
    void *params[] = {&about};
    const struct shadow *shadow = shadow_of(harness_context);
    MUST(REAL(cuLaunchKernel)(shadow->reduce[counts], 1, 1, 1,
                              shadow_reduce_threads(shadow, counts), 1, 1, 0, CU_STREAM_LEGACY,
                              params, NULL));
    MUST(DRIVER(cuCtxSynchronize)());
    const struct device_sums expected = {.elements = 2 * ELEMENTS, .fresh = ELEMENTS};
    assert_memory_equal(&record->sums, &expected, sizeof(expected));
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(job.any[i], i < DEVICE_CHUNK_WORDS ? UINT32_MAX : 0);
    check_zero(job.multi, WORDS * sizeof(uint32_t));
    assert_int_equal(job.full[0], 0);
    free(job.had_any);
    free(job.had_multi);
    free(job.touched);
}

static void full_chunks_of_bits_are_left_alone(void **unused)
{
    (void)unused;
    full_chunks_are_left_alone(false);
}

static void full_chunks_with_counts_are_left_alone(void **unused)
{
    (void)unused;
    full_chunks_are_left_alone(true);
}

static void bits_are_summed_by_one_block(void **unused)
{
    (void)unused;
    reductions_are_exact(false, 1);
}

static void bits_are_summed_by_many_blocks(void **unused)
{
    (void)unused;
    reductions_are_exact(false, 7);
}

static void counts_are_summed_by_one_block(void **unused)
{
    (void)unused;
    reductions_are_exact(true, 1);
}

static void counts_are_summed_by_many_blocks(void **unused)
{
    (void)unused;
    reductions_are_exact(true, 7);
}

int main(void)
{
#define REAL_ONE(name)      cmocka_unit_test_setup_teardown(name, start_real, harness_finish)
#define SIMULATED_ONE(name) cmocka_unit_test_setup_teardown(name, start_simulated, harness_finish)
    const struct CMUnitTest tests[] = {
        REAL_ONE(bits_are_summed_by_one_block),
        SIMULATED_ONE(bits_are_summed_by_one_block),
        REAL_ONE(bits_are_summed_by_many_blocks),
        SIMULATED_ONE(bits_are_summed_by_many_blocks),
        REAL_ONE(counts_are_summed_by_one_block),
        REAL_ONE(counts_are_summed_by_many_blocks),
        REAL_ONE(full_chunks_of_bits_are_left_alone),
        SIMULATED_ONE(full_chunks_of_bits_are_left_alone),
        REAL_ONE(full_chunks_with_counts_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
