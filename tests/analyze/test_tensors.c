// SPDX-License-Identifier: Apache-2.0
// Tensors of PyTorch: they count as memory in use, and their segments do not. A launch that is
// passed only a new tensor fills it. Memory that libraries get for themselves has no findings but
// leaks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../profile/folder.h"
#include "analyze/analyze.h"

enum { BASE = 1 << 20, SIZE = 8192, SEGMENT = 1 };

static struct base_error error;
static struct profile_writer *writer;
static uint64_t calls, objects;

static void begin(void)
{
    calls = objects = 0;
    assert_int_equal(profile_create(test_path, true, &writer, &error), BASE_OK);
    static const struct profile_image images[] = {
        {.number = 1, .path = "/usr/bin/program"},
        {.number = 2, .path = "/usr/lib/libcublas.so.13"},
        {.number = 3, .path = "/usr/lib/libc10_cuda.so"},
        {.number = 4, .path = "/usr/lib/libtorch_cuda.so"},
    };
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        assert_int_equal(profile_add_image(writer, &images[i], &error), BASE_OK);
    const struct profile_context context = {.number = 1};
    const struct profile_stream stream = {.number = 1, .context = 1};
    assert_int_equal(profile_add_context(writer, &context, &error), BASE_OK);
    assert_int_equal(profile_add_stream(writer, &stream, &error), BASE_OK);
}

// Adds a call path of these frames, the innermost first.
static uint32_t add_path(const struct profile_frame *frames, uint32_t count)
{
    static uint32_t number;
    number++;
    const struct profile_path path = {.number = number, .frames = frames, .frame_count = count};
    assert_int_equal(profile_add_path(writer, &path, &error), BASE_OK);
    return number;
}

static uint64_t call(struct profile_call row)
{
    row.number = ++calls;
    row.context = row.stream = 1;
    assert_int_equal(profile_add_call(writer, &row, &error), BASE_OK);
    return calls;
}

static uint64_t allocate(enum profile_object_kind kind, uint64_t bytes, uint32_t path)
{
    const struct profile_object row = {
        .number = ++objects,
        .kind = kind,
        .address = BASE + objects * SIZE,
        .bytes = bytes,
        .device = 1,
        .call = call((struct profile_call){.kind = PROFILE_CALL_ALLOC, .path = path}),
        .parent = kind == PROFILE_OBJECT_TENSOR ? SEGMENT : 0};
    assert_int_equal(profile_add_object(writer, &row, &error), BASE_OK);
    return objects;
}

static uint64_t tensor(void)
{
    return allocate(PROFILE_OBJECT_TENSOR, SIZE, 0);
}

static uint64_t release(uint64_t object)
{
    const uint64_t free = call((struct profile_call){.kind = PROFILE_CALL_FREE});
    assert_int_equal(profile_end_object(writer, object, free, 0, &error), BASE_OK);
    return free;
}

// A launch that is passed one or two objects; 0: none.
static uint64_t launch(uint64_t one, uint64_t other)
{
    const uint64_t number = call((struct profile_call){
        .kind = PROFILE_CALL_LAUNCH, .launch = {.kernel = 1, .flags = PROFILE_LAUNCH_PASSED}});
    const uint64_t passed[] = {one, other};
    for (int i = 0; i < 2; i++) {
        const struct profile_access access = {
            .call = number, .object = passed[i], .read = true, .written = true, .passed = true};
        if (passed[i])
            assert_int_equal(profile_add_access(writer, &access, &error), BASE_OK);
    }
    return number;
}

static struct analysis *analyze(struct profile **profile)
{
    const struct analyze_thresholds thresholds = analyze_default_thresholds();
    struct analysis *analysis;
    const struct profile_probe blind = {.kernel = 1, .reason = "it has no PTX"};
    assert_int_equal(profile_add_probe(writer, &blind, &error), BASE_OK);
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
    assert_int_equal(profile_open(test_path, profile, &error), BASE_OK);
    assert_int_equal(analyze_profile(*profile, &thresholds, &analysis, &error), BASE_OK);
    return analysis;
}

static const struct analyze_finding *find(const struct analysis *analysis,
                                          enum analyze_pattern pattern, uint64_t object)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        const struct analyze_finding *finding = analyze_finding(analysis, i);
        if (finding->pattern == pattern && finding->object == object)
            return finding;
    }
    return NULL;
}

static uint64_t flag(const struct analyze_finding *finding, const char *name)
{
    return analyze_field_number(finding, analyze_find_field(finding->pattern, name, strlen(name)));
}

// A table is made early, and a result is initialized in vain. In between, the peak is reached.
static struct analysis *make_layers(struct profile **profile, bool fill_reads)
{
    begin();
    allocate(PROFILE_OBJECT_DEVICE, 16 * SIZE, 0);
    const uint64_t input = tensor(), table = tensor();
    launch(input, 0);
    launch(table, fill_reads ? input : 0);
    const uint64_t zeros = tensor();
    launch(zeros, 0);
    const uint64_t result = tensor();
    launch(input, result);
    release(zeros);
    launch(table, result);
    release(table);
    release(result);
    release(input);
    return analyze(profile);
}

static void tensors_count_and_their_segment_does_not(void **state)
{
    (void)state;
    struct profile *profile;
    struct analysis *analysis = make_layers(&profile, false);
    assert_int_equal(analyze_peak_bytes(analysis), 4 * SIZE);
    // The table is made when the input is not needed any more.
    assert_int_equal(analyze_achievable_peak(analysis), 2 * SIZE);
    for (int i = 0; i < ANALYZE_PATTERNS; i++)
        assert_null(find(analysis, (enum analyze_pattern)i, SEGMENT));
    analyze_free(analysis);
    profile_close(profile);
}

static void a_launch_that_is_passed_only_a_new_tensor_can_be_delayed(void **state)
{
    (void)state;
    for (int fill_reads = 0; fill_reads < 2; fill_reads++) {
        struct profile *profile;
        struct analysis *analysis = make_layers(&profile, fill_reads);
        const struct analyze_finding *early = find(analysis, ANALYZE_EARLY_ALLOCATION, 3);
        assert_non_null(early);
        assert_int_equal(flag(early, "delayed"), !fill_reads);
        // Otherwise only the allocation moves, by one launch, and the table is there at the peak.
        assert_int_equal(early->peak_bytes, fill_reads ? 0 : SIZE);
        analyze_free(analysis);
        profile_close(profile);
    }
}

static void a_tensor_that_one_launch_got_may_be_left_out(void **state)
{
    (void)state;
    struct profile *profile;
    struct analysis *analysis = make_layers(&profile, false);
    const struct analyze_finding *late = find(analysis, ANALYZE_LATE_DEALLOCATION, 4);
    assert_non_null(late);
    assert_int_equal(late->peak_bytes, SIZE);
    assert_true(flag(late, "only"));

    analyze_free(analysis);
    profile_close(profile);
}

// The last is the program's; so is a tensor that an operation needs.
static void memory_of_libraries_is_theirs(void **state)
{
    (void)state;
    static const struct profile_frame
        in_cublas[] = {{.image = 2, .offset = 1},
                       {.function = "cublasCreate_v2", .image = 2},
                       {.function = "main", .image = 1}},
        workspace[] = {{.function = "c10::cuda::get(unsigned long)", .image = 3},
                       {.function = "at::cuda::(anonymous namespace)::"
                                    "getNewWorkspace(int)",
                        .image = 4}},
        operation[] = {{.function = "c10::cuda::get(unsigned long)", .image = 3},
                       {.function = "at::native::add(Workspace)", .image = 4}},
        direct[] = {{.function = "main", .image = 1}, {.function = "callback", .image = 2}};
    static const struct {
        const struct profile_frame *frames;
        uint32_t count;
        bool of_library;
    } cases[] = {
        {in_cublas, 3, true}, {workspace, 2, true}, {operation, 2, false}, {direct, 2, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile *profile;
        begin();
        const uint64_t object =
            allocate(PROFILE_OBJECT_DEVICE, SIZE, add_path(cases[i].frames, cases[i].count));
        const uint64_t used = allocate(PROFILE_OBJECT_DEVICE, SIZE, 0);
        launch(used, 0);
        release(used);
        release(object);
        struct analysis *analysis = analyze(&profile);
        assert_int_equal(analyze_peak_bytes(analysis), 2 * SIZE);
        assert_int_equal(find(analysis, ANALYZE_UNUSED_ALLOCATION, object) == NULL,
                         cases[i].of_library);
        analyze_free(analysis);
        profile_close(profile);
    }
}

static void a_library_that_is_not_closed_leaks(void **state)
{
    (void)state;
    static const struct profile_frame frames[] = {{.function = "cublasCreate_v2", .image = 2}};
    struct profile *profile;
    begin();
    const uint64_t object = allocate(PROFILE_OBJECT_DEVICE, SIZE, add_path(frames, 1));
    launch(object, 0);
    struct analysis *analysis = analyze(&profile);
    assert_non_null(find(analysis, ANALYZE_MEMORY_LEAK, object));
    analyze_free(analysis);
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_count_and_their_segment_does_not),
        cmocka_unit_test(a_launch_that_is_passed_only_a_new_tensor_can_be_delayed),
        cmocka_unit_test(a_tensor_that_one_launch_got_may_be_left_out),
        cmocka_unit_test(memory_of_libraries_is_theirs),
        cmocka_unit_test(a_library_that_is_not_closed_leaks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
