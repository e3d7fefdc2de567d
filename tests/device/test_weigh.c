// SPDX-License-Identifier: Apache-2.0
// Weighing alone: values with random counts are compared with sums that the host computes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "values_harness.h"

enum { MOST = 20000, LEAD = 3 }; // elements of the object; elements of the counts before it

// An object of one field, and its counts.
static struct {
    struct device_weigh about;
    unsigned char *memory;
    uint32_t *words, *counters;
    struct device_weighed *results;
} it;

static int start(void **unused)
{
    harness_start(unused);
    it.memory = harness_memory(16 * MOST);
    it.words = harness_memory(sizeof(uint32_t) * (2 * MOST + LEAD + 31));
    it.counters = harness_memory(sizeof(uint32_t) * (4 * MOST + LEAD + 31));
    it.results = harness_memory(DEVICE_WEIGH_JOBS * sizeof(*it.results));
    it.about.jobs[0].work = (uint64_t)(uintptr_t)harness_memory(DEVICE_WEIGH_WORK);
    it.about.jobs[0].result = (uint64_t)(uintptr_t)it.results;
    return 0;
}

// Begins a weighing of elements of that type, one in each structure of that size.
static void begin(uint32_t type, uint64_t elements, uint32_t stride, uint32_t offset)
{
    const uint32_t shift = values_reference_size(type) == 8 ? 3 : 2;
    struct device_weigh_job *job = &it.about.jobs[0];
    it.about.job_count = 1;
    job->first = (uint64_t)(uintptr_t)it.memory;
    job->end = job->first + elements * stride;
    job->base = job->first - ((uint64_t)LEAD << shift);
    job->bits = (uint64_t)(uintptr_t)it.words;
    job->counts = (uint64_t)(uintptr_t)it.counters;
    job->shift = shift;
    job->stride = stride;
    job->offset = offset;
    job->type = type;
    memset(it.memory, 0x5a, elements * stride);
    memset(it.words, 0, sizeof(uint32_t) * (2 * MOST + LEAD + 31));
    memset(it.counters, 0, sizeof(uint32_t) * (4 * MOST + LEAD + 31));
}

static uint64_t place_of(uint64_t element)
{
    const struct device_weigh_job *job = &it.about.jobs[0];
    return (element * job->stride + job->offset + ((uint64_t)LEAD << job->shift)) >> job->shift;
}

// Sets what an element holds, and how often it is accessed, apart from others of its word.
static void put_accessed(uint64_t element, uint64_t bits, uint32_t count)
{
    const struct device_weigh_job *job = &it.about.jobs[0];
    memcpy(it.memory + element * job->stride + job->offset, &bits, (size_t)1 << job->shift);
    it.counters[place_of(element)] = count;
    it.words[place_of(element) / 32] |= count ? 1u << 31 : 0;
}

static uint64_t accesses_to(uint64_t element)
{
    const uint64_t place = place_of(element);
    return (it.words[place / 32] & 0x7fffffff) +
           (it.words[place / 32] >> 31 ? it.counters[place] : 0);
}

static uint64_t sign_of(uint32_t type)
{
    return UINT64_C(1) << (8 * values_reference_size(type) - 1);
}

struct held {
    uint64_t bits, count;
};

static int by_bits(const void *one, const void *other)
{
    const uint64_t a = ((const struct held *)one)->bits, b = ((const struct held *)other)->bits;
    return (a > b) - (a < b);
}

// Returns the accesses to the value that has most, and their sum.
static struct held find_most(uint64_t elements, uint64_t *all)
{
    static struct held held[MOST];
    const struct device_weigh_job *job = &it.about.jobs[0];
    struct held most = {0, 0};
    *all = 0;
    for (uint64_t i = 0; i < elements; i++) {
        held[i] = (struct held){0, accesses_to(i)};
        memcpy(&held[i].bits, it.memory + i * job->stride + job->offset, (size_t)1 << job->shift);
        if (values_reference_is_float(job->type) && held[i].bits == sign_of(job->type))
            held[i].bits = 0;
        *all += held[i].count;
    }
    qsort(held, elements, sizeof(*held), by_bits);
    for (uint64_t i = 0; i < elements; i++) {
        if (i && held[i].bits == held[i - 1].bits)
            held[i].count += held[i - 1].count;
        if (held[i].count > most.count)
            most = held[i];
    }
    return most;
}

// Weighs, and compares. Returns whether a value has more than half of the accesses.
static bool weigh(uint64_t elements, unsigned blocks)
{
    uint64_t all;
    struct held most = find_most(elements, &all);
    const bool found = 2 * most.count > all;
    if (it.about.jobs[0].type == DEVICE_S32)
        most.bits = (uint64_t)(int32_t)most.bits;
    memset(it.results, 0x55, sizeof(*it.results));
    harness_weigh(&it.about, blocks);
    assert_int_equal(it.results[0].accesses, all);
    assert_int_equal(it.results[0].count, found ? most.count : 0);
    assert_int_equal(it.results[0].value, found ? most.bits : 0);
    return found;
}

// One value has about half of the accesses, spread in all ways, in 300 weighings.
static void values_around_a_half(void **unused)
{
    (void)unused;
    uint32_t seed = 11;
    unsigned most = 0;
    for (unsigned i = 0; i < 300; i++) {
        const uint64_t elements = 1 + random_next(&seed) % (i % 10 ? 700 : MOST);
        const uint32_t others = 1 + random_next(&seed) % 50, share = 40 + random_next(&seed) % 20;
        const uint32_t stride = i % 3 == 2 ? 12 : 4;
        begin(DEVICE_S32, elements, stride, i % 3 == 2 ? 8 : 0);
        for (uint64_t k = 0; k < elements; k++) {
            const bool chosen =
                i % 2 ? random_next(&seed) % 100 < share : 100 * k / elements < share;
            put_accessed(k, chosen ? 0xfffffffe : random_next(&seed) % others,
                         random_next(&seed) % 4);
        }
        for (uint64_t k = 0; i % 4 == 3 && k < (place_of(elements - 1) + 31) / 32; k++)
            it.words[k] += random_next(&seed) % 3; // all elements of a word at once
        most += weigh(elements, 1 + i % 5);
    }
    assert_in_range(most, 30, 270);
}

// An element that is read often outweighs all others; exactly half is not more than half.
static void a_single_element(void **unused)
{
    (void)unused;
    begin(DEVICE_U64, 1000, 8, 0);
    for (uint64_t i = 0; i < 1000; i++)
        put_accessed(i, i, 1);
    put_accessed(500, 77777, 1000);
    assert_true(weigh(1000, 3));
    put_accessed(500, 77777, 999);
    assert_false(weigh(1000, 3));
    put_accessed(500, 77777, UINT32_MAX);
    assert_true(weigh(1000, 1));
    begin(DEVICE_U64, 1000, 8, 0);
    assert_false(weigh(1000, 2)); // no accesses
}

// Zeros of both signs are one value, but raw words and integers with the same bits are not.
static void zeros_of_both_signs(void **unused)
{
    (void)unused;
    static const uint32_t types[] = {DEVICE_F32, DEVICE_F64, DEVICE_RAW, DEVICE_U64};
    for (unsigned k = 0; k < sizeof(types) / sizeof(*types); k++) {
        begin(types[k], 100, values_reference_size(types[k]), 0);
        for (uint64_t i = 0; i < 100; i++)
            put_accessed(i, i % 3 == 0 ? 0x3ff00000 + i : i % 3 == 1 ? sign_of(types[k]) : 0, 2);
        assert_int_equal(weigh(100, 2), values_reference_is_float(types[k]));
    }
}

// Two jobs do not disturb each other.
static void two_fields(void **unused)
{
    (void)unused;
    begin(DEVICE_U32, 500, 8, 0);
    for (uint64_t i = 0; i < 500; i++)
        put_accessed(i, 5, 1);
    it.about.jobs[0].offset = 4;
    for (uint64_t i = 0; i < 500; i++)
        put_accessed(i, i, 2);
    it.about.jobs[1] = it.about.jobs[0];
    it.about.jobs[1].work = (uint64_t)(uintptr_t)harness_memory(DEVICE_WEIGH_WORK);
    it.about.jobs[1].result = (uint64_t)(uintptr_t)&it.results[1];
    it.about.jobs[0].offset = 0;
    it.about.job_count = 2;
    harness_weigh(&it.about, 4);
    assert_int_equal(it.results[0].accesses, 500);
    assert_int_equal(it.results[0].count, 500);
    assert_int_equal(it.results[0].value, 5);
    assert_int_equal(it.results[1].accesses, 1000);
    assert_int_equal(it.results[1].count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_around_a_half),
        cmocka_unit_test(a_single_element),
        cmocka_unit_test(zeros_of_both_signs),
        cmocka_unit_test(two_fields),
    };
    return cmocka_run_group_tests_name("device.weigh", tests, start, harness_finish);
}
