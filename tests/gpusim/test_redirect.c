// SPDX-License-Identifier: Apache-2.0
// Unit tests of the redirection of static runtimes: machine code for both processors, and what it
// finds in an ELF file, which is the executable of this test. The scripts in tests/gpusim/redirect
// test the redirection as a whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "gpusim/gpusim.h"
#include "gpusim/redirect/elf.h"
#include "gpusim/redirect/patch.h"

// --- Machine code --------------------------------------------------------------------------------

static void assert_code(const unsigned char *code, size_t length, const unsigned char *wanted,
                        size_t wanted_length)
{
    assert_int_equal(length, wanted_length);
    assert_memory_equal(code, wanted, wanted_length);
}

#define ASSERT_CODE(length, ...)                            \
    do {                                                    \
        const unsigned char wanted[] = {__VA_ARGS__};       \
        size_t length_ = (length);                          \
        assert_code(code, length_, wanted, sizeof(wanted)); \
    } while (0)

static void code_that_goes_by_a_slot(void **unused)
{
    (void)unused;
    unsigned char code[REDIRECT_PATCH_BYTES];
    ASSERT_CODE(redirect_patch_slot(REDIRECT_X86_64, 0x1122334455667788, code),  //
                0x49, 0xbb, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,      // movabs, %r11
                0x41, 0xff, 0x23);                                               // jmp *(%r11)
    ASSERT_CODE(redirect_patch_slot(REDIRECT_AARCH64, 0x1122334455667788, code), //
                0x71, 0x00, 0x00, 0x58,                                          // ldr x17, . + 12
                0x30, 0x02, 0x40, 0xf9,                                          // ldr x16, [x17]
                0x00, 0x02, 0x1f, 0xd6,                                          // br x16
                0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11);
}

static void a_return(void **unused)
{
    (void)unused;
    unsigned char code[REDIRECT_PATCH_BYTES];
    ASSERT_CODE(redirect_patch_return(REDIRECT_X86_64, code), 0xc3);
    ASSERT_CODE(redirect_patch_return(REDIRECT_AARCH64, code), 0xc0, 0x03, 0x5f, 0xd6);
}

static void a_jump_forwards_and_backwards(void **unused)
{
    (void)unused;
    unsigned char code[REDIRECT_PATCH_BYTES];
    ASSERT_CODE(redirect_patch_jump(REDIRECT_X86_64, 0x1000, 0x2005, code), //
                0xe9, 0x00, 0x10, 0x00, 0x00);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_X86_64, 0x2000, 0x1000, code), //
                0xe9, 0xfb, 0xef, 0xff, 0xff);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_AARCH64, 0x1000, 0x2000, code), 0x00, 0x04, 0x00,
                0x14);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_AARCH64, 0x2000, 0x1ffc, code), 0xff, 0xff, 0xff,
                0x17);
}

static void a_jump_reaches_only_so_far(void **unused)
{
    (void)unused;
    unsigned char code[REDIRECT_PATCH_BYTES];
    const uint64_t at = UINT64_C(0x555500000000);
    const uint64_t near = UINT64_C(1) << 27, far = UINT64_C(1) << 31;
    ASSERT_CODE(redirect_patch_jump(REDIRECT_AARCH64, at, at + near - 4, code), //
                0xff, 0xff, 0xff, 0x15);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_AARCH64, at, at - near, code), 0, 0, 0, 0x16);
    assert_int_equal(redirect_patch_jump(REDIRECT_AARCH64, at, at + near, code), 0);
    assert_int_equal(redirect_patch_jump(REDIRECT_AARCH64, at, at - near - 4, code), 0);
    assert_int_equal(redirect_patch_jump(REDIRECT_AARCH64, at, at + 2, code), 0);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_X86_64, at, at + 5 + far - 1, code), //
                0xe9, 0xff, 0xff, 0xff, 0x7f);
    ASSERT_CODE(redirect_patch_jump(REDIRECT_X86_64, at, at + 5 - far, code), //
                0xe9, 0x00, 0x00, 0x00, 0x80);
    assert_int_equal(redirect_patch_jump(REDIRECT_X86_64, at, at + 5 + far, code), 0);
    assert_int_equal(redirect_patch_jump(REDIRECT_X86_64, at, at + 5 - far - 1, code), 0);
}

// --- This executable, which contains names of a static runtime -----------------------------------

#define INNER(number) libcudart_static_00000000000000000000000000000000000000##number
// gcc may reorder functions unless no_reorder forbids it; clang keeps their order.
#if defined(__clang__)
#define IN_FILE __attribute__((noinline, used, section(".text.z_redirect")))
#else
#define IN_FILE __attribute__((noinline, used, no_reorder, section(".text.z_redirect")))
#endif

static volatile int
    calls; // so that no two functions are alike and none is empty or done beforehand

int cudaOwnGlobal(void) __attribute__((visibility("default")));

// The functions in the order of the section. Those before and after the runtime's functions belong
// to the program.
IN_FILE static void cudaOwnBefore(void)
{
    calls += 1;
}

IN_FILE static void INNER(01)(void)
{
    calls += 2;
}

IN_FILE static void cudaMalloc(void)
{
    calls += 3;
}

IN_FILE static void cudaNotKnownToAnyone(void)
{
    calls += 4;
}

IN_FILE static void cudamp(void)
{
    calls += 5;
}

IN_FILE int cudaOwnGlobal(void)
{
    return calls += 6;
}

IN_FILE static void __cudaRegisterFatBinary(void)
{
    calls += 7;
}

IN_FILE static void INNER(02)(void)
{
    calls += 8;
}

IN_FILE static void cudaOwnBehind(void)
{
    calls += 9;
}

__attribute__((constructor)) IN_FILE static void INNER(03)(void)
{
    calls += 10;
}

struct file {
    struct redirect_elf elf;
    char *bytes;
    size_t length;
    struct redirect_site *sites;
    size_t count;
};

static void open_file(struct file *file)
{
    struct base_error error = {0};
    assert_int_equal(base_file_read("/proc/self/exe", &file->bytes, &file->length, &error),
                     BASE_OK);
    assert_true(redirect_elf_init(&file->elf, file->bytes, file->length));
    size_t limit = redirect_elf_site_limit(&file->elf);
    assert_true(limit > 0);
    file->sites = calloc(limit, sizeof(*file->sites));
    assert_non_null(file->sites);
    file->count = redirect_elf_sites(&file->elf, file->sites, limit);
}

static void close_file(struct file *file)
{
    free(file->sites);
    free(file->bytes);
}

static const struct redirect_site *find(const struct file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->sites[i].name, name) == 0)
            return &file->sites[i];
    }
    return NULL;
}

static void the_runtimes_functions_are_found(void **unused)
{
    (void)unused;
    struct file file;
    open_file(&file);
    const struct redirect_site *allocate = find(&file, "cudaMalloc");
    const struct redirect_site *last = find(&file, "__cudaRegisterFatBinary");
    const struct redirect_site *unknown = find(&file, "cudaNotKnownToAnyone");
    assert_non_null(allocate);
    assert_non_null(last);
    assert_non_null(unknown);
    assert_int_equal(allocate->kind, REDIRECT_FUNCTION);
    assert_int_equal(last->address - allocate->address,
                     (uintptr_t)__cudaRegisterFatBinary - (uintptr_t)cudaMalloc);
    // The room of a function ends at the next function, whatever its name.
    assert_int_equal(unknown->room_bytes, (uintptr_t)cudamp - (uintptr_t)cudaNotKnownToAnyone);
    assert_int_equal(allocate->room_bytes, (uintptr_t)cudaNotKnownToAnyone - (uintptr_t)cudaMalloc);
    assert_memory_equal(redirect_elf_at(&file.elf, allocate->address, 8),
                        (void *)(uintptr_t)cudaMalloc, 8);
    close_file(&file);
}

static void the_runtimes_constructors_are_found(void **unused)
{
    (void)unused;
    struct file file;
    open_file(&file);
    const struct redirect_site *constructor =
        find(&file, "libcudart_static_0000000000000000000000000000000000000003");
    assert_non_null(constructor);
    assert_int_equal(constructor->kind, REDIRECT_CONSTRUCTOR);
    close_file(&file);
}

static void all_else_is_left_alone(void **unused)
{
    (void)unused;
    struct file file;
    open_file(&file);
    static const char *const others[] = {
        "cudaOwnBefore",
        "cudaOwnBehind",
        "cudaOwnGlobal",
        "cudamp",
        "main",
        "libcudart_static_0000000000000000000000000000000000000001",
        "libcudart_static_0000000000000000000000000000000000000002"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_null(find(&file, others[i]));
    assert_int_equal(file.count, 4);
    for (size_t i = 1; i < file.count; i++)
        assert_true(file.sites[i - 1].address < file.sites[i].address);
    close_file(&file);
}

static void a_file_that_contradicts_itself_is_survived(void **unused)
{
    (void)unused;
    struct file file;
    open_file(&file);
    size_t limit = redirect_elf_site_limit(&file.elf);
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        struct redirect_elf broken;
        char *copy = malloc(file.length);
        assert_non_null(copy);
        memcpy(copy, file.bytes, file.length);
        size_t length = file.length;
        for (int k = 0; k < 8; k++) {
            random = random * 1103515245 + 12345;
            size_t headers = file.length - file.elf.header->e_shoff;
            if (round % 3 == 0)
                copy[(random >> 8) % sizeof(Elf64_Ehdr)] ^= (char)(random >> 3);
            else if (round % 3 == 1)
                copy[file.elf.header->e_shoff + (random >> 8) % headers] ^= (char)(random >> 3);
            else
                length = (random >> 4) % file.length;
        }
        // So that a sanitizer detects reads beyond the end.
        char *exact = malloc(length ? length : 1);
        assert_non_null(exact);
        memcpy(exact, copy, length);
        if (redirect_elf_init(&broken, exact, length)) {
            redirect_elf_site_limit(&broken);
            redirect_elf_sites(&broken, file.sites, limit);
            redirect_elf_is_stripped(&broken);
            redirect_elf_dynamic(&broken, DT_NEEDED, "libcuda.so");
            redirect_elf_vendor_library(&broken);
        }
        free(exact);
        free(copy);
    }
    close_file(&file);
}

static void what_is_no_executable_is_not_read(void **unused)
{
    (void)unused;
    struct redirect_elf elf;
    static const uint64_t zeros[16] = {0};
    assert_false(redirect_elf_init(&elf, zeros, sizeof(zeros)));
    assert_false(redirect_elf_init(&elf, "#!/bin/sh\n", 10));
    struct gpusim_program program;
    struct base_error error = {0};
    assert_int_equal(gpusim_program_read("test_redirect.c", &program, &error), BASE_OK);
    assert_false(program.is_elf);
    assert_int_equal(gpusim_program_read("not-there", &program, &error), BASE_IO);
}

static void a_program_is_described(void **unused)
{
    (void)unused;
    struct gpusim_program program;
    struct base_error error = {0};
    assert_int_equal(gpusim_program_read("/proc/self/exe", &program, &error), BASE_OK);
    assert_true(program.is_elf);
    assert_true(program.is_native);
    assert_true(program.is_dynamic);
    assert_true(program.has_runtime);
    assert_false(program.is_stripped);
    assert_false(program.has_device_code);
    assert_false(program.needs_driver);
    assert_int_equal(program.runtime, 0);
    assert_null(program.vendor_library);
}

static void runtimes_are_told_apart(void **unused)
{
    (void)unused;
    const struct redirect_site sites[] = {{.name = "cudaMalloc"},
                                          {.name = "cudaGetDeviceProperties_v2"},
                                          {.name = "cudaBindTexture"}};
    assert_int_equal(redirect_runtime_major(sites, 1), 13);
    assert_int_equal(redirect_runtime_major(sites, 2), 12);
    assert_int_equal(redirect_runtime_major(sites, 3), 11);
}

static void vendor_libraries_are_known_by_name(void **unused)
{
    (void)unused;
    assert_string_equal(base_vendor_library("/usr/lib/libcublasLt.so.13"), "libcublas");
    assert_string_equal(base_vendor_library("libnccl.so.2"), "libnccl");
    assert_null(base_vendor_library("/opt/libcublas/libcudart.so.13"));
    assert_null(base_vendor_library("libnvrtc.so.13"));
}

static void presets_have_names(void **unused)
{
    (void)unused;
    assert_string_equal(gpusim_preset_name(0), "h200");
    assert_null(gpusim_preset_name(1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_that_goes_by_a_slot),
        cmocka_unit_test(a_return),
        cmocka_unit_test(a_jump_forwards_and_backwards),
        cmocka_unit_test(a_jump_reaches_only_so_far),
        cmocka_unit_test(the_runtimes_functions_are_found),
        cmocka_unit_test(the_runtimes_constructors_are_found),
        cmocka_unit_test(all_else_is_left_alone),
        cmocka_unit_test(a_file_that_contradicts_itself_is_survived),
        cmocka_unit_test(what_is_no_executable_is_not_read),
        cmocka_unit_test(a_program_is_described),
        cmocka_unit_test(runtimes_are_told_apart),
        cmocka_unit_test(vendor_libraries_are_known_by_name),
        cmocka_unit_test(presets_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
