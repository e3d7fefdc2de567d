// SPDX-License-Identifier: Apache-2.0
// Kernels of cubins and their parameters: cubins made here, byte by byte, and damaged ones.
// test_nvcc.sh has those of nvcc.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "fatbin/fatbin.h"

// A cubin with a kernel "k", a device function "f", and a list of attributes for "k".
struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[5]; // none, names, symbols, texts of symbols, attributes
    Elf64_Sym symbols[4];
    char names[32], texts[8];
    unsigned char attributes[64];
};

static struct cubin cubin;
static struct fatbin_entry entry;

static void section(unsigned index, uint32_t name, uint32_t type, const void *at, size_t bytes)
{
    cubin.sections[index] =
        (Elf64_Shdr){.sh_name = name,
                     .sh_type = type,
                     .sh_offset = (uint64_t)((const char *)at - (const char *)&cubin),
                     .sh_size = bytes};
}

static void make(const unsigned char *attributes, size_t bytes)
{
    enum { KERNEL = 0x10 };
    memset(&cubin, 0, sizeof(cubin));
    memcpy(cubin.header.e_ident, ELFMAG, SELFMAG);
    cubin.header.e_machine = 190;
    cubin.header.e_shoff = offsetof(struct cubin, sections);
    cubin.header.e_shentsize = sizeof(Elf64_Shdr);
    cubin.header.e_shnum = 5;
    cubin.header.e_shstrndx = 1;
    memcpy(cubin.names, "\0.nv.info.k", 12);
    memcpy(cubin.texts, "\0k\0f", 5);
    memcpy(cubin.attributes, attributes, bytes);
    section(1, 0, SHT_STRTAB, cubin.names, sizeof(cubin.names));
    section(2, 0, SHT_SYMTAB, cubin.symbols, sizeof(cubin.symbols));
    section(3, 0, SHT_STRTAB, cubin.texts, sizeof(cubin.texts));
    section(4, 1, SHT_LOPROC, cubin.attributes, bytes);
    cubin.sections[2].sh_link = 3;
    cubin.symbols[1] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), KERNEL, 4, 0, 0};
    cubin.symbols[2] = (Elf64_Sym){3, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 4, 0, 0};
    cubin.symbols[3] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), KERNEL, 0, 0, 0};
    entry = (struct fatbin_entry){.kind = FATBIN_CUBIN,
                                  .payload = (const unsigned char *)&cubin,
                                  .payload_bytes = sizeof(cubin)};
}

static bool add_name(void *user, const char *kernel)
{
    base_buf_printf(user, "%s ", kernel);
    return true;
}

static enum base_code ask(const char *kernel, struct fatbin_param *params, uint32_t room,
                          uint32_t *count)
{
    struct base_error error = {0};
    return fatbin_kernel_params(&entry, kernel, params, room, count, &error);
}

// What nvcc 13.0 writes for k(char, large structure, float *), and other attributes.
#define ALIGNED 0x04, 0x37, 4, 0, 0x82, 0, 0, 0
#define POINTER 0x04, 0x17, 12, 0, 0, 0, 0, 0, 2, 0, 0x08, 0x14, 0x00, 0xf0, 0x21, 0x00
#define LARGE   0x04, 0x45, 12, 0, 0, 0, 0, 0, 1, 0, 0x04, 0x00, 0x8c, 0x13, 0x00, 0x05
#define CHAR    0x04, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0xf0, 0x05, 0x00
#define SHORT   0x03, 0x19, 0x10, 0x00

static const unsigned char known[] = {ALIGNED, POINTER, LARGE, CHAR, SHORT};

static void kernels_and_parameters_are_listed(void **state)
{
    (void)state;
    struct fatbin_param params[4];
    struct base_buf names = {0};
    struct base_error error = {0};
    uint32_t count = 99;
    make(known, sizeof(known));
    assert_int_equal(fatbin_each_kernel(&entry, add_name, &names, &error), BASE_OK);
    assert_string_equal(names.text, "k "); // neither the device function nor the declaration
    base_buf_fini(&names);
    assert_int_equal(ask("k", params, 4, &count), BASE_OK);
    assert_int_equal(count, 3);
    static const uint32_t wanted[][2] = {{0, 1}, {4, 0x138c}, {0x1408, 8}, {0, 0}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(params[i].offset, wanted[i][0]);
        assert_int_equal(params[i].bytes, wanted[i][1]);
    }
    assert_int_equal(ask("k", params, 1, &count), BASE_OK); // less room
    assert_int_equal(count, 3);
    assert_int_equal(ask("f", params, 4, &count), BASE_NOT_FOUND);
    assert_int_equal(ask("", params, 4, &count), BASE_NOT_FOUND);
    make(known, 8); // no parameters
    assert_int_equal(ask("k", params, 4, &count), BASE_OK);
    assert_int_equal(count, 0);
    entry.kind = FATBIN_PTX;
    assert_int_equal(ask("k", params, 4, &count), BASE_UNSUPPORTED);
}

static void damaged_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned char list[48];
        size_t bytes;
    } lists[] = {
        {{POINTER, CHAR}, 32},        // number 1 is missing
        {{CHAR, CHAR}, 32},           // twice
        {{POINTER, LARGE, CHAR}, 47}, // truncated
        {{CHAR, 0x04}, 17},
        {{0x04, 0x17, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 12},                    // too small
        {{0x04, 0x17, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x01, 0}, 16}, // no bytes
        {{0x04, 0x17, 12, 0, 0, 0, 0, 0, 0xff, 0xff, 0x08, 0x00, 0x00, 0xf0, 0x21, 0},
         16}, // number
    };
    struct fatbin_param params[4];
    uint32_t count;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        make(lists[i].list, lists[i].bytes);
        assert_int_equal(ask("k", params, 4, &count), BASE_CORRUPT);
        assert_int_equal(ask("k", params, 0, &count), BASE_CORRUPT);
    }
    make(known, sizeof(known));
    cubin.sections[4].sh_size = sizeof(cubin);
    assert_int_equal(ask("k", params, 4, &count), BASE_CORRUPT);
    cubin.sections[4].sh_type = SHT_NOBITS;
    assert_int_equal(ask("k", params, 4, &count), BASE_NOT_FOUND);
    cubin.header.e_shnum = 200;
    assert_int_equal(ask("k", params, 4, &count), BASE_CORRUPT);
}

static void damaged_symbols_are_skipped(void **state)
{
    (void)state;
    struct base_error error = {0};
    for (int damage = 0; damage < 4; damage++) {
        struct base_buf names = {0};
        make(known, sizeof(known));
        if (damage == 0)
            cubin.symbols[1].st_name = sizeof(cubin.texts);
        else if (damage == 1)
            cubin.sections[2].sh_link = 99;
        else if (damage == 2)
            cubin.sections[2].sh_size = UINT64_MAX;
        else
            memset(cubin.texts, 'k', sizeof(cubin.texts)); // without an end
        assert_int_equal(fatbin_each_kernel(&entry, add_name, &names, &error), BASE_OK);
        assert_int_equal(names.length, 0);
        base_buf_fini(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_parameters_are_listed),
        cmocka_unit_test(damaged_lists_are_refused),
        cmocka_unit_test(damaged_symbols_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
