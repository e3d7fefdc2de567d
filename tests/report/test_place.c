// SPDX-License-Identifier: Apache-2.0
// Which line is the place of a call: of the user, and not in a wrapper.
#include "testing.h"

#include "data.h"
#include "source.h"

enum { MOST_FRAMES = 6, MOST_PATHS = 8 };

// Frames as "function file:line", innermost first.
static struct profile_frame frame_of(const char *function, const char *file, uint32_t line)
{
    return (struct profile_frame){
        .function = function, .file = file, .line = line, .image = 1, .offset = line};
}

static const struct profile_frame libc = {.function = "__libc_start_main", .image = 2};

// Returns the place of the first path, as text, when the program has all of these.
static void check_place(const struct profile_frame (*frames)[MOST_FRAMES], uint32_t count,
                        const char *place)
{
    struct report_data data = {0};
    struct report_path paths[MOST_PATHS];
    struct base_buf out = {0};
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = (struct report_path){.frames = frames[i]};
        while (paths[i].frame_count < MOST_FRAMES && frames[i][paths[i].frame_count].image)
            paths[i].frame_count++;
        *base_map_put(&data.paths, i + 1, NULL) = (uint64_t)(uintptr_t)&paths[i];
        assert_true(report_note_wrappers(&data, &paths[i]));
    }
    report_put_place(&data, 1, &out);
    check_written(&out, place);
    base_map_fini(&data.paths);
    base_map_fini(&data.lines_in);
    base_map_fini(&data.callers);
}

static void a_wrapper_that_several_lines_call_is_placed_where_it_is_called(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {frame_of("my_alloc", "a.cu", 3), frame_of("main", "a.cu", 20), libc},
        {frame_of("my_alloc", "a.cu", 3), frame_of("main", "a.cu", 21), libc}};
    check_place(frames, 2, "a.cu:20");
}

static uint64_t pointer(const void *to)
{
    return (uint64_t)(uintptr_t)to;
}

// A tensor that Python's interpreter frees when it ends is freed by no line.
static void a_finding_is_placed_where_the_user_has_code(void **state)
{
    (void)state;
    struct report_data data = {0};
    struct profile_frame frames[][1] = {{{.function = "Py_FinalizeEx", .image = 3, .offset = 1}},
                                        {{.function = "start_thread", .image = 1, .offset = 2}},
                                        {frame_of("keep", "kept.py", 12)}};
    frames[2][0].python = true;
    const struct report_path paths[] = {{frames[0], 1}, {frames[1], 1}, {frames[2], 1}};
    *base_map_put(&data.images, 3, NULL) = pointer("/usr/bin/python3.11");
    for (uint32_t i = 0; i < 3; i++)
        *base_map_put(&data.paths, i + 1, NULL) = pointer(&paths[i]);
    struct report_object *object = base_array_push(&data.objects);
    assert_non_null(object);
    *object = (struct report_object){.number = 7, .path = 3};
    struct analyze_finding finding = {.path = 1, .other_path = 2, .object = 7};
    assert_int_equal(report_finding_path(&data, &finding), 3);
    finding.last_path = 3;
    object->path = 1;
    assert_int_equal(report_finding_path(&data, &finding), 3);
    finding.last_path = 0;
    assert_int_equal(report_finding_path(&data, &finding), 1); // nothing is the user's
    frames[0][0].image = 1;                                    // the program itself
    object->path = 3;
    assert_int_equal(report_finding_path(&data, &finding), 1);
    finding.path = 0; // it has no call
    assert_int_equal(report_finding_path(&data, &finding), 0);
    base_map_fini(&data.images);
    base_map_fini(&data.paths);
    base_array_fini(&data.objects);
}

static void a_function_that_one_line_calls_is_no_wrapper(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {frame_of("setup", "a.cu", 3), frame_of("main", "a.cu", 20), libc},
        {frame_of("other", "a.cu", 9), frame_of("main", "a.cu", 21), libc}};
    check_place(frames, 2, "a.cu:3");
}

static void a_function_with_several_calls_is_no_wrapper(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {frame_of("step", "a.cu", 3), frame_of("main", "a.cu", 20), libc},
        {frame_of("step", "a.cu", 4), frame_of("main", "a.cu", 20), libc},
        {frame_of("step", "a.cu", 3), frame_of("main", "a.cu", 21), libc}};
    check_place(frames, 3, "a.cu:3");
}

static void wrappers_call_each_other(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {frame_of("my_alloc", "a.cu", 3), frame_of("make<int>", "a.cu", 6),
         frame_of("main", "a.cu", 20), libc},
        {frame_of("my_alloc", "a.cu", 3), frame_of("make<float>", "a.cu", 6),
         frame_of("main", "a.cu", 21), libc}};
    check_place(frames, 2, "a.cu:20");
}

static void frames_of_template_libraries_lie_between(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {frame_of("std::function<void ()>::operator()", "/usr/include/c++/12/functional", 7),
         frame_of("run", "a.cu", 5), frame_of("main", "a.cu", 20), libc},
        {frame_of("std::function<void ()>::operator()", "/usr/include/c++/12/functional", 7),
         frame_of("run", "a.cu", 5), frame_of("main", "a.cu", 21), libc}};
    check_place(frames, 2, "a.cu:20");
}

static void wrappers_are_known_without_lines(void **state)
{
    (void)state;
    const struct profile_frame frames[][MOST_FRAMES] = {
        {{.function = "my_alloc", .image = 1, .offset = 0x25, .start = 0x20},
         {.function = "main", .image = 1, .offset = 0x55, .start = 0x50}},
        {{.function = "my_alloc", .image = 1, .offset = 0x25, .start = 0x20},
         {.function = "main", .image = 1, .offset = 0x65, .start = 0x50}}};
    check_place(frames, 2, "main+0x4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_is_placed_where_the_user_has_code),
        cmocka_unit_test(a_wrapper_that_several_lines_call_is_placed_where_it_is_called),
        cmocka_unit_test(a_function_that_one_line_calls_is_no_wrapper),
        cmocka_unit_test(a_function_with_several_calls_is_no_wrapper),
        cmocka_unit_test(wrappers_call_each_other),
        cmocka_unit_test(frames_of_template_libraries_lie_between),
        cmocka_unit_test(wrappers_are_known_without_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
