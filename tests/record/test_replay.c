// SPDX-License-Identifier: Apache-2.0
// The replayer of the simulated GPU's log, and the numbers about values that are computed from it.
// Each test runs a program in a child, whose stores and copies are known, and replays its log.
#include "../gpusim/log_program.h"

#include "values/expect.h"

static const char kernels[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 answer[4] = {1, 2, 3};\n"
    // p[tid] = v
    ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
    ".reg .u64 %p, %a; .reg .u32 %v, %t; ld.param.u64 %p, [p]; ld.param.u32 %v, [v];\n"
    "mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %p; st.global.u32 [%a], %v;\n"
    "ret; }\n"
    // every lane stores its number in p[0], {1, its number} in p[2], p[3], and its maximum in p[1]
    ".visible .entry clash(.param .u64 p) {\n"
    ".reg .u64 %p; .reg .u32 %t, %o, %r; ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mov.u32 %o, 1;\n"
    "st.global.u32 [%p], %t; st.global.v2.u32 [%p+8], {%o, %t};\n"
    "atom.global.max.u32 %r, [%p+4], %t; ret; }\n"
    // p[tid + 8] = p[tid]
    ".visible .entry move(.param .u64 p) {\n"
    ".reg .u64 %p, %a; .reg .u32 %v, %t; ld.param.u64 %p, [p]; mov.u32 %t, %tid.x;\n"
    "mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %p; ld.global.u32 %v, [%a];\n"
    "st.global.u32 [%a+32], %v; ret; }\n";

static CUmodule module;
static CUdeviceptr memory;

static void start(size_t bytes)
{
    CUcontext context;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, kernels));
    must(cuMemAlloc_v2(&memory, bytes));
}

static void launch(const char *name, unsigned threads, CUdeviceptr to, uint32_t value)
{
    CUfunction function;
    void *params[] = {&to, &value};
    must(cuModuleGetFunction(&function, module, name));
    must(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

// --- Replaying -----------------------------------------------------------------------------------

// What the replay of a program's log gave. Rows are those of the object of cuMemAlloc.
struct story {
    struct replay *replay;
    struct replay_totals totals;
    struct expect_sites sites;
    BASE_ARRAY(struct expect_row) rows;
    unsigned char contents[1 << 15]; // of the object, at the end
    unsigned char known[1 << 15];
    unsigned char variable[16];
};

static void see_executed(void *user, const struct gpusim_log_access *records, size_t count)
{
    struct story *story = user;
    expect_executed(&story->sites, story->replay, records, count);
}

// The extent of the rows that a copy or fill wrote.
static uint64_t end_of(const struct replay_event *event)
{
    if (event->copy)
        return event->copy->to.address + (event->copy->height - 1) * event->copy->to.pitch +
               event->copy->width;
    return event->fill->to.address + (event->fill->height - 1) * event->fill->to.pitch +
           event->fill->width;
}

static void see_ended(void *user, const struct replay_event *event)
{
    struct story *story = user;
    const struct replay_write *write = event->writes;
    if (!event->write_count)
        return;
    assert_int_equal(event->write_count, 1);
    struct expect_row *row = base_array_push(&story->rows);
    if (event->launch)
        expect_marked(write->object, write, row);
    else
        expect_range(write->object, write,
                     event->copy ? event->copy->to.address : event->fill->to.address, end_of(event),
                     row);
    free(row->looked_at);
    row->looked_at = NULL;
}

static void see_object_ended(void *user, struct replay_object *object)
{
    struct story *story = user;
    const size_t bytes = object->object->size_bytes;
    const size_t first = object->object->address - object->base;
    if (strcmp(object->object->name, "cudaMalloc") == 0) {
        memcpy(story->contents, object->bytes + first, bytes);
        memcpy(story->known, object->known + first, bytes);
    } else if (strcmp(object->object->name, "answer") == 0) {
        assert_int_equal(object->known[first + 15], REPLAY_WRITTEN);
        memcpy(story->variable, object->bytes + first, bytes);
    }
    expect_forget(object);
}

static struct story *replay(void (*program)(void))
{
    struct story *story = calloc(1, sizeof(*story));
    struct base_error error = {0};
    const struct replay_calls calls = {.user = story,
                                       .object_ended = see_object_ended,
                                       .executed = see_executed,
                                       .ended = see_ended};
    assert_int_equal(run(program, NULL), 0);
    assert_int_equal(replay_run(path, &calls, &story->replay, &story->totals, &error), BASE_OK);
    return story;
}

static void free_story(struct story *story)
{
    expect_sites_fini(&story->sites);
    base_array_fini(&story->rows);
    free(story);
}

static uint32_t word_at(const struct story *story, size_t index)
{
    uint32_t word;
    memcpy(&word, story->contents + 4 * index, 4);
    return word;
}

// --- Stores --------------------------------------------------------------------------------------

static void silent_program(void)
{
    start(4096);
    must(cuMemsetD32_v2(memory, 5, 1024));
    launch("put", 100, memory, 5);
    launch("put", 100, memory, 6);
    launch("put", 50, memory + 200, 6);
    launch("put", 51, memory + 200, 6);
    must(cuMemsetD32_v2(memory + 4, 10, 1));
    must(cuMemsetD32_v2(memory, 5, 1));
    launch("clash", 32, memory, 0);
    must(cuCtxSynchronize());
}

static void check_site(const struct story *story, size_t n, uint32_t bytes, uint64_t stores,
                       uint64_t silent, bool atomic)
{
    const struct expect_site *site = &story->sites.all.items[n];
    assert_int_equal(site->bytes, bytes);
    assert_int_equal(site->stores, stores);
    assert_int_equal(site->silent, silent);
    assert_int_equal(site->undecided, 0);
    assert_int_equal(site->atomic, atomic);
}

// Of 32 lanes that store their number where 5 is, lane 5 alone changes nothing: all compare with
// what was there before the instruction. The pair {1, lane} was {6, 6}. The maximum of 10 and a
// lane's number is 10 for lanes 0 to 10.
static void stores_are_silent_if_they_write_what_was_there_before_the_instruction(void **state)
{
    (void)state;
    struct story *story = replay(silent_program);
    assert_int_equal(story->sites.all.count, 7);
    check_site(story, 0, 4, 100, 100, false);
    check_site(story, 1, 4, 100, 0, false);
    check_site(story, 2, 4, 50, 50, false);
    check_site(story, 3, 4, 51, 50, false);
    check_site(story, 4, 4, 32, 1, false);
    check_site(story, 5, 8, 32, 0, false);
    check_site(story, 6, 4, 32, 11, true);
    assert_int_equal(word_at(story, 0), 31);
    assert_int_equal(word_at(story, 1), 31);
    assert_int_equal(word_at(story, 2), 1);
    assert_int_equal(word_at(story, 3), 31);
    assert_int_equal(word_at(story, 100), 6);
    assert_int_equal(word_at(story, 101), 5);
    assert_int_equal(story->totals.contradictions, 0);
    free_story(story);
}

// --- Pieces --------------------------------------------------------------------------------------

static void pieces_program(void)
{
    static unsigned char bytes[300];
    memset(bytes, 1, sizeof(bytes));
    start(4 * 4096 + 100);
    must(cuMemcpyHtoD_v2(memory + 4000, bytes, 200));
    must(cuMemcpyHtoD_v2(memory + 4000, bytes, 200));
    bytes[199] = 2;
    must(cuMemcpyHtoD_v2(memory + 4000, bytes, 200));
    launch("put", 1, memory + 4092, 0x01010101);
    launch("put", 2, memory + 4 * 4096 + 90 - 90 % 4, 3);
    must(cuMemsetD2D8_v2(memory + 100, 8192, 7, 50, 2));
    must(cuCtxSynchronize());
}

static void check_row(const struct story *story, size_t n, struct expect_row expected)
{
    const struct expect_row *row = &story->rows.items[n];
    assert_int_equal(row->pieces, expected.pieces);
    assert_int_equal(row->bytes, expected.bytes);
    assert_int_equal(row->fresh, expected.fresh);
    assert_int_equal(row->moved, expected.moved);
    assert_int_equal(row->same, expected.same);
    assert_int_equal(row->known, expected.known);
    assert_int_equal(row->undecided, expected.undecided);
}

static void pieces_are_the_same_if_they_were_known_and_no_byte_changed(void **state)
{
    (void)state;
    struct story *story = replay(pieces_program);
    assert_int_equal(story->rows.count, 6);
    check_row(story, 0, (struct expect_row){2, 8192, .fresh = 2, .moved = 200, .known = 2});
    check_row(story, 1, (struct expect_row){2, 8192, .moved = 200, .same = 200, .known = 2});
    check_row(story, 2, (struct expect_row){2, 8192, .moved = 200, .same = 96, .known = 2});
    check_row(story, 3, (struct expect_row){1, 4096, .moved = 4096, .same = 4096, .known = 2});
    check_row(story, 4, (struct expect_row){1, 100, .fresh = 1, .moved = 100, .known = 3});
    // From byte 100 of piece 0 to byte 150 of piece 2. No byte of piece 1 was written.
    check_row(story, 5,
              (struct expect_row){3, 3 * 4096, .fresh = 1, .moved = 8192 + 50, .same = 4096,
                                  .known = 4, .undecided = 4096 - 100});
    free_story(story);
}

// --- Contents ------------------------------------------------------------------------------------

static void learning_program(void)
{
    start(4096);
    must(cuMemsetD32_v2(memory + 16, 9, 2));
    launch("move", 8, memory, 0);
    must(cuMemcpyDtoD_v2(memory + 512, memory + 64, 4));
    must(cuCtxSynchronize());
}

static void what_is_loaded_before_it_is_written_is_known_from_the_beginning(void **state)
{
    (void)state;
    struct story *story = replay(learning_program);
    for (size_t i = 0; i < 4096; i++)
        assert_int_equal(story->known[i], (i >= 16 && i < 24) || (i >= 32 && i < 64)
                                              ? REPLAY_WRITTEN
                                          : i < 32 || (i >= 64 && i < 68) ? REPLAY_LEARNED
                                          : i >= 512 && i < 516           ? REPLAY_WRITTEN
                                                                          : REPLAY_UNKNOWN);
    assert_int_equal(word_at(story, 12), 9);
    assert_int_equal(word_at(story, 13), 9);
    assert_memory_equal(story->contents, story->contents + 32, 16);
    assert_memory_equal(story->variable, ((uint32_t[]){1, 2, 3, 0}), 16);
    assert_int_equal(story->totals.loads, 32 + 4);
    assert_int_equal(story->totals.contradictions, 0);
    free_story(story);
}

// Device memory of the simulated GPU is memory of the process.
static void unseen_program(void)
{
    start(4096);
    must(cuMemsetD32_v2(memory, 9, 1024));
    must(cuCtxSynchronize());
    *(volatile uint32_t *)(uintptr_t)(memory + 4) = 8;
    launch("move", 8, memory, 0);
    must(cuCtxSynchronize());
}

static void a_write_that_the_log_lacks_is_a_contradiction(void **state)
{
    (void)state;
    struct story *story = replay(unseen_program);
    assert_int_equal(story->totals.contradictions, 1);
    assert_int_equal(word_at(story, 9), 8);
    free_story(story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_are_silent_if_they_write_what_was_there_before_the_instruction),
        cmocka_unit_test(pieces_are_the_same_if_they_were_known_and_no_byte_changed),
        cmocka_unit_test(what_is_loaded_before_it_is_written_is_known_from_the_beginning),
        cmocka_unit_test(a_write_that_the_log_lacks_is_a_contradiction),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
