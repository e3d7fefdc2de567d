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
        cmocka_unit_test(a_wrapper_that_several_lines_call_is_placed_where_it_is_called),
        cmocka_unit_test(a_function_that_one_line_calls_is_no_wrapper),
        cmocka_unit_test(a_function_with_several_calls_is_no_wrapper),
        cmocka_unit_test(wrappers_call_each_other),
        cmocka_unit_test(frames_of_template_libraries_lie_between),
        cmocka_unit_test(wrappers_are_known_without_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
