// SPDX-License-Identifier: Apache-2.0
// A saved module is the same when it is loaded; corrupt, truncated and foreign bytes are rejected.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 total;\n"
    ".visible .entry copy(.param .u64 to, .param .u64 from, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %q; .reg .u32 %r<4>; .reg .u64 %a<8>;\n"
    "  ld.param.u64 %a0, [to]; ld.param.u64 %a1, [from]; ld.param.u32 %r0, [count];\n"
    "  mov.u32 %r1, %tid.x; setp.ge.u32 %q, %r1, %r0; @%q bra done;\n"
    "  mul.wide.u32 %a2, %r1, 8; add.u64 %a3, %a1, %a2; ld.global.u64 %a4, [%a3];\n"
    "  add.u64 %a5, %a0, %a2; ld.global.u64 %a5, [%a5]; st.u64 [%a5], %a4;\n"
    "  mov.u64 %a6, total; red.global.add.u32 [%a6], 1;\n"
    "done: ret;\n"
    "}\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
    ".visible .entry give(.param .u64 p) { .reg .u64 %a<2>; ld.param.u64 %a0, [p];\n"
    "  call (%a1), malloc, (24); st.global.u64 [%a0], %a1; ret; }\n"
    ".visible .entry odd(.param .u64 p) { .reg .u64 %a; ld.param.u64 %a, [p];\n"
    "  tensormap.replace.tile.rank.global.b1024.b32 [%a], 3; ret; }\n";

static struct instrument_module *make(uint32_t facts)
{
    struct instrument_request request = {.facts = facts, .parts = 2};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(text, strlen(text), &request, &module, &error), BASE_OK);
    return module;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    static const uint32_t levels[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS,
                                      INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                      INSTRUMENT_OBJECTS | INSTRUMENT_VALUES,
                                      INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    for (unsigned i = 0; i < 5; i++) {
        struct instrument_module *module = make(levels[i]), *again;
        struct base_buf once = {0}, twice = {0};
        struct base_error error = {0};
        assert_int_equal(module->kernel_count, 3);
        assert_non_null(module->kernels[0].clone);
        assert_null(module->kernels[2].clone);
        assert_non_null(module->kernels[2].reason);
        module->kernels[2].unmarked = "what odd writes";
        assert_true(instrument_save(module, &once));
        assert_int_equal(instrument_load(once.text, once.length, &again, &error), BASE_OK);
        assert_int_equal(again->ptx_bytes, module->ptx_bytes);
        assert_string_equal(again->ptx, module->ptx);
        assert_int_equal(again->part_count, 1);
        assert_int_equal(again->parts[0].ptx_bytes, module->parts[0].ptx_bytes);
        assert_string_equal(again->parts[0].ptx, module->parts[0].ptx);
        assert_int_equal(again->kernels[0].part, INSTRUMENT_NONE);
        assert_int_equal(again->kernels[1].part, 0);
        assert_int_equal(again->kernels[0].site_count, 4);
        assert_int_equal(again->kernels[0].root_count, 3);
        assert_int_equal(again->kernels[0].param_count, module->kernels[0].param_count);
        for (uint32_t k = 0; k < module->kernels[0].param_count; k++) {
            assert_int_equal(again->kernels[0].params[k].offset,
                             module->kernels[0].params[k].offset);
            assert_int_equal(again->kernels[0].params[k].bytes, module->kernels[0].params[k].bytes);
        }
        assert_string_equal(again->kernels[0].roots[2].variable, "total");
        assert_string_equal(again->kernels[2].reason, module->kernels[2].reason);
        assert_true(again->kernels[0].heap && !again->kernels[0].allocates);
        assert_true(again->kernels[1].heap && again->kernels[1].allocates);
        assert_false(again->kernels[2].heap || again->kernels[2].allocates);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(again->kernels[0].sites[k].silent, module->kernels[0].sites[k].silent);
        for (unsigned k = 0; k < 4; k++)
            assert_int_equal(again->kernels[0].sites[k].still, module->kernels[0].sites[k].still);
        assert_int_equal(again->kernels[0].sites[3].silent != INSTRUMENT_NONE, i >= 3);
        assert_int_equal(again->kernels[0].accessed_count, module->kernels[0].accessed_count);
        assert_int_equal(again->kernels[0].accessed_count != 0, i == 4);
        assert_null(again->kernels[0].unmarked);
        assert_string_equal(again->kernels[2].unmarked, "what odd writes");
        assert_int_equal(again->allocator_count, 1);
        assert_string_equal(again->allocators[0], "give");
        assert_true(instrument_save(again, &twice));
        assert_int_equal(twice.length, once.length);
        assert_memory_equal(twice.text, once.text, once.length);
        instrument_destroy(again);
        instrument_destroy(module);
        base_buf_fini(&once);
        base_buf_fini(&twice);
    }
}

static void check_layout(const struct instrument_layout *layout, uint32_t stride,
                         const uint32_t (*fields)[2], uint32_t count)
{
    assert_int_equal(layout->stride, stride);
    assert_int_equal(layout->field_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(layout->fields[i].offset, fields[i][0]);
        assert_int_equal(layout->fields[i].type, fields[i][1]);
    }
}

static void arrays_of_shared_memory_are_read(void **state)
{
    (void)state;
    static const char kernel[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".extern .shared .align 4 .b8 rest[];\n"
        ".visible .entry share(.param .u32 n)\n"
        "{\n"
        "  .reg .b32 %r<4>; .shared .align 4 .b8 tile[258];\n"
        "  mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 2; mov.u32 %r1, tile; add.u32 %r1, %r1, %r0;\n"
        "  st.shared.u32 [%r1], %r0; ld.shared.v2.u32 {%r2, %r3}, [rest+8];\n"
        "  st.bulk.weak.shared::cta [rest], 8, 0; ret;\n"
        "}\n";
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS | INSTRUMENT_SHARED,
                                               .word_ways =
                                                   INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_SMALL};
    struct instrument_module *module, *again;
    struct base_error error = {0};
    struct base_buf once = {0}, twice = {0};
    assert_int_equal(instrument_ptx(kernel, strlen(kernel), &request, &module, &error), BASE_OK);
    assert_true(instrument_save(module, &once));
    instrument_destroy(module);
    assert_int_equal(instrument_load(once.text, once.length, &again, &error), BASE_OK);
    const struct instrument_kernel *share = &again->kernels[0];
    assert_int_equal(share->array_count, 2);
    assert_string_equal(share->arrays[0].name, "tile");
    assert_int_equal(share->arrays[0].bytes, 258);
    assert_int_equal(share->arrays[0].first, 4);
    assert_string_equal(share->arrays[1].name, "rest");
    assert_int_equal(share->arrays[1].bytes, 0);
    assert_int_equal(share->arrays[1].first, 72);
    assert_int_equal(instrument_word_count(share, 10), 71 + 3);
    assert_non_null(strstr(share->uncounted, "st.bulk"));
    assert_int_equal(share->word_site_count, 2);
    assert_true(share->word_sites[0].stores && !share->word_sites[0].loads);
    assert_true(share->word_sites[1].loads && !share->word_sites[1].stores);
    assert_int_equal(share->word_sites[1].array, 1);
    assert_int_equal(share->word_sites[1].bytes, 8);
    assert_true(share->may_spare && !share->counts_rest && !share->racy);
    assert_true(!share->pairs && !share->quads); // the other array may begin anywhere
    assert_int_equal(share->spare_head, 16);
    assert_int_equal(share->spare_word, 8);
    assert_int_equal(share->spare_small, 4);
    assert_int_equal(share->made, share->tally_count);
    assert_true(instrument_save(again, &twice));
    assert_int_equal(twice.length, once.length);
    assert_memory_equal(twice.text, once.text, once.length);
    instrument_destroy(again);
    base_buf_fini(&once);
    base_buf_fini(&twice);
}

static void roots_have_layouts_if_values_are_wanted(void **state)
{
    (void)state;
    static const char kernel[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry move(.param .u64 n, .param .align 8 .b8 data[16], .param .u64 raw)\n"
        "{\n"
        "  .reg .u32 %r<4>; .reg .u64 %a<9>; .reg .f32 %f<4>; .reg .f64 %d<2>;\n"
        "  ld.param.u64 %a0, [data]; ld.param.u64 %a1, [data+8]; ld.param.u64 %a2, [raw];\n"
        "  mov.u32 %r0, %tid.x; mul.wide.u32 %a3, %r0, 12; mul.wide.u32 %a4, %r0, 8;\n"
        "  add.u64 %a5, %a0, %a3; ld.global.f32 %f0, [%a5]; ld.global.u32 %r1, [%a5+8];\n"
        "  div.s32 %r2, %r1, 3; st.global.u32 [%a5+8], %r2;\n"
        "  add.u64 %a6, %a1, %a4; ld.global.f64 %d0, [%a6]; st.global.f64 [%a6+8], %d0;\n"
        "  add.u64 %a7, %a2, %a4; st.global.u64 [%a7], 0; ret;\n"
        "}\n";
    static const uint32_t pairs[][2] = {{0, INSTRUMENT_TYPE_F32}, {8, INSTRUMENT_TYPE_S32}};
    static const uint32_t doubles[][2] = {{0, INSTRUMENT_TYPE_F64}};
    static const uint32_t words[][2] = {{0, INSTRUMENT_TYPE_RAW}};
    for (unsigned values = 0; values < 2; values++) {
        struct instrument_request request = {.facts = INSTRUMENT_OBJECTS |
                                                      (values ? INSTRUMENT_VALUES : 0)};
        struct instrument_module *module, *again;
        struct base_buf bytes = {0};
        assert_int_equal(instrument_ptx(kernel, strlen(kernel), &request, &module, NULL), BASE_OK);
        assert_true(instrument_save(module, &bytes));
        assert_int_equal(instrument_load(bytes.text, bytes.length, &again, NULL), BASE_OK);
        assert_int_equal(again->kernels[0].root_count, 3);
        const struct instrument_root *roots = again->kernels[0].roots;
        assert_int_equal(roots[0].offset, 8);
        check_layout(&roots[0].layout, values ? 12 : 0, pairs, values ? 2 : 0);
        assert_int_equal(roots[1].offset, 16);
        check_layout(&roots[1].layout, values ? 8 : 0, doubles, values ? 1 : 0);
        assert_int_equal(roots[2].offset, 24);
        check_layout(&roots[2].layout, values ? 4 : 0, words, values ? 1 : 0);
        assert_memory_equal(&roots[0].layout, &module->kernels[0].roots[0].layout,
                            sizeof(roots[0].layout));
        instrument_destroy(again);
        instrument_destroy(module);
        base_buf_fini(&bytes);
    }
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    struct instrument_module *module = make(INSTRUMENT_ELEMENTS), *again = module;
    struct base_buf bytes = {0};
    assert_true(instrument_save(module, &bytes));
    for (size_t length = 0; length < bytes.length; length += 1 + length / 50) {
        char *cut = malloc(length ? length : 1); // so that a sanitizer detects reads past it
        memcpy(cut, bytes.text, length);
        assert_int_equal(instrument_load(cut, length, &again, NULL), BASE_INVALID);
        assert_null(again);
        free(cut);
    }
    for (size_t i = 0; i < bytes.length; i += 1 + i / 100) {
        bytes.text[i] ^= 0x10;
        assert_int_equal(instrument_load(bytes.text, bytes.length, &again, NULL), BASE_INVALID);
        bytes.text[i] ^= 0x10;
    }
    instrument_destroy(module);
    base_buf_fini(&bytes);
}

// Deliberate damage with a matching hash does not cause accesses outside of the bytes.
static void numbers_beyond_the_bytes_are_refused(void **state)
{
    (void)state;
    struct instrument_module *module = make(INSTRUMENT_ELEMENTS | INSTRUMENT_VALUES |
                                            INSTRUMENT_ACCESSED),
                             *again;
    struct base_buf bytes = {0};
    assert_true(instrument_save(module, &bytes));
    for (size_t i = 0; i + 12 <= bytes.length; i++) {
        char *copy = malloc(bytes.length);
        memcpy(copy, bytes.text, bytes.length);
        memset(copy + i, 0xee, 4);
        uint64_t hash = base_hash(copy, bytes.length - 8);
        for (unsigned k = 0; k < 8; k++)
            copy[bytes.length - 8 + k] = (char)(hash >> (8 * k));
        if (instrument_load(copy, bytes.length, &again, NULL) == BASE_OK)
            instrument_destroy(again);
        free(copy);
    }
    instrument_destroy(module);
    base_buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(arrays_of_shared_memory_are_read),
        cmocka_unit_test(roots_have_layouts_if_values_are_wanted),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(numbers_beyond_the_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
