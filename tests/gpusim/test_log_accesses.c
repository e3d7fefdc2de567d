// SPDX-License-Identifier: Apache-2.0
// The log of accesses: each kernel makes one kind of access, and every record is compared with the
// known answer. test_log_calls.c tests textures, which need the driver.
#include "log_testing.h"

#include "gpusim/log/write.h"
#include "gpusim/machine/sim.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
// For thread t of a block: %t is its number, %p the memory, %a the address of word t.
#define START                                                                               \
    ".reg .b32 %t, %r<20>; .reg .b64 %p, %a, %rd<20>; .reg .pred %q<4>; .reg .b16 %h<4>;\n" \
    "ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.s64 %a, %p, %a;\n"
#define KERNEL(body) HEAD ".entry k(.param .u64 p) {\n" START body "ret; }"

enum { WORDS = 4096 };

struct fixture {
    char path[64];
    struct log_file *log;
    struct sim_device *device;
    struct sim_module *module;
    uint32_t *memory;
    struct sim_fault fault;
    struct records records;
    size_t next; // next record to check
};

static int setup_workers(void **state, unsigned workers)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct base_error error;
    strcpy(fixture->path, "/tmp/glint-log-XXXXXX");
    int file = mkstemp(fixture->path);
    fixture->memory = aligned_alloc(1024, WORDS * sizeof(uint32_t));
    *state = fixture;
    if (file < 0 || close(file) != 0 || !fixture->memory ||
        log_open(fixture->path, &fixture->log, &error) != BASE_OK ||
        sim_device_create(sim_preset_find("h200"), workers, fixture->log, &fixture->device,
                          &error) != BASE_OK)
        return -1;
    for (uint32_t i = 0; i < WORDS; i++)
        fixture->memory[i] = 1000 + i;
    return sim_object_add(fixture->device, (uintptr_t)fixture->memory, WORDS * sizeof(uint32_t),
                          GPUSIM_OBJECT_DEVICE, "cudaMalloc", &error);
}

static int setup(void **state)
{
    return setup_workers(state, 1);
}

static int setup_many(void **state)
{
    return setup_workers(state, 4);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    free_records(&fixture->records);
    unlink(fixture->path);
    free(fixture->memory);
    free(fixture);
    return 0;
}

static void load(struct fixture *fixture, const char *text)
{
    struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    if (sim_module_load(fixture->device, &ptx, 1, &fixture->module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s", message);
    }
}

static void launch(struct fixture *fixture, uint32_t blocks, uint32_t threads, uint64_t param)
{
    static uint64_t launches;
    struct sim_launch request = {.kernel = sim_module_kernel_at(fixture->module, 0),
                                 .grid = {blocks, 1, 1},
                                 .block = {threads, 1, 1},
                                 .params = &param,
                                 .id = ++launches,
                                 .call = 7,
                                 .stream = 0x40};
    sim_launch_run(fixture->device, &request, NULL, &fixture->fault);
}

// Closes and reads the log, and finds the first access.
static void finish(struct fixture *fixture)
{
    sim_module_unload(fixture->module);
    sim_device_destroy(fixture->device);
    assert_int_equal(log_end(fixture->log), 0);
    log_close(fixture->log);
    fixture->records = read_records(fixture->path);
    assert_int_equal(fixture->records.state, GPUSIM_LOG_COMPLETE);
}

static void run(struct fixture *fixture, const char *text, uint32_t blocks, uint32_t threads)
{
    load(fixture, text);
    launch(fixture, blocks, threads, (uintptr_t)fixture->memory);
    assert_string_equal(fixture->fault.text, "");
    finish(fixture);
}

// Checks the next access. first: the address of the lowest lane, relative to its object's start if
// it has an object.
static const struct gpusim_log_access *expect(struct fixture *fixture, const char *text,
                                              enum gpusim_log_access_kind kind,
                                              enum gpusim_log_space space, uint32_t bytes,
                                              uint32_t mask, uint64_t first)
{
    const struct gpusim_log_record *record =
        record_at(&fixture->records, GPUSIM_LOG_ACCESS, fixture->next++);
    assert_non_null(record);
    const struct gpusim_log_access *access = &record->access;
    assert_string_equal(access->site->text, text);
    assert_string_equal(gpusim_log_kind_name(access->kind), gpusim_log_kind_name(kind));
    assert_string_equal(gpusim_log_space_name(access->space), gpusim_log_space_name(space));
    assert_int_equal(access->bytes, bytes);
    assert_int_equal(access->mask, mask);
    bool global = space != GPUSIM_LOG_SHARED && space != GPUSIM_LOG_LOCAL &&
                  space != GPUSIM_LOG_PARAM && space != GPUSIM_LOG_CLUSTER;
    assert_int_equal(access->object != NULL, global);
    assert_int_equal(access->address[__builtin_ctz(mask)] - (global ? access->object->address : 0),
                     first);
    return access;
}

static void expect_no_more(struct fixture *fixture)
{
    assert_null(record_at(&fixture->records, GPUSIM_LOG_ACCESS, fixture->next));
}

static size_t count_accesses(const struct fixture *fixture)
{
    size_t count = 0;
    for (size_t i = 0; i < fixture->records.all.count; i++)
        count += fixture->records.all.items[i].type == GPUSIM_LOG_ACCESS;
    return count;
}

static void expect_step(const struct gpusim_log_access *access, int64_t step)
{
    int first = __builtin_ctz(access->mask);
    for (int i = first; i < 32; i++) {
        if (access->mask >> i & 1)
            assert_int_equal(access->address[i],
                             access->address[first] + (uint64_t)(step * (int64_t)(i - first)));
    }
}

// Word `k` of the value of a lane.
static uint32_t word(const struct gpusim_log_access *access, const unsigned char *values, int lane,
                     int k)
{
    uint32_t value = 0;
    size_t before = (size_t)__builtin_popcount(access->mask & ((1u << lane) - 1));
    size_t bytes = access->bytes < 4 ? access->bytes : 4;
    assert_true(access->mask >> lane & 1);
    memcpy(&value, values + before * access->value_stride + 4 * k, bytes);
    return value;
}

#define VALUE(access, lane) word(access, (access)->values, lane, 0)
#define AFTER(access, lane) word(access, (access)->after, lane, 0)
#define LOAD(text, ...)     expect(fixture, text, GPUSIM_LOG_LOAD, __VA_ARGS__)
#define STORE(text, ...)    expect(fixture, text, GPUSIM_LOG_STORE, __VA_ARGS__)
#define GLOBAL              GPUSIM_LOG_GLOBAL
#define SHARED              GPUSIM_LOG_SHARED
#define LOCAL               GPUSIM_LOG_LOCAL

// --- Plain accesses ------------------------------------------------------------------------------

static void a_load_and_a_store_are_logged_with_all_that_is_known_of_them(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".file 1 \"a/b.cu\"\n"
             ".entry k(.param .u64 p) {\n" START ".loc 1 17 3\n"
             "ld.global.u32 %r1, [%a];\n"
             "add.s32 %r1, %r1, %r1;\n"
             "st.global.u32 [%a+256], %r1;\n"
             "ret; }",
        2, 40);
    uint64_t number = 0;
    const struct gpusim_log_launch *launched =
        record_at(&fixture->records, GPUSIM_LOG_LAUNCH, 0)->launch;
    assert_string_equal(launched->kernel, "k");
    assert_int_equal(launched->call, 7);
    assert_int_equal(launched->stream, 0x40);
    assert_int_equal(launched->grid[0], 2);
    assert_int_equal(launched->block[0], 40);
    assert_int_equal(launched->params_bytes, 8);
    memcpy(&number, launched->params, 8);
    assert_int_equal(number, (uintptr_t)fixture->memory);
    for (uint32_t block = 0; block < 2; block++) {
        for (uint32_t warp = 0; warp < 2; warp++) {
            uint32_t mask = warp ? 0xFF : UINT32_MAX;
            const struct gpusim_log_access *access =
                LOAD("ld.global.u32", GLOBAL, 4, mask, 128u * warp);
            const struct gpusim_log_site *site = access->site;
            assert_int_equal(access->block, block);
            assert_int_equal(access->warp, warp);
            assert_ptr_equal(access->launch, launched);
            assert_false(access->continued || access->generic);
            assert_string_equal(site->function, "k");
            assert_string_equal(site->file, "a/b.cu");
            assert_int_equal(site->line, 17);
            assert_int_equal(site->ptx_line, 9);
            assert_int_equal(site->index, 4);
            expect_step(access, 4);
            // The second block reads words that it has not written.
            for (int i = 0; i < (warp ? 8 : 32); i++)
                assert_int_equal(VALUE(access, i), 1000 + 32 * warp + (uint32_t)i);
            access = STORE("st.global.u32", GLOBAL, 4, mask, 256 + 128u * warp);
            assert_int_equal(access->site->ptx_line, 11);
            for (int i = 0; i < (warp ? 8 : 32); i++)
                assert_int_equal(VALUE(access, i), 2 * (1000 + 32 * warp + (uint32_t)i));
        }
    }
    expect_no_more(fixture);
}

static void vectors_are_one_access_of_all_their_bytes(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        KERNEL("mul.wide.u32 %rd1, %t, 16; add.s64 %rd1, %p, %rd1;\n"
               "ld.global.v4.u32 {%r1, _, %r3, %r4}, [%rd1];\n"
               "mul.wide.u32 %rd2, %t, 2; add.s64 %rd2, %p, %rd2;\n"
               "cvt.u16.u32 %h1, %t; mov.u16 %h2, 7;\n"
               "st.global.v2.u8 [%rd2+1024], {%h1, %h2};\n"),
        1, 32);
    const struct gpusim_log_access *access = LOAD("ld.global.v4.u32", GLOBAL, 16, UINT32_MAX, 0);
    expect_step(access, 16);
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(word(access, access->values, i, k), 1000 + 4 * i + k);
    access = STORE("st.global.v2.u8", GLOBAL, 2, UINT32_MAX, 1024);
    expect_step(access, 2);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(VALUE(access, (int)i), i | 7 << 8);
    expect_no_more(fixture);
}

static void strides_may_be_anything(void **state)
{
    struct fixture *fixture = *state;
    // Backwards; all lanes at one address; a permutation.
    run(fixture,
        KERNEL("sub.s32 %r1, 31, %t; mul.wide.u32 %rd1, %r1, 8; add.s64 %rd1, %p, %rd1;\n"
               "ld.global.u64 %rd2, [%rd1];\n"
               "ld.global.u8 %h1, [%p+3];\n"
               "xor.b32 %r2, %t, 5; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %p, %rd3;\n"
               "st.global.u32 [%rd3], %t;\n"),
        1, 32);
    const struct gpusim_log_access *access = LOAD("ld.global.u64", GLOBAL, 8, UINT32_MAX, 248);
    expect_step(access, -8);
    assert_int_equal(VALUE(access, 31), 1000);
    access = LOAD("ld.global.u8", GLOBAL, 1, UINT32_MAX, 3);
    expect_step(access, 0);
    assert_int_equal(access->value_stride, 0);
    access = STORE("st.global.u32", GLOBAL, 4, UINT32_MAX, 20);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(access->address[i] - access->object->address, 4 * (i ^ 5));
        assert_int_equal(VALUE(access, (int)i), i);
    }
    expect_no_more(fixture);
}

static void lanes_that_a_predicate_turns_off_are_not_in_the_mask(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        KERNEL("and.b32 %r1, %t, 1; setp.eq.u32 %q1, %r1, 0; setp.gt.u32 %q2, %t, 99;\n"
               "@%q1 ld.global.u32 %r2, [%a];\n"
               "@!%q1 st.global.u32 [%a], %t;\n"
               "@%q2 st.global.u32 [%a], %t;\n"),
        1, 32);
    expect_step(LOAD("ld.global.u32", GLOBAL, 4, 0x55555555, 0), 4);
    const struct gpusim_log_access *access = STORE("st.global.u32", GLOBAL, 4, 0xAAAAAAAA, 4);
    expect_step(access, 4);
    assert_int_equal(VALUE(access, 31), 31);
    expect_no_more(fixture);
}

static void diverged_lanes_make_accesses_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        KERNEL("setp.lt.u32 %q1, %t, 10; @%q1 bra A;\n"
               "st.global.u32 [%a], 5; bra B;\n"
               "A: st.global.u32 [%a], 6;\n"
               "B: ld.global.u32 %r1, [%a];\n"),
        1, 32);
    uint32_t seen = 0;
    for (int i = 0; i < 2; i++) { // in either order
        const struct gpusim_log_access *access =
            &record_at(&fixture->records, GPUSIM_LOG_ACCESS, fixture->next)->access;
        bool low = access->mask == 0x3FF;
        STORE("st.global.u32", GLOBAL, 4, low ? 0x3FF : ~0x3FFu, low ? 0 : 40);
        assert_int_equal(VALUE(access, low ? 0 : 31), low ? 6 : 5);
        seen |= access->mask;
    }
    assert_int_equal(seen, UINT32_MAX);
    LOAD("ld.global.u32", GLOBAL, 4, UINT32_MAX, 0);
    expect_no_more(fixture);
}

static void instructions_of_called_functions_are_sites_of_those(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".func callee(.param .u64 q) { .reg .b64 %x; ld.param.u64 %x, [q];\n"
             "st.global.u32 [%x], 3; ret; }\n"
             ".entry k(.param .u64 p) {\n" START
             "{ .param .u64 q; st.param.u64 [q], %a; call callee, (q); }\n"
             "ret; }",
        1, 1);
    const struct gpusim_log_access *access = STORE("st.global.u32", GLOBAL, 4, 1, 0);
    assert_string_equal(access->site->function, "callee");
    assert_string_equal(access->launch->kernel, "k");
    expect_no_more(fixture);
}

// --- Spaces --------------------------------------------------------------------------------------

static void shared_local_and_constant_memory_have_their_own_addresses(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".const .align 4 .u32 c[4] = {11, 12, 13, 14};\n"
             ".entry k(.param .u64 p) {\n"
             ".shared .align 16 .b8 s[256]; .local .align 8 .b8 l[64];\n" START
             "mov.u32 %r1, s; shl.b32 %r2, %t, 3; add.s32 %r1, %r1, %r2;\n"
             "st.shared.u32 [%r1], %t;\n"
             "mov.u64 %rd1, l; st.local.u32 [%rd1+12], %t;\n"
             "ld.const.u32 %r3, [c+8];\n"
             "ret; }",
        1, 32);
    const struct gpusim_log_access *access = STORE("st.shared.u32", SHARED, 4, UINT32_MAX, 0);
    expect_step(access, 8);
    assert_int_equal(VALUE(access, 9), 9);
    access = STORE("st.local.u32", LOCAL, 4, UINT32_MAX, 12);
    expect_step(access, 0);
    assert_int_equal(VALUE(access, 31), 31);
    access = LOAD("ld.const.u32", GPUSIM_LOG_CONST, 4, UINT32_MAX, 8);
    assert_int_equal(VALUE(access, 0), 13);
    assert_string_equal(access->object->name, "c");
    assert_int_equal(access->object->kind, GPUSIM_OBJECT_CONSTANT);
    expect_no_more(fixture);
}

// A third of the lanes each access shared, local and global memory.
static void generic_accesses_are_of_the_space_they_go_to(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".entry k(.param .u64 p) {\n"
             ".shared .align 16 .b8 s[256]; .local .align 8 .b8 l[64];\n" START
             "mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; add.s64 %rd1, %rd1, 16;\n"
             "mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; add.s64 %rd2, %rd2, 8;\n"
             "setp.lt.u32 %q1, %t, 10; setp.lt.u32 %q2, %t, 20;\n"
             "selp.b64 %rd3, %rd2, %a, %q2; selp.b64 %rd3, %rd1, %rd3, %q1;\n"
             "st.u32 [%rd3], %t;\n"
             "ld.u32 %r1, [%rd3];\n"
             "ret; }",
        1, 32);
    for (int load_too = 0; load_too < 2; load_too++) {
        const char *text = load_too ? "ld.u32" : "st.u32";
        enum gpusim_log_access_kind kind = load_too ? GPUSIM_LOG_LOAD : GPUSIM_LOG_STORE;
        const struct gpusim_log_access *access = expect(fixture, text, kind, SHARED, 4, 0x3FF, 16);
        assert_true(access->generic && !access->continued);
        expect_step(access, 0);
        access = expect(fixture, text, kind, LOCAL, 4, 0xFFC00, 8);
        assert_true(access->generic && access->continued);
        expect_step(access, 0);
        assert_int_equal(VALUE(access, 19), 19);
        access = expect(fixture, text, kind, GLOBAL, 4, 0xFFF00000, 80);
        assert_true(access->generic && access->continued);
        expect_step(access, 4);
        assert_int_equal(VALUE(access, 31), 31);
    }
    expect_no_more(fixture);
}

static void parameters_are_logged_where_their_address_is_generic(void **state)
{
    struct fixture *fixture = *state;
    run(fixture, KERNEL("mov.b64 %rd1, p; cvta.param.u64 %rd1, %rd1; ld.u32 %r1, [%rd1+4];\n"), 1,
        2);
    const struct gpusim_log_access *access = LOAD("ld.u32", GPUSIM_LOG_PARAM, 4, 3, 4);
    expect_step(access, 0);
    assert_int_equal(VALUE(access, 1), (uintptr_t)fixture->memory >> 32);
    expect_no_more(fixture);
}

static void lanes_in_several_objects_make_several_records(void **state)
{
    struct fixture *fixture = *state;
    static uint32_t other[64];
    struct base_error error;
    other[5] = 77;
    assert_int_equal(sim_object_add(fixture->device, (uintptr_t)other, sizeof(other),
                                    GPUSIM_OBJECT_MANAGED, "cudaMallocManaged", &error),
                     BASE_OK);
    memcpy(fixture->memory, &(uint64_t){(uintptr_t)other}, 8);
    run(fixture,
        KERNEL("ld.global.u64 %rd1, [%p]; add.s64 %rd1, %rd1, 20;\n"
               "setp.eq.u32 %q1, %t, 3; selp.b64 %rd2, %rd1, %a, %q1;\n"
               "ld.global.u32 %r1, [%rd2];\n"),
        1, 32);
    LOAD("ld.global.u64", GLOBAL, 8, UINT32_MAX, 0);
    const struct gpusim_log_access *access = LOAD("ld.global.u32", GLOBAL, 4, ~8u, 0);
    assert_false(access->continued);
    assert_int_equal(access->object->id, 1);
    assert_int_equal(access->address[31] - access->object->address, 124);
    access = LOAD("ld.global.u32", GLOBAL, 4, 8, 20);
    assert_true(access->continued);
    assert_int_equal(access->object->kind, GPUSIM_OBJECT_MANAGED);
    assert_int_equal(access->object->id, 2);
    assert_int_equal(VALUE(access, 3), 77);
    expect_no_more(fixture);
}

// --- Atomics -------------------------------------------------------------------------------------

static void atomics_tell_what_each_lane_found_and_left(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".entry k(.param .u64 p) { .shared .align 8 .b64 s;\n" START
             "atom.global.add.u32 %r1, [%p+8], %t;\n"
             "red.global.max.u32 [%a+256], 1070;\n"
             "atom.global.cas.b32 %r2, [%p], 1000, %t;\n"
             "mov.u32 %r3, s; atom.shared.exch.b32 %r4, [%r3+4], %t;\n"
             "ret; }",
        1, 32);
    const struct gpusim_log_access *access =
        expect(fixture, "atom.global.add.u32", GPUSIM_LOG_ATOMIC, GLOBAL, 4, UINT32_MAX, 8);
    expect_step(access, 0);
    for (uint32_t i = 0, sum = 1002; i < 32; i++) {
        assert_int_equal(VALUE(access, (int)i), sum);
        sum += i;
        assert_int_equal(AFTER(access, (int)i), sum);
    }
    access =
        expect(fixture, "red.global.max.u32", GPUSIM_LOG_REDUCTION, GLOBAL, 4, UINT32_MAX, 256);
    expect_step(access, 4);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(VALUE(access, (int)i), 1064 + i);
        assert_int_equal(AFTER(access, (int)i), 1064 + i < 1070 ? 1070 : 1064 + i);
    }
    // Lane 0 reads 1000 and stores 0, which no other lane changes.
    access = expect(fixture, "atom.global.cas.b32", GPUSIM_LOG_ATOMIC, GLOBAL, 4, UINT32_MAX, 0);
    assert_int_equal(VALUE(access, 0), 1000);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(AFTER(access, i), 0);
        assert_true(i == 0 || VALUE(access, i) == 0);
    }
    access = expect(fixture, "atom.shared.exch.b32", GPUSIM_LOG_ATOMIC, SHARED, 4, UINT32_MAX, 4);
    assert_int_equal(VALUE(access, 0), 0);
    for (uint32_t i = 0; i < 32; i++) {
        assert_true(i == 0 || VALUE(access, (int)i) == i - 1);
        assert_int_equal(AFTER(access, (int)i), i);
    }
    expect_no_more(fixture);
}

// --- Copies and matrices -------------------------------------------------------------------------

static void asynchronous_copies_load_and_store(void **state)
{
    struct fixture *fixture = *state;
    // Lanes 0 to 3; lane 1 reads 8 of its 16 bytes, lane 2 none.
    run(fixture,
        HEAD ".entry k(.param .u64 p) { .shared .align 16 .b8 s[64];\n" START
             "mul.wide.u32 %rd1, %t, 16; add.s64 %rd1, %p, %rd1;\n"
             "mov.u32 %r1, s; shl.b32 %r2, %t, 4; add.s32 %r1, %r1, %r2;\n"
             "mov.u32 %r3, 16; setp.eq.u32 %q1, %t, 1; selp.b32 %r3, 8, %r3, %q1;\n"
             "setp.eq.u32 %q1, %t, 2; selp.b32 %r3, 0, %r3, %q1;\n"
             "cp.async.ca.shared.global [%r1], [%rd1], 16, %r3;\n"
             "cp.async.wait_all;\n"
             "ret; }",
        1, 4);
    const struct gpusim_log_access *access = STORE("cp.async.ca.shared.global", SHARED, 16, 0xF, 0);
    expect_step(access, 16);
    static const uint32_t stored[4][4] = {
        {1000, 1001, 1002, 1003}, {1004, 1005, 0, 0}, {0}, {1012, 1013, 1014, 1015}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(word(access, access->values, i, k), stored[i][k]);
    access = LOAD("cp.async.ca.shared.global", GLOBAL, 16, 0x9, 0);
    assert_true(access->continued);
    expect_step(access, 16);
    access = LOAD("cp.async.ca.shared.global", GLOBAL, 8, 0x2, 16);
    assert_true(access->continued);
    expect_no_more(fixture);
}

// 8 of 16 bytes, at the end of an object of 24.
static void an_asynchronous_copy_may_end_with_its_object(void **state)
{
    struct fixture *fixture = *state;
    static uint32_t other[6] __attribute__((aligned(16)));
    struct base_error error;
    other[5] = 9;
    assert_int_equal(sim_object_add(fixture->device, (uintptr_t)other, sizeof(other),
                                    GPUSIM_OBJECT_DEVICE, "cudaMalloc", &error),
                     BASE_OK);
    memcpy(fixture->memory, &(uint64_t){(uintptr_t)other}, 8);
    run(fixture,
        HEAD ".entry k(.param .u64 p) { .shared .align 16 .b8 s[64];\n" START
             "ld.global.u64 %rd1, [%p]; mov.u32 %r1, s;\n"
             "cp.async.ca.shared.global [%r1], [%rd1+16], 16, 8;\n"
             "ret; }",
        1, 1);
    LOAD("ld.global.u64", GLOBAL, 8, 1, 0);
    const struct gpusim_log_access *access = STORE("cp.async.ca.shared.global", SHARED, 16, 1, 0);
    assert_int_equal(word(access, access->values, 0, 1), 9);
    access = LOAD("cp.async.ca.shared.global", GLOBAL, 8, 1, 16);
    assert_int_equal(access->object->id, 2);
    expect_no_more(fixture);
}

static void bulk_copies_load_store_and_arrive(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD
        ".entry k(.param .u64 p) { .shared .align 128 .b8 s[512]; .shared .align 8 .b64 m;\n" START
        "mov.u32 %r1, s; mov.u32 %r2, m;\n"
        "mbarrier.init.shared::cta.b64 [%r2], 1;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%p+32], "
        "320, [%r2];\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%p+2048], [%r1], 320;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%p+4096], [%r1], 16;\n"
        "ret; }",
        1, 1);
    STORE("mbarrier.init.shared::cta.b64", SHARED, 8, 1, 512);
    static const char in[] = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
    const struct gpusim_log_access *access = STORE(in, SHARED, 320, 1, 0);
    assert_memory_equal(access->values, fixture->memory + 8, 320);
    access = LOAD(in, GLOBAL, 320, 1, 32);
    assert_true(access->continued);
    assert_memory_equal(access->values, fixture->memory + 8, 320);
    expect(fixture, in, GPUSIM_LOG_ATOMIC, SHARED, 8, 1, 512);
    static const char out[] = "cp.async.bulk.global.shared::cta.bulk_group";
    access = STORE(out, GLOBAL, 320, 1, 2048);
    assert_memory_equal(access->values, fixture->memory + 8, 320);
    LOAD(out, SHARED, 320, 1, 0);
    static const char reduce[] = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32";
    access = expect(fixture, reduce, GPUSIM_LOG_REDUCTION, GLOBAL, 16, 1, 4096);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(word(access, access->values, 0, k), 2024 + k);
        assert_int_equal(word(access, access->after, 0, k), 2024 + 1008 + 2 * k);
    }
    LOAD(reduce, SHARED, 16, 1, 0);
    expect_no_more(fixture);
}

// Only the block with rank 1 has accesses; lanes 0 to 15 reach its own memory by generic addresses.
static void accesses_to_other_blocks_of_the_cluster_have_a_space_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    load(fixture,
         ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".entry k(.param .u64 p) { .shared .align 16 .b32 s[64]; .shared .align 8 .b64 m;\n" START
         "mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %q1, %r1, 1; @%q1 bra E;\n"
         "mapa.shared::cluster.u32 %r2, s, 0; shl.b32 %r3, %t, 2; add.u32 %r2, %r2, %r3;\n"
         "st.shared::cluster.u32 [%r2], %t; ld.shared::cluster.u32 %r4, [%r2+4];\n"
         "mov.u32 %r5, s; add.u32 %r5, %r5, %r3; st.shared::cluster.u32 [%r5], 7;\n"
         "shr.u32 %r6, %t, 4; xor.b32 %r6, %r6, 1; cvt.u64.u32 %a, %r5; cvta.shared.u64 %a, %a; "
         "mapa.u64 %a, %a, %r6; atom.add.u32 %r7, [%a], 1;\n"
         "E: barrier.cluster.arrive; barrier.cluster.wait; ret; }");
    uint64_t param = (uintptr_t)fixture->memory;
    struct sim_launch request = {.kernel = sim_module_kernel_at(fixture->module, 0),
                                 .grid = {2, 1, 1},
                                 .block = {32, 1, 1},
                                 .cluster = {2, 1, 1},
                                 .params = &param,
                                 .id = 900};
    sim_launch_run(fixture->device, &request, NULL, &fixture->fault);
    assert_string_equal(fixture->fault.text, "");
    finish(fixture);
    const struct gpusim_log_access *access =
        STORE("st.shared::cluster.u32", GPUSIM_LOG_CLUSTER, 4, UINT32_MAX, 0);
    assert_int_equal(access->block, 1);
    assert_int_equal(access->launch->cluster[0], 2);
    assert_int_equal(VALUE(access, 31), 31);
    expect_step(access, 4);
    access = LOAD("ld.shared::cluster.u32", GPUSIM_LOG_CLUSTER, 4, UINT32_MAX, 4);
    assert_int_equal(VALUE(access, 3), 4);
    STORE("st.shared::cluster.u32", SHARED, 4, UINT32_MAX, 0);
    access = expect(fixture, "atom.add.u32", GPUSIM_LOG_ATOMIC, SHARED, 4, 0xffff, 0);
    assert_int_equal(VALUE(access, 0), 7);
    access =
        expect(fixture, "atom.add.u32", GPUSIM_LOG_ATOMIC, GPUSIM_LOG_CLUSTER, 4, 0xffff0000, 64);
    assert_true(access->generic && access->continued);
    assert_int_equal(VALUE(access, 16), 16);
    assert_int_equal(AFTER(access, 16), 17);
    expect_no_more(fixture);
}

// A tensor of ten rows of 20 words, each 96 bytes behind the one before, of which a box of 12 by 3
// from (-4, 8) on is copied: eight words of two rows are inside. The map is in the same memory.
static void tensor_copies_access_what_is_inside(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_tensor_map map = {.address = (uintptr_t)fixture->memory,
                                       .magic = SIM_TENSOR_MAGIC,
                                       .size = {20, 10},
                                       .stride = {96},
                                       .box = {12, 3},
                                       .step = {1, 1},
                                       .rank = 2,
                                       .mode = SIM_TENSOR_TILED,
                                       .type = SIM_TENSOR_U32};
    memcpy((char *)fixture->memory + 8192, &map, sizeof(map));
    run(fixture,
        HEAD
        ".entry k(.param .u64 p) { .shared .align 128 .b8 s[144]; .shared .align 8 .b64 m;\n" START
        "mov.u32 %r1, s; mov.u32 %r2, m; mov.u32 %r3, -4; add.u64 %rd1, %p, 8192;\n"
        "mbarrier.init.shared::cta.b64 [%r2], 1;\n"
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
        "[%rd1, {%r3, 8}], [%r2];\n"
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {12, 8}], "
        "[%r1];\nret; }",
        1, 1);
    STORE("mbarrier.init.shared::cta.b64", SHARED, 8, 1, 144);
    static const char in[] =
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes";
    const struct gpusim_log_access *access = STORE(in, SHARED, 144, 1, 0);
    assert_int_equal(word(access, access->values, 0, 0), 0); // outside
    assert_int_equal(word(access, access->values, 0, 4), 1000 + 8 * 24);
    assert_int_equal(word(access, access->values, 0, 16), 1000 + 9 * 24);
    assert_int_equal(word(access, access->values, 0, 28), 0);
    access = LOAD(in, GLOBAL, 32, 1, 8 * 96);
    assert_true(access->continued);
    assert_int_equal(word(access, access->values, 0, 5), 1000 + 8 * 24 + 5);
    LOAD(in, GLOBAL, 32, 1, 9 * 96);
    expect(fixture, in, GPUSIM_LOG_ATOMIC, SHARED, 8, 1, 144);
    // Two rows of 8 elements are inside.
    static const char reduce[] =
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group";
    LOAD(reduce, SHARED, 144, 1, 0);
    access = expect(fixture, reduce, GPUSIM_LOG_REDUCTION, GLOBAL, 32, 1, 8 * 96 + 48);
    assert_int_equal(word(access, access->values, 0, 4), 1000 + 8 * 24 + 16);
    assert_int_equal(word(access, access->after, 0, 3), 1000 + 8 * 24 + 15);
    assert_int_equal(word(access, access->after, 0, 4), 1000 + 8 * 24 + 16 + 1000 + 8 * 24);
    expect(fixture, reduce, GPUSIM_LOG_REDUCTION, GLOBAL, 32, 1, 9 * 96 + 48);
    expect_no_more(fixture);
}

static void matrix_rows_are_accesses_of_the_lanes_that_name_them(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".entry k(.param .u64 p) { .shared .align 16 .b8 s[512];\n" START
             "mov.u32 %r1, s; and.b32 %r2, %t, 15; shl.b32 %r2, %r2, 4; add.s32 %r1, %r1, %r2;\n"
             "shl.b32 %r5, %t, 2; mov.u32 %r6, s; add.s32 %r6, %r6, %r5; st.shared.u32 [%r6], %t;\n"
             "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r3, %r4}, [%r1];\n"
             "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1+256], {%r3};\n"
             "ret; }",
        1, 32);
    STORE("st.shared.u32", SHARED, 4, UINT32_MAX, 0);
    const struct gpusim_log_access *access =
        LOAD("ldmatrix.sync.aligned.m8n8.x2.shared.b16", SHARED, 16, 0xFFFF, 0);
    expect_step(access, 16);
    for (int k = 0; k < 4; k++)
        assert_int_equal(word(access, access->values, 2, k), 8 + k);
    // The rows of the first matrix again.
    access = STORE("stmatrix.sync.aligned.m8n8.x1.shared.b16", SHARED, 16, 0xFF, 256);
    expect_step(access, 16);
    for (int k = 0; k < 4; k++)
        assert_int_equal(word(access, access->values, 2, k), 8 + k);
    expect_no_more(fixture);
}

static void matrix_fragments_touch_each_element_once(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".entry k(.param .u64 p) { .reg .f32 %f<8>;\n" START
             "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0, %f1, %f2, %f3, %f4, %f5, "
             "%f6, %f7}, [%p], 16;\n"
             "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%p+1024], {%f0, %f1, %f2, %f3, "
             "%f4, %f5, %f6, %f7}, 16;\n"
             "ret; }",
        1, 32);
    struct gpusim_log_uses *uses = gpusim_log_uses_create();
    const struct gpusim_log_record *record;
    size_t executions = 0;
    for (size_t i = 0; (record = record_at(&fixture->records, GPUSIM_LOG_ACCESS, i)); i++) {
        const struct gpusim_log_access *access = &record->access;
        assert_int_equal(gpusim_log_uses_add(uses, access), BASE_OK);
        executions += !access->continued;
        for (int lane = 0; lane < 32; lane++) {
            uint64_t offset = access->address[lane] - access->object->address;
            assert_int_equal(VALUE(access, lane), 1000 + offset % 1024 / 4);
        }
    }
    assert_int_equal(executions, 2);
    const struct gpusim_log_use *use = gpusim_log_uses_at(uses, 0);
    assert_int_equal(use->bytes_read, 1024);
    assert_int_equal(use->unique_read, 1024);
    assert_int_equal(use->bytes_written, 1024);
    assert_int_equal(use->unique_written, 1024);
    assert_null(gpusim_log_uses_at(uses, 1));
    for (uint64_t offset = 0; offset < 2048; offset++) {
        uint32_t reads, writes;
        gpusim_log_use_byte(use, offset, &reads, &writes);
        assert_int_equal(reads, offset < 1024);
        assert_int_equal(writes, offset >= 1024);
    }
    gpusim_log_uses_destroy(uses);
}

// A is rows of 32 bytes from 1024 on, B of 16 columns follows it. All four warps read B.
static void operands_of_a_warpgroup_are_loaded_once(void **state)
{
    struct fixture *fixture = *state;
    unsigned loads[256] = {0};
    const struct gpusim_log_record *record;
    run(fixture,
        HEAD ".shared .align 16 .b8 s[4096]; .entry k(.param .u64 p) { .reg .f32 %f<8>;\n" START
             "mov.b64 %rd1, 0x1000080040; mov.b64 %rd2, 0x10000800c0;\n"
             "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, "
             "%f6, %f7}, %rd1, %rd2, 0, 1, 1, 0, 0;\n"
             "mov.u32 %r1, s; ret; }",
        1, 128);
    for (size_t i = 0; (record = record_at(&fixture->records, GPUSIM_LOG_ACCESS, i)); i++) {
        const struct gpusim_log_access *access = &record->access;
        assert_int_equal(access->kind, GPUSIM_LOG_LOAD);
        assert_int_equal(access->space, GPUSIM_LOG_SHARED);
        assert_int_equal(access->bytes, 16);
        assert_int_equal(access->continued, access->warp == 0 && i > 0);
        for (uint32_t left = access->mask; left; left &= left - 1)
            loads[access->address[__builtin_ctz(left)] / 16]++;
    }
    for (unsigned i = 0; i < 256; i++)
        assert_int_equal(loads[i], i >= 64 && i < 64 + 128 + 32);
}

// --- Functions of the machine --------------------------------------------------------------------

#define MALLOC                                                                       \
    "{ .param .u64 n; .param .u64 o; st.param.u64 [n], 64; call (o), malloc, (n);\n" \
    "ld.param.u64 %rd1, [o]; }\n"
#define FREE "{ .param .u64 n; st.param.u64 [n], %rd1; call free, (n); }\n"

static void the_heap_of_kernels_is_made_of_objects(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".extern .func (.param .b64 o) malloc(.param .b64 n);\n"
             ".extern .func free(.param .b64 n);\n"
             ".entry k(.param .u64 p) {\n" START MALLOC "st.u32 [%rd1+4], %t;\n" FREE MALLOC
             "st.u32 [%rd1+8], %t;\n" FREE "ret; }",
        1, 1);
    // Objects: the memory, then two from malloc; each ends before the next is allocated.
    const struct gpusim_object *one = record_at(&fixture->records, GPUSIM_LOG_OBJECT, 1)->object;
    const struct gpusim_object *two = record_at(&fixture->records, GPUSIM_LOG_OBJECT, 2)->object;
    assert_null(record_at(&fixture->records, GPUSIM_LOG_OBJECT, 3));
    assert_int_equal(one->kind, GPUSIM_OBJECT_HEAP);
    assert_int_equal(one->size_bytes, 64);
    assert_ptr_equal(record_at(&fixture->records, GPUSIM_LOG_OBJECT_END, 0)->object, one);
    assert_ptr_equal(record_at(&fixture->records, GPUSIM_LOG_OBJECT_END, 1)->object, two);
    const struct gpusim_log_access *access = STORE("st.u32", GLOBAL, 4, 1, 4);
    assert_ptr_equal(access->object, one);
    access = STORE("st.u32", GLOBAL, 4, 1, 8);
    assert_ptr_equal(access->object, two);
    expect_no_more(fixture);
}

static void memory_of_kernels_is_aligned_as_asked(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".extern .func (.param .b64 o) __cuda_syscall_aligned_malloc(.param .b64 n,\n"
             ".param .b64 a);\n"
             ".entry k(.param .u64 p) {\n" START
             "call (%rd1), __cuda_syscall_aligned_malloc, (24, 4096); st.u32 [%rd1], %t;\n"
             "call (%rd1), __cuda_syscall_aligned_malloc, (8, 1); st.u32 [%rd1], %t;\n"
             "call (%rd1), __cuda_syscall_aligned_malloc, (8, 48); ret; }",
        1, 1);
    // The memory and two objects: an alignment that is no power of two fails.
    const struct gpusim_object *one = record_at(&fixture->records, GPUSIM_LOG_OBJECT, 1)->object;
    assert_int_equal(one->kind, GPUSIM_OBJECT_HEAP);
    assert_int_equal(one->size_bytes, 24);
    assert_int_equal(one->address % 4096, 0);
    assert_int_equal(record_at(&fixture->records, GPUSIM_LOG_OBJECT, 2)->object->address % 16, 0);
    assert_null(record_at(&fixture->records, GPUSIM_LOG_OBJECT, 3));
}

static void printf_reads_its_text_and_its_values(void **state)
{
    struct fixture *fixture = *state;
    run(fixture,
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".global .align 1 .b8 text[4] = {37, 117, 10, 0};\n" // "%u\n"
             ".entry k(.param .u64 p) { .local .align 8 .b8 l[16];\n" START
             "mov.u64 %rd2, l; st.local.u32 [%rd2], %t; cvta.local.u64 %rd2, %rd2;\n"
             "mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1;\n"
             "{ .param .b64 f; .param .b64 a; .param .b32 o;\n"
             "st.param.b64 [f], %rd1; st.param.b64 [a], %rd2; call (o), vprintf, (f, a); } ret; }",
        1, 2);
    STORE("st.local.u32", LOCAL, 4, 3, 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct gpusim_log_access *access = LOAD("call", GLOBAL, 1, 3, i);
        assert_string_equal(access->object->name, "text");
        assert_int_equal(VALUE(access, 0), "%u\n"[i]);
        assert_int_equal(access->continued, i > 0);
    }
    const struct gpusim_log_access *access = LOAD("call", LOCAL, 4, 3, 0);
    assert_int_equal(VALUE(access, 1), 1);
    expect_no_more(fixture);
}

// --- Launches ------------------------------------------------------------------------------------

static void what_failed_did_nothing_and_the_launch_says_why(void **state)
{
    struct fixture *fixture = *state;
    load(fixture, KERNEL("st.global.u32 [%p], 1; ld.global.u32 %r1, [%a+16384];\n"
                         "st.global.u32 [%p], 2;\n"));
    launch(fixture, 1, 1, (uintptr_t)fixture->memory);
    assert_int_equal(fixture->fault.kind, SIM_FAULT_ADDRESS);
    finish(fixture);
    STORE("st.global.u32", GLOBAL, 4, 1, 0);
    expect_no_more(fixture);
    const struct gpusim_log_launch_end *ended =
        &record_at(&fixture->records, GPUSIM_LOG_LAUNCH_END, 0)->launch_end;
    assert_int_equal(ended->fault, SIM_FAULT_ADDRESS);
    assert_string_equal(ended->text, fixture->fault.text);
}

// Each thread of each block has its own word.
#define OWN_WORD                                                                        \
    "mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mad.lo.u32 %r10, %r10, %r11, %t;\n" \
    "mul.wide.u32 %a, %r10, 4; add.s64 %a, %p, %a;\n"

// 40 blocks of 3 warps each count to ten. Whichever workers run them, every access is logged, in
// the order of its warp, between the launch and its end.
static void workers_lose_nothing_and_keep_the_order_of_each_warp(void **state)
{
    enum { BLOCKS = 40, WARPS = 3, TIMES = 10 };
    struct fixture *fixture = *state;
    load(fixture, KERNEL(OWN_WORD "mov.u32 %r1, 0;\n"
                                  "L: st.global.u32 [%a], %r1; add.s32 %r1, %r1, 1;\n"
                                  "setp.lt.u32 %q1, %r1, 10; @%q1 bra L;\n"));
    launch(fixture, BLOCKS, WARPS * 32, (uintptr_t)fixture->memory);
    launch(fixture, BLOCKS, WARPS * 32, (uintptr_t)fixture->memory + 1024);
    finish(fixture);
    static uint32_t next[BLOCKS][WARPS];
    const struct gpusim_log_launch *running = NULL;
    size_t launches = 0;
    for (size_t i = 0; i < fixture->records.all.count; i++) {
        const struct gpusim_log_record *record = &fixture->records.all.items[i];
        if (record->type == GPUSIM_LOG_LAUNCH) {
            assert_null(running);
            running = record->launch;
            memset(next, 0, sizeof(next));
        } else if (record->type == GPUSIM_LOG_LAUNCH_END) {
            assert_int_equal(record->launch_end.number, running->number);
            for (int b = 0; b < BLOCKS; b++)
                for (int w = 0; w < WARPS; w++)
                    assert_int_equal(next[b][w], TIMES);
            launches++;
            running = NULL;
        } else if (record->type == GPUSIM_LOG_ACCESS) {
            const struct gpusim_log_access *access = &record->access;
            assert_ptr_equal(access->launch, running);
            assert_in_range(access->block, 0, BLOCKS - 1);
            assert_in_range(access->warp, 0, WARPS - 1);
            assert_int_equal(VALUE(access, 0), next[access->block][access->warp]++);
            assert_int_equal(access->address[0] - access->object->address,
                             128 * (WARPS * access->block + access->warp) + 1024 * launches);
        }
    }
    assert_int_equal(launches, 2);
}

// Many pieces of new code, which workers reach at the same time. The reader rejects accesses of
// unknown sites.
static void sites_come_before_the_accesses_of_any_worker(void **state)
{
    enum { TIMES = 400, BLOCKS = 8 };
    struct fixture *fixture = *state;
    for (int i = 0; i < TIMES; i++) {
        sim_module_unload(fixture->module);
        fixture->module = NULL;
        load(fixture, KERNEL(OWN_WORD "st.global.u32 [%a], %t;\n"));
        launch(fixture, BLOCKS, 32, (uintptr_t)fixture->memory);
    }
    finish(fixture);
    assert_int_equal(count_accesses(fixture), TIMES * BLOCKS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_load_and_a_store_are_logged_with_all_that_is_known_of_them),
        TEST(vectors_are_one_access_of_all_their_bytes),
        TEST(strides_may_be_anything),
        TEST(lanes_that_a_predicate_turns_off_are_not_in_the_mask),
        TEST(diverged_lanes_make_accesses_of_their_own),
        TEST(instructions_of_called_functions_are_sites_of_those),
        TEST(shared_local_and_constant_memory_have_their_own_addresses),
        TEST(generic_accesses_are_of_the_space_they_go_to),
        TEST(parameters_are_logged_where_their_address_is_generic),
        TEST(lanes_in_several_objects_make_several_records),
        TEST(atomics_tell_what_each_lane_found_and_left),
        TEST(asynchronous_copies_load_and_store),
        TEST(an_asynchronous_copy_may_end_with_its_object),
        TEST(bulk_copies_load_store_and_arrive),
        TEST(accesses_to_other_blocks_of_the_cluster_have_a_space_of_their_own),
        TEST(tensor_copies_access_what_is_inside),
        TEST(matrix_rows_are_accesses_of_the_lanes_that_name_them),
        TEST(matrix_fragments_touch_each_element_once),
        TEST(operands_of_a_warpgroup_are_loaded_once),
        TEST(the_heap_of_kernels_is_made_of_objects),
        TEST(memory_of_kernels_is_aligned_as_asked),
        TEST(printf_reads_its_text_and_its_values),
        TEST(what_failed_did_nothing_and_the_launch_says_why),
        cmocka_unit_test_setup_teardown(workers_lose_nothing_and_keep_the_order_of_each_warp,
                                        setup_many, teardown),
        cmocka_unit_test_setup_teardown(sites_come_before_the_accesses_of_any_worker, setup_many,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
