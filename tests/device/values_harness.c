// SPDX-License-Identifier: Apache-2.0
// Runs the scan of contents: see values_harness.h. The driver's functions come from the simulated
// GPU's library.
#include "values_harness.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

enum { PIECE_BYTES = 1 << DEVICE_PIECE_SHIFT };

// The small parts of a launch's record, which the scan writes, too.
enum { TALLIES = 5, TALLY_ROWS = 20, TALLY_ROW_BYTES = 64 };
struct record {
    struct device_result head;
    uint64_t tallies[TALLIES];
};

static struct {
    void *driver;
    CUcontext context;
    CUmodule modules[2], weigh; // the first: those of scans of everything, of arrays of words
    CUfunction scans[2], mark, choose, count;
    uint32_t *done, *sequence;
    uint64_t *tallies;
    struct record *record;
    void *memory[16];
    unsigned memory_count;
} harness;

static void *driver_function(const char *name)
{
    if (!harness.driver)
        harness.driver = dlopen(HARNESS_DRIVER, RTLD_NOW | RTLD_LOCAL);
    void *found = harness.driver ? dlsym(harness.driver, name) : NULL;
    if (!found)
        fail_msg("%s: %s", name, dlerror());
    return found;
}
#define DRIVER(symbol) ((__typeof__(&(symbol)))driver_function(#symbol))
#define MUST(call)     assert_int_equal((call), CUDA_SUCCESS)

uint32_t random_next(uint32_t *seed)
{
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        word = word << 16 | *seed >> 16;
    }
    return word;
}

static void *zeroed(size_t bytes)
{
    void *memory;
    MUST(DRIVER(cuMemHostAlloc)(&memory, bytes, 0));
    memset(memory, 0, bytes);
    return memory;
}

static uint64_t address(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

int harness_start(void **unused)
{
    (void)unused;
    MUST(DRIVER(cuInit)(0));
    MUST(DRIVER(cuCtxCreate_v2)(&harness.context, 0, 0));
    const char *const modules[] = {device_values_others_ptx, device_values_ptx};
    for (unsigned i = 0; i < 2; i++) {
        MUST(DRIVER(cuModuleLoadData)(&harness.modules[i], modules[i]));
        MUST(
            DRIVER(cuModuleGetFunction)(&harness.scans[i], harness.modules[i], DEVICE_VALUES_SCAN));
        MUST(DRIVER(cuFuncSetAttribute)(harness.scans[i],
                                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        DEVICE_VALUES_SHARED));
    }
    MUST(DRIVER(cuModuleGetFunction)(&harness.mark, harness.modules[1], DEVICE_VALUES_MARK));
    MUST(DRIVER(cuModuleLoadData)(&harness.weigh, device_weigh_ptx));
    MUST(DRIVER(cuModuleGetFunction)(&harness.choose, harness.weigh, DEVICE_WEIGH_CHOOSE));
    MUST(DRIVER(cuModuleGetFunction)(&harness.count, harness.weigh, DEVICE_WEIGH_COUNT));
    harness.done = zeroed(2 * sizeof(uint32_t));
    harness.sequence = zeroed(sizeof(uint32_t));
    harness.tallies = zeroed(TALLY_ROWS * TALLY_ROW_BYTES);
    harness.record = zeroed(sizeof(*harness.record));
    return 0;
}

int harness_finish(void **unused)
{
    (void)unused;
    while (harness.memory_count)
        MUST(DRIVER(cuMemFreeHost)(harness.memory[--harness.memory_count]));
    MUST(DRIVER(cuMemFreeHost)(harness.done));
    MUST(DRIVER(cuMemFreeHost)(harness.sequence));
    MUST(DRIVER(cuMemFreeHost)(harness.tallies));
    MUST(DRIVER(cuMemFreeHost)(harness.record));
    MUST(DRIVER(cuCtxDestroy_v2)(harness.context));
    return 0;
}

// --- Objects -------------------------------------------------------------------------------------

struct object object_new(uint64_t bytes, unsigned lead)
{
    uint32_t seed = (uint32_t)bytes + lead, room = 1;
    struct object object = {.allocated = zeroed(bytes + lead + 256)};
    const uint64_t start = (address(object.allocated) + 255) / 256 * 256 + lead;
    const uint64_t base = start / 16 * 16;
    const uint32_t pieces = (uint32_t)((start + bytes - base + PIECE_BYTES - 1) / PIECE_BYTES);
    while (room < pieces)
        room *= 2;
    object.memory = (unsigned char *)(uintptr_t)start;
    object.marks = zeroed(room);
    object.states = zeroed(pieces);
    object.hashes = zeroed(pieces * sizeof(*object.hashes));
    object.kept = zeroed(sizeof(*object.kept));
    object.work = zeroed(DEVICE_VALUES_WORK);
    object.result = zeroed(sizeof(*object.result));
    object.looked_at = calloc(pieces, 1);
    object.job = (struct device_values_job){
        .base = base,
        .first = start,
        .end = start + bytes,
        .marks = address(object.marks),
        .states = address(object.states),
        .hashes = address(object.hashes),
        .kept = address(object.kept),
        .work = address(object.work),
        .result = address(object.result),
        .from = start,
        .to = start + bytes,
        .mask = room - 1,
        .pieces = pieces,
        .stride = 4,
        .field_count = 1,
        .fields = {{0, DEVICE_RAW}},
    };
    for (uint64_t i = 0; i < bytes; i++)
        object.memory[i] = (unsigned char)random_next(&seed);
    return object;
}

void object_free(struct object *object)
{
    void *all[] = {object->allocated, object->marks, object->states, object->hashes,
                   object->kept,      object->work,  object->result};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        MUST(DRIVER(cuMemFreeHost)(all[i]));
    free(object->looked_at);
}

static unsigned char *mark_of(const struct object *object, uint32_t piece)
{
    return &object->marks[piece * (uint32_t)DEVICE_PIECE_STEP & object->job.mask];
}

void object_mark(struct object *object, uint32_t piece)
{
    *mark_of(object, piece) = 1;
}

bool object_is_marked(const struct object *object, uint32_t piece)
{
    return *mark_of(object, piece);
}

void object_mark_many(struct object *object, struct object *other, uint32_t first, uint32_t count,
                      unsigned blocks)
{
    struct device_marking about = {.marks = object->job.marks,
                                   .other = other ? other->job.marks : 0,
                                   .mask = object->job.mask,
                                   .first = first,
                                   .count = count};
    void *params[] = {&about};
    MUST(DRIVER(cuLaunchKernel)(harness.mark, blocks, 1, 1, DEVICE_VALUES_THREADS, 1, 1, 0,
                                CU_STREAM_LEGACY, params, NULL));
    MUST(DRIVER(cuCtxSynchronize)());
}

void object_type(struct object *object, uint32_t type)
{
    object->job.stride = values_reference_size(type);
    object->job.field_count = 1;
    object->job.fields[0].offset = 0;
    object->job.fields[0].type = type;
}

uint64_t object_elements(const struct object *object)
{
    return (object->job.end - object->job.first) / object->job.stride;
}

void object_put(struct object *object, uint64_t index, uint64_t bits)
{
    memcpy(object->memory + index * object->job.stride + object->job.fields[0].offset, &bits,
           values_reference_size(object->job.fields[0].type));
}

void object_put_number(struct object *object, uint64_t index, double number)
{
    object_put(object, index, values_reference_convert(object->job.fields[0].type, number));
}

// --- Scans ---------------------------------------------------------------------------------------

// What a scan must leave.
struct expected {
    uint64_t fresh, moved, same, known, hash[2];
    unsigned char *states;
    uint64_t (*hashes)[2];
};

static bool is_looked_at(const struct object *object, uint32_t piece)
{
    const struct device_values_job *job = &object->job;
    const uint64_t from = job->base + ((uint64_t)piece << DEVICE_PIECE_SHIFT);
    switch (job->which) {
    case DEVICE_MARKED: return *mark_of(object, piece);
    case DEVICE_UNSEEN: return object->states[piece] == DEVICE_PIECE_KNOWN;
    case DEVICE_KNOWN: return object->states[piece] & DEVICE_PIECE_KNOWN;
    default: return job->from < from + PIECE_BYTES && job->to > from && job->from < job->to;
    }
}

static uint64_t most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static struct expected expect(struct object *object)
{
    const struct device_values_job *job = &object->job;
    struct expected expected = {.states = malloc(job->pieces),
                                .hashes = malloc(job->pieces * sizeof(*expected.hashes))};
    memcpy(expected.states, object->states, job->pieces);
    memcpy(expected.hashes, object->hashes, job->pieces * sizeof(*expected.hashes));
    for (uint32_t i = 0; i < job->pieces; i++) {
        const uint64_t start = job->base + ((uint64_t)i << DEVICE_PIECE_SHIFT);
        uint64_t from = most(start, job->first), to = least(start + PIECE_BYTES, job->end);
        unsigned char *state = &expected.states[i];
        object->looked_at[i] = is_looked_at(object, i);
        if (object->looked_at[i]) {
            uint64_t hash[2];
            values_reference_hash(job, object->memory, i, hash);
            if (job->which == DEVICE_RANGE) {
                from = most(from, job->from);
                to = least(to, job->to);
            }
            const bool known = *state & DEVICE_PIECE_KNOWN;
            const bool same = known && !memcmp(hash, expected.hashes[i], sizeof(hash));
            expected.fresh += !known;
            expected.moved += to - from;
            expected.same += same ? to - from : 0;
            *state = DEVICE_PIECE_KNOWN | (job->describes ? DEVICE_PIECE_SEEN
                                           : same         ? *state & DEVICE_PIECE_SEEN
                                                          : 0);
            memcpy(expected.hashes[i], hash, sizeof(hash));
        }
        if (*state & DEVICE_PIECE_KNOWN) {
            uint64_t share[2];
            values_reference_share(i, expected.hashes[i], share);
            expected.known++;
            expected.hash[0] += share[0];
            expected.hash[1] += share[1];
        }
    }
    return expected;
}

static void check(const struct object *object, const struct expected *expected)
{
    const struct device_values_job *job = &object->job;
    const struct device_values_result *result = object->result;
    char why[200] = "";
    if (!values_reference_check(job, object->memory, object->looked_at, result, why, sizeof(why)))
        fail_msg("%s", why);
    assert_int_equal(result->fresh, expected->fresh);
    assert_int_equal(result->moved, expected->moved);
    assert_int_equal(result->same, expected->same);
    assert_int_equal(result->known, expected->known);
    assert_memory_equal(result->hash, expected->hash, sizeof(expected->hash));
    assert_int_equal(object->kept->known, expected->known);
    assert_memory_equal(object->kept->hash, expected->hash, sizeof(expected->hash));
    assert_memory_equal(object->states, expected->states, job->pieces);
    assert_memory_equal(object->hashes, expected->hashes, job->pieces * sizeof(*expected->hashes));
    for (size_t i = 0; i < DEVICE_VALUES_WORK; i++)
        assert_int_equal(object->work[i], 0);
    for (uint32_t i = 0; job->which == DEVICE_MARKED && i < job->pieces; i++)
        assert_int_equal(*mark_of(object, i), 0);
    free(expected->states);
    free(expected->hashes);
}

static struct device_small make_small(uint64_t *sums)
{
    static uint32_t seed = 7;
    memset(harness.record, 0x55, sizeof(*harness.record));
    harness.record->head.sequence = 0;
    for (unsigned row = 0; row < TALLY_ROWS; row++) {
        for (unsigned i = 0; i < TALLIES; i++) {
            const uint64_t tally = (uint64_t)random_next(&seed) << 16;
            harness.tallies[row * TALLY_ROW_BYTES / 8 + i] = tally;
            sums[i] += tally;
        }
    }
    return (struct device_small){.result = address(harness.record),
                                 .tallies = address(harness.tallies),
                                 .tallies_at = offsetof(struct record, tallies),
                                 .tally_count = TALLIES,
                                 .tally_rows = TALLY_ROWS,
                                 .tally_row_bytes = TALLY_ROW_BYTES};
}

static void check_small(const uint64_t *sums)
{
    assert_int_equal(harness.record->head.sequence, 1);
    assert_int_equal(harness.record->head.entry_count, 0);
    assert_memory_equal(harness.record->tallies, sums, TALLIES * sizeof(*sums));
    for (unsigned i = 0; i < TALLY_ROWS * TALLY_ROW_BYTES / 8; i++)
        assert_int_equal(harness.tallies[i], 0);
}

// Scans with one of the two modules: that of arrays of words, or that of everything.
static void scan_once(struct object *const *objects, unsigned count, unsigned blocks, bool words)
{
    struct device_values about = {
        .done = address(harness.done), .sequence = address(harness.sequence), .job_count = count};
    struct expected expected[DEVICE_VALUES_JOBS];
    uint64_t sums[TALLIES] = {0};
    about.small = make_small(sums);
    for (unsigned i = 0; i < count; i++) {
        about.jobs[i] = objects[i]->job;
        expected[i] = expect(objects[i]);
        memset(objects[i]->result, 0x55, sizeof(*objects[i]->result));
    }
    device_values_grid(&about, blocks);
    *harness.sequence = 0;
    void *params[] = {&about};
    MUST(DRIVER(cuLaunchKernel)(harness.scans[words], blocks, 1, 1, DEVICE_VALUES_THREADS, 1, 1,
                                DEVICE_VALUES_SHARED, CU_STREAM_LEGACY, params, NULL));
    MUST(DRIVER(cuCtxSynchronize)());
    assert_int_equal(*harness.sequence, 1);
    assert_int_equal(harness.done[0], 0);
    assert_int_equal(harness.done[1], 0);
    check_small(sums);
    for (unsigned i = 0; i < count; i++)
        check(objects[i], &expected[i]);
}

// What is kept about an object, to scan it again from the same state.
struct kept {
    struct device_kept kept;
    unsigned char *marks, *states;
    uint64_t (*hashes)[2];
};

static void *copy_of(const void *memory, size_t bytes)
{
    return memcpy(malloc(bytes), memory, bytes);
}

static struct kept keep(const struct object *object)
{
    const struct device_values_job *job = &object->job;
    return (struct kept){*object->kept, copy_of(object->marks, job->mask + 1ul),
                         copy_of(object->states, job->pieces),
                         copy_of(object->hashes, job->pieces * sizeof(*object->hashes))};
}

static void restore(const struct object *object, const struct kept *kept)
{
    const struct device_values_job *job = &object->job;
    *object->kept = kept->kept;
    memcpy(object->marks, kept->marks, job->mask + 1ul);
    memcpy(object->states, kept->states, job->pieces);
    memcpy(object->hashes, kept->hashes, job->pieces * sizeof(*object->hashes));
}

// An object is looked at in other ways if there are many or few blocks for its pieces, if the last
// scan had something to look for, and by the scan of everything. Each call tries another of these.
static void scan_otherwise(struct object *const *objects, unsigned count, bool words)
{
    enum { MANY = 8, WAYS = 3 };
    static unsigned calls;
    const unsigned way = words ? calls++ % WAYS : 2;
    for (unsigned i = 0; i < count; i++)
        objects[i]->kept->wants = way == 0;
    scan_once(objects, count, way == 2 ? MANY : 1, words && way != 1);
}

void objects_scan(struct object *const *objects, unsigned count, unsigned blocks)
{
    struct kept kept[DEVICE_VALUES_JOBS];
    bool words = true;
    for (unsigned i = 0; i < count; i++) {
        kept[i] = keep(objects[i]);
        words &= device_values_is_words(&objects[i]->job);
    }
    scan_otherwise(objects, count, words);
    for (unsigned i = 0; i < count; i++) {
        restore(objects[i], &kept[i]);
        free(kept[i].marks);
        free(kept[i].states);
        free(kept[i].hashes);
    }
    scan_once(objects, count, blocks, words);
}

void object_scan(struct object *object, uint32_t which, bool describes, unsigned blocks)
{
    object->job.which = which;
    object->job.describes = describes;
    objects_scan(&object, 1, blocks);
}

// --- Weighing ------------------------------------------------------------------------------------

void *harness_memory(size_t bytes)
{
    assert_true(harness.memory_count < sizeof(harness.memory) / sizeof(*harness.memory));
    return harness.memory[harness.memory_count++] = zeroed(bytes);
}

void harness_weigh(struct device_weigh *about, unsigned blocks)
{
    void *params[] = {about};
    const CUfunction kernels[] = {harness.choose, harness.count};
    about->done = address(harness.done);
    about->sequence = address(harness.sequence);
    *harness.sequence = 0;
    for (unsigned i = 0; i < 2; i++)
        MUST(DRIVER(cuLaunchKernel)(kernels[i], blocks, 1, 1, DEVICE_WEIGH_THREADS, 1, 1, 0,
                                    CU_STREAM_LEGACY, params, NULL));
    MUST(DRIVER(cuCtxSynchronize)());
    assert_int_equal(*harness.sequence, 1);
    assert_int_equal(*harness.done, 0);
    for (unsigned i = 0; i < about->job_count; i++) {
        const unsigned char *work = (const unsigned char *)(uintptr_t)about->jobs[i].work;
        for (unsigned k = 0; k < DEVICE_WEIGH_WORK; k++)
            assert_int_equal(work[k], 0);
    }
}
