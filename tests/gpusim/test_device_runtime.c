// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels, by the functions of the device runtime: the order of grids, slots
// for launches, levels, errors of threads, faults, and the log.
#include "machine_testing.h"

#include "gpusim/log/write.h"
#include "log_testing.h"

// clang-format off
// launch(kernel, blocks, threads, memory, value, stream) launches a kernel with the parameters
// (memory, value) and returns the last error of the thread, which it takes.
#define FUNCTIONS \
    ".entry append(.param .u64 m, .param .u32 v);\n" \
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n" \
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n" \
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBuffer(.param .b64 a, .param .b64 n);\n" \
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s, .param .b64 t);\n" \
    ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n" \
    ".func (.reg .b32 %e) launch(.reg .b64 %k, .reg .b32 %g, .reg .b32 %b, .reg .b64 %m, .reg .b32 %v, .reg .b64 %t) {\n" \
    ".reg .b64 %p; .reg .pred %n;\n" \
    "{ .param .b64 f; .param .align 4 .b8 gs[12]; .param .align 4 .b8 bs[12]; .param .b32 s; .param .b64 r;\n" \
    "st.param.b64 [f], %k; st.param.b32 [gs], %g; st.param.b32 [gs+4], 1; st.param.b32 [gs+8], 1;\n" \
    "st.param.b32 [bs], %b; st.param.b32 [bs+4], 1; st.param.b32 [bs+8], 1; st.param.b32 [s], 0;\n" \
    "call (r), __cudaCDP2GetParameterBufferV2, (f, gs, bs, s); ld.param.b64 %p, [r]; }\n" \
    "setp.eq.u64 %n, %p, 0; @%n bra NONE;\n" \
    "st.u64 [%p], %m; st.u32 [%p+8], %v;\n" \
    "{ .param .b64 p; .param .b64 t; .param .b32 r; st.param.b64 [p], %p; st.param.b64 [t], %t;\n" \
    "call (r), __cudaCDP2LaunchDeviceV2, (p, t); ld.param.b32 %e, [r]; }\n" \
    "NONE: { .param .b32 r; call (r), __cudaCDP2GetLastError; ld.param.b32 %e, [r]; } ret; }\n"

#define REGISTERS ".reg .b64 %m, %k, %t, %a; .reg .b32 %v, %w, %e, %i; .reg .pred %p;\n"

// The kernel that the host launches, with memory in %m; and another one, with a value in %v.
#define TOP(body) ".entry top(.param .u64 m) {\n" REGISTERS "ld.param.u64 %m, [m];\n" body "ret; }\n"
#define KERNEL(name, body) \
    ".entry " name "(.param .u64 m, .param .u32 v) {\n" REGISTERS \
    "ld.param.u64 %m, [m]; ld.param.u32 %v, [v];\n" body "ret; }\n"

// Launches a kernel; its error is in %e.
#define LAUNCH(kernel, blocks, threads, value, stream) \
    "mov.u64 %k, " kernel "; mov.u64 %t, " stream ";\n" \
    "call (%e), launch, (%k, " blocks ", " threads ", %m, " value ", %t);\n"
#define ERROR_TO(place) "st.global.u32 [%m+" place "], %e;\n"

// Appends its value to the words behind word 0, which counts them.
#define APPEND \
    KERNEL("append", \
           "atom.global.add.u32 %w, [%m], 1; mad.wide.u32 %a, %w, 4, %m; st.global.u32 [%a+4], %v;\n")

// Launches `append` 100 times. Counts launches without an error in word 201, others in word 200;
// the last error is in word 202.
#define MANY(stream) \
    HEAD FUNCTIONS \
    TOP("mov.u32 %i, 0; AGAIN:\n" LAUNCH("append", "1", "1", "7", stream) \
        "setp.eq.u32 %p, %e, 0; @%p atom.global.add.u32 %w, [%m+804], 1;\n" \
        "@!%p atom.global.add.u32 %w, [%m+800], 1; @!%p st.global.u32 [%m+808], %e;\n" \
        "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100; @%p bra AGAIN;\n") APPEND

#define NULL_STREAM "0"
#define TAIL        "3"
#define AT_ONCE     "4"
#define NO_KERNEL   "0"

static const char ordered[] = HEAD FUNCTIONS
    ".entry middle(.param .u64 m, .param .u32 v);\n"
    TOP(LAUNCH("append", "1", "1", "40", TAIL)
        LAUNCH("append", "1", "1", "10", NULL_STREAM)
        LAUNCH("middle", "1", "1", "20", NULL_STREAM)
        LAUNCH("append", "1", "1", "50", TAIL)
        LAUNCH("append", "1", "1", "30", NULL_STREAM))
    KERNEL("middle",
        LAUNCH("append", "1", "1", "21", TAIL)
        LAUNCH("append", "1", "1", "20", NULL_STREAM))
    APPEND;

static const char wrong[] = HEAD FUNCTIONS
    TOP(LAUNCH("append", "1", "2000", "1", NULL_STREAM) ERROR_TO("800")
        LAUNCH("append", "0", "1", "1", NULL_STREAM) ERROR_TO("804")
        LAUNCH(NO_KERNEL, "1", "1", "1", NULL_STREAM) ERROR_TO("808")
        LAUNCH("append", "1", "1", "1", NULL_STREAM) ERROR_TO("812"))
    APPEND;

static const char first_functions[] = HEAD FUNCTIONS
    TOP("{ .param .b64 a; .param .b64 n; .param .b64 r; st.param.b64 [a], 8; st.param.b64 [n], 12;\n"
        "call (r), __cudaCDP2GetParameterBuffer, (a, n); ld.param.b64 %a, [r]; }\n"
        "st.u64 [%a], %m; st.u32 [%a+8], 5; mov.u64 %k, append;\n"
        "{ .param .b64 f; .param .b64 p; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12];\n"
        ".param .b32 s; .param .b64 t; .param .b32 r; st.param.b64 [f], %k; st.param.b64 [p], %a;\n"
        "st.param.b32 [g], 3; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;\n"
        "st.param.b32 [b], 2; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;\n"
        "st.param.b32 [s], 0; st.param.b64 [t], 0;\n"
        "call (r), __cudaCDP2LaunchDevice, (f, p, g, b, s, t); ld.param.b32 %e, [r]; }\n"
        ERROR_TO("800"))
    APPEND;

static const char nested[] = HEAD FUNCTIONS
    TOP("atom.global.add.u32 %w, [%m], 1;\n"
        LAUNCH("top", "1", "1", "0", NULL_STREAM)
        "setp.eq.u32 %p, %e, 0; @!%p st.global.u32 [%m+4], %e;\n");

static const char faulty[] = HEAD FUNCTIONS
    ".entry bad(.param .u64 m, .param .u32 v);\n"
    TOP(LAUNCH("bad", "3", "5", "0", NULL_STREAM)
        LAUNCH("append", "1", "1", "1", NULL_STREAM))
    KERNEL("bad", "mov.u64 %a, 16; st.global.u32 [%a], %v;\n")
    APPEND;

static const char logged[] = HEAD FUNCTIONS
    TOP(LAUNCH("append", "5", "1", "1", NULL_STREAM)
        LAUNCH("append", "2", "1", "1", AT_ONCE))
    APPEND;
// clang-format on

// The first kernel of a module runs; the others follow it.
static struct sim_fault start(struct fixture *fixture, const char *text)
{
    memset(fixture->memory, 0, WORDS * sizeof(*fixture->memory));
    const struct sim_fault fault = run(fixture, text, 1, 1);
    return fault;
}

static void expect_words(const struct fixture *fixture, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fixture->memory[i] != words[i])
            fail_msg("word %zu is %u and not %u", i, fixture->memory[i], words[i]);
    }
}

static void expect_none(const struct sim_fault *fault)
{
    if (fault->kind != SIM_FAULT_NONE)
        fail_msg("%s", fault->text);
}

static void grids_of_a_stream_and_tails_run_in_order(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = start(fixture, ordered);
    expect_none(&fault);
    static const uint32_t words[] = {6, 10, 20, 21, 30, 40, 50};
    expect_words(fixture, words, sizeof(words) / sizeof(words[0]));
}

static void launches_without_a_slot_fail_if_none_can_become_free(void **state)
{
    struct fixture *fixture = *state;
    sim_device_set_slots(fixture->device, 4);
    const struct sim_fault fault = start(fixture, MANY(TAIL));
    expect_none(&fault);
    assert_int_equal(fixture->memory[0], 4);
    assert_int_equal(fixture->memory[201], 4);
    assert_int_equal(fixture->memory[200], 96);
    assert_int_equal(fixture->memory[202], 69); // cudaErrorLaunchPendingCountExceeded
}

static void launches_wait_for_slots_of_grids_that_can_begin(void **state)
{
    struct fixture *fixture = *state;
    static const char *const texts[] = {MANY(AT_ONCE), MANY(NULL_STREAM)};
    // Often, because two workers run the grids, and each moment between two of them counts.
    for (size_t i = 0; i < 20; i++) {
        sim_device_set_slots(fixture->device, 4);
        const struct sim_fault fault = start(fixture, texts[i % 2]);
        expect_none(&fault);
        assert_int_equal(fixture->memory[0], 100);
        assert_int_equal(fixture->memory[201], 100);
        assert_int_equal(fixture->memory[200], 0);
    }
}

static void levels_below_24_are_refused(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = start(fixture, nested);
    expect_none(&fault);
    assert_int_equal(fixture->memory[0], 25);
    assert_int_equal(fixture->memory[1], 65); // cudaErrorLaunchMaxDepthExceeded
}

static void wrong_launches_are_skipped_with_an_error_of_the_thread(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = start(fixture, wrong);
    expect_none(&fault);
    assert_int_equal(fixture->memory[0], 1);
    assert_int_equal(fixture->memory[200], 9); // cudaErrorInvalidConfiguration
    assert_int_equal(fixture->memory[201], 9);
    assert_int_equal(fixture->memory[202], 98); // cudaErrorInvalidDeviceFunction
    assert_int_equal(fixture->memory[203], 0);
}

static void the_first_functions_for_launches_work_too(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = start(fixture, first_functions);
    expect_none(&fault);
    static const uint32_t words[] = {6, 5, 5, 5, 5, 5, 5};
    expect_words(fixture, words, sizeof(words) / sizeof(words[0]));
    assert_int_equal(fixture->memory[200], 0);
}

static void a_fault_of_a_grid_ends_the_launch(void **state)
{
    struct fixture *fixture = *state;
    const struct sim_fault fault = start(fixture, faulty);
    assert_int_equal(fault.kind, SIM_FAULT_ADDRESS);
    assert_non_null(strstr(fault.text, "kernel bad, "));
    assert_int_equal(fixture->memory[0], 0);
}

static void other_functions_of_the_device_runtime_are_refused_by_name(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] =
        HEAD ".extern .func __cudaCDP2Unknown();\n.entry k(.param .u64 p) { call "
             "__cudaCDP2Unknown; ret; }";
    const struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    char message[512];
    assert_int_equal(sim_module_load(fixture->device, &ptx, 1, &fixture->module, &error),
                     BASE_UNSUPPORTED);
    base_error_text(&error, message, sizeof(message));
    assert_non_null(strstr(message, "__cudaCDP2Unknown"));
}

// The accesses of all grids are those of the host's launch, and its blocks have numbers of their
// own.
static void the_log_has_the_accesses_of_grids_in_the_host_s_launch(void **state)
{
    (void)state;
    char path[] = "/tmp/glint-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct log_file *log = NULL;
    struct base_error error = {0};
    struct fixture fixture = {.memory = calloc(WORDS, sizeof(uint32_t))};
    assert_int_equal(log_open(path, &log, &error), BASE_OK);
    assert_int_equal(sim_device_create(sim_preset_find("h200"), 1, log, &fixture.device, &error),
                     BASE_OK);
    assert_int_equal(sim_object_add(fixture.device, (uintptr_t)fixture.memory,
                                    WORDS * sizeof(uint32_t), GPUSIM_OBJECT_DEVICE, "cudaMalloc",
                                    &error),
                     BASE_OK);
    const struct sim_fault fault = start(&fixture, logged);
    expect_none(&fault);
    sim_module_unload(fixture.module);
    sim_device_destroy(fixture.device);
    assert_int_equal(log_end(log), 0);
    log_close(log);

    struct records records = read_records(path);
    unsigned stores[1 + 7] = {0};
    for (size_t i = 0; i < records.all.count; i++) {
        const struct gpusim_log_record *record = &records.all.items[i];
        if (record->type != GPUSIM_LOG_ACCESS || record->access.kind != GPUSIM_LOG_STORE ||
            record->access.space != GPUSIM_LOG_GLOBAL)
            continue;
        assert_int_equal(record->access.launch->number, 1);
        assert_string_equal(record->access.launch->kernel, "top");
        assert_true(record->access.block < 8);
        if (strcmp(record->access.site->function, "append") == 0)
            stores[record->access.block]++;
    }
    assert_int_equal(stores[0], 0);
    for (unsigned i = 1; i < 8; i++)
        assert_int_equal(stores[i], 1);
    assert_non_null(record_at(&records, GPUSIM_LOG_LAUNCH, 0));
    assert_null(record_at(&records, GPUSIM_LOG_LAUNCH, 1));
    free_records(&records);
    unlink(path);
    free(fixture.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(grids_of_a_stream_and_tails_run_in_order),
        TEST(launches_without_a_slot_fail_if_none_can_become_free),
        TEST(launches_wait_for_slots_of_grids_that_can_begin),
        TEST(levels_below_24_are_refused),
        TEST(wrong_launches_are_skipped_with_an_error_of_the_thread),
        TEST(the_first_functions_for_launches_work_too),
        TEST(a_fault_of_a_grid_ends_the_launch),
        TEST(other_functions_of_the_device_runtime_are_refused_by_name),
        cmocka_unit_test(the_log_has_the_accesses_of_grids_in_the_host_s_launch),
    };
    return cmocka_run_group_tests_name("device_runtime", tests, NULL, NULL);
}
