// SPDX-License-Identifier: Apache-2.0
// The reduction alone: random bitmaps and counters of all densities against plain loops, and that
// it leaves behind what the next one needs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/shadow_inner.h"
#include "shadow_harness.h"

static int start(void **unused)
{
    harness_start(unused);
    pthread_mutex_lock(&shadow_of(harness_context)->lock);
    assert_true(shadow_reduce_load(shadow_of(harness_context)));
    pthread_mutex_unlock(&shadow_of(harness_context)->lock);
    return 0;
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

// Memory that host and device both see.
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

enum { JOBS = 5 };
static const uint32_t job_words[JOBS] = {4, 128, 4096, 4100, 23456};

struct job {
    uint32_t *bits, *any, *multi, *counts;
    uint32_t *had_any, *had_multi; // before
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
    job->had_any = calloc(words, sizeof(uint32_t));
    job->had_multi = calloc(words, sizeof(uint32_t));
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

// The hottest of the pieces, the first of equal ones first.
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

// Words of a launch, and what they must come to.
static void fill_job(struct job *job, uint32_t words, uint32_t first, uint32_t piece,
                     uint32_t *seed)
{
    uint64_t pieces[DEVICE_PIECES] = {0};
    unsigned __int128 squares = 0;
    memset(&job->expected, 0, sizeof(job->expected));
    memset(&job->counted, 0, sizeof(job->counted));
    for (uint32_t i = 0; i < words; i++) {
        uint32_t touched = some_bits(seed);
        if (i < 4) // before the object's first element there is nothing
            touched &= i * 32 + 32 <= first ? 0
                       : i * 32 >= first    ? UINT32_MAX
                                            : UINT32_MAX << first % 32;
        const bool whole = touched == UINT32_MAX;
        uint32_t together = job->counts && whole ? some_count(seed) / 2 : 0;
        const bool apart = job->counts && (!whole || !together || random_word(seed) % 2);
        job->bits[i] = !job->counts ? touched : together | (apart && touched ? 1u << 31 : 0);
        for (uint32_t bit = 0; job->counts && bit < 32; bit++) {
            if (!(touched >> bit & 1))
                continue;
            const uint32_t own = apart ? some_count(seed) / 2 + (together ? 0 : 1) : 0;
            const uint64_t count = (uint64_t)together + own;
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
        .result = address(record),
        .sequence = 1,
        .tallies_at = (uint32_t)(address(record->tallies) - address(record)),
        .flags_at = (uint32_t)(address(record->flags) - address(record)),
        .jobs_at = (uint32_t)(address(record->sums) - address(record)),
        .job_counts_at = (uint32_t)(address(record->counts) - address(record)),
        .flags = address(flags),
        .flag_count = FLAGS,
        .flag_rows = INSTRUMENT_FLAG_ROWS,
        .flag_row_bytes = FLAG_ROW,
        .tallies = address(tallies),
        .tally_count = TALLIES,
        .tally_rows = INSTRUMENT_TALLY_ROWS,
        .tally_row_bytes = TALLY_ROW,
        .job_count = JOBS,
    };
    for (int i = 0; i < JOBS; i++) {
        make_job(&jobs[i], job_words[i], counts);
        about.jobs[i] = (struct device_job){
            .bits = address(jobs[i].bits),
            .counts = counts ? address(jobs[i].counts) : 0,
            .any = address(jobs[i].any),
            .multi = address(jobs[i].multi),
            .sums = address(jobs[i].sums),
            .words = job_words[i],
            .first = (uint32_t)i * 31 % 128,
            .piece = (job_words[i] * 32 + DEVICE_PIECES - 1) / DEVICE_PIECES,
        };
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t sums[TALLIES] = {0};
        unsigned char set[FLAGS] = {0};
        for (int i = 0; i < JOBS; i++)
            fill_job(&jobs[i], job_words[i], about.jobs[i].first, about.jobs[i].piece, &seed);
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
        MUST(REAL(cuLaunchKernel)(shadow_of(harness_context)->reduce, blocks, 1, 1, DEVICE_THREADS,
                                  1, 1, 0, CU_STREAM_LEGACY, params, NULL));
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
    }
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, harness_finish)
    const struct CMUnitTest tests[] = {
        TEST(bits_are_summed_by_one_block),
        TEST(bits_are_summed_by_many_blocks),
        TEST(counts_are_summed_by_one_block),
        TEST(counts_are_summed_by_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
