// SPDX-License-Identifier: Apache-2.0
// Which functions and frames belong to libraries of templates.
#include "profile/profile.h"

#include "testing.h"

static void functions_in_namespaces_of_libraries_belong_to_them(void **state)
{
    (void)state;
    static const char *const library[] = {
        "std::vector<int, std::allocator<int> >::push_back(int const&)",
        "void std::__invoke<main::{lambda()#1}>(main::{lambda()#1}&&)",
        "thrust::THRUST_300001_SM_800_NS::device_vector<int>::device_vector(unsigned long)",
        "int thrust::reduce<thrust::device_ptr<int> >(thrust::device_ptr<int>)",
        "cudaError cub::detail::dispatch<(anonymous namespace)::user>(int)",
        "__gnu_cxx::new_allocator<float>::allocate(unsigned long, void const*)",
        "cuda::std::__4::forward<int>(int&)",
        "Buf& std::vector<Buf, std::allocator<Buf> >::emplace_back<int const&>(int const&) [clone "
        ".isra.0]",
    };
    static const char *const user[] = {
        "main",
        "make(std::vector<int, std::allocator<int> >&)",
        "void run<std::vector<int> >(std::vector<int> const&)",
        "mine::std::allocate(int)",
        "stdio_open(char const*)",
        "cubic(double)",
        "cuda::Buffer::Buffer(unsigned long)",
        "(anonymous namespace)::fill(thrust::device_vector<int>&)",
        "main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
        "Buffer::operator std::vector<int>() const",
        "",
    };
    for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++) {
        if (!profile_is_library_function(library[i]))
            fail_msg("%s is not a library's", library[i]);
    }
    for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++) {
        if (profile_is_library_function(user[i]))
            fail_msg("%s is a library's", user[i]);
    }
    assert_false(profile_is_library_function(NULL));
}

static void frames_in_headers_of_libraries_belong_to_them(void **state)
{
    (void)state;
    const struct profile_frame header = {.function = "operator+(int)",
                                         .file = "/usr/include/c++/12/bits/stl_vector.h"},
                               cccl = {.function = "launch",
                                       .file = "/usr/local/cuda/include/cccl/cub/util.cuh"},
                               user = {.function = "sort", .file = "/home/me/thrust/sort.cu"},
                               unknown = {0};
    assert_true(profile_is_library_frame(&header));
    assert_true(profile_is_library_frame(&cccl));
    assert_false(profile_is_library_frame(&user));
    assert_false(profile_is_library_frame(&unknown));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_in_namespaces_of_libraries_belong_to_them),
        cmocka_unit_test(frames_in_headers_of_libraries_belong_to_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
