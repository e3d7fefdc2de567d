// SPDX-License-Identifier: Apache-2.0
// Memory runs out at every possible place: by a limit that grows, and by an allocator that fails
// after a number of calls. Each time there is an error, no leak and no partial change.
#include "testing.h"

#include "../base/failing_memory.h"

static const char module_text[] = HEAD
    ".file 1 \"a.cu\"\n.pragma \"x\", \"y\";\n.global .align 4 .u32 table[4] = {1, 2, {3}, "
    "table+4};\n"
    ".func (.param .u64 out) f (.param .u64 in) .noreturn;\n"
    ".section .debug_str { L0: .b8 104, 105, 0\n L1: .b32 L0, L1-L0 }\n"
    ".visible .entry k(.param .u64 a, .param .u32 n) .maxntid 256 .pragma \"one\", \"two\";\n{\n"
    ".reg .pred %p<4>;\n.reg .b32 %r<20>, one, two;\n.reg .b64 %rd<20>;\n.local .b32 mine<3>;\n"
    "ld .param .u64 %rd1, [a];\nld.param.u32 %r1, [n];\ncvta.to.global.u64 %rd2, %rd1;\n"
    "mov.u32 %r2, %tid.x;\nmov.u32 %r3, 0;\nTS: .branchtargets HEAD, OUT, ELSE;\n"
    "HEAD: .loc 1 2 3\nmad.wide.u32 %rd3, %r3, 4, %rd2;\n{\n.param .u64 in, out;\n.reg .b32 "
    "inner;\n"
    "st.param.u64 [in], %rd3;\ncall.uni (out), f, (in);\nld.param.u64 %rd4, [out];\n"
    "mov.b32 inner, {%r4, %r5};\n}\nld.global.v2.u32 {%r4, %r5}, [%rd3];\nsetp.eq.u32 %p1|%p2, "
    "%r4, 0;\n"
    "@%p1 bra ELSE;\n@%p2 ret;\nadd.u32 %r6, %r4, %r5;\nbra JOIN;\nELSE: sub.u32 %r6, %r4, %r5;\n"
    "JOIN: st.global.u32 [%rd3+8], %r6;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, %r1;\n"
    "@%p3 bra HEAD;\nbrx.idx %r6, TS;\nOUT: ret;\n}\n";

static void parsing_fails_cleanly_below_any_limit(void **state)
{
    (void)state;
    size_t limit = 1;
    enum base_code code;
    do {
        struct ptx_module *module;
        struct base_error error;
        code =
            ptx_parse_within(module_text, sizeof(module_text) - 1, "x.ptx", limit, &module, &error);
        if (code == BASE_OK) {
            assert_true(ptx_module_bytes(module) >= limit / 2);
            ptx_module_destroy(module);
        } else {
            assert_int_equal(code, BASE_NO_MEMORY);
            assert_null(module);
            assert_string_equal(error.text[0], "out of memory reading x.ptx");
        }
        limit += 48;
        assert_true(limit < 1 << 20);
    } while (code != BASE_OK);
    assert_true(limit > 4096);
}

static void analyses_fail_cleanly_below_any_limit(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(module_text);
    struct ptx_function *function = find_function(module, "k");
    enum base_code code = BASE_NO_MEMORY;
    for (size_t limit = 1; code != BASE_OK; limit += 64) {
        struct ptx_facts *facts;
        struct base_error error = {0};
        const char *message = "out of memory analysing k";
        code = ptx_facts_create(function, limit, &facts, &error);
        if (code == BASE_OK) {
            struct ptx_site *sites;
            uint32_t count;
            code = ptx_sites_find(facts, &sites, &count, &error);
            if (code == BASE_OK)
                assert_int_equal(count, 2);
            message = "out of memory listing the sites of k";
        } else {
            assert_null(facts);
        }
        if (code != BASE_OK) {
            assert_int_equal(code, BASE_NO_MEMORY);
            assert_string_equal(error.text[0], message);
        }
        ptx_facts_destroy(facts);
        assert_true(limit < 1 << 22);
    }
    ptx_module_destroy(module);
}

static void parsing_survives_a_failing_allocator(void **state)
{
    (void)state;
    size_t calls = 0;
    enum base_code code;
    do {
        struct ptx_module *module;
        struct base_error error;
        allocations_left = calls++;
        code = ptx_parse(module_text, sizeof(module_text) - 1, "x.ptx", &module, &error);
        allocations_left = SIZE_MAX;
        if (code == BASE_OK)
            ptx_module_destroy(module);
        else
            assert_int_equal(code, BASE_NO_MEMORY);
        assert_true(calls < 10000);
    } while (code != BASE_OK);
    assert_true(calls > 10);
}

static void printing_says_that_memory_ran_out(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(module_text);
    struct base_buf whole = {0};
    ptx_print(module, &whole);
    assert_false(whole.failed);
    size_t calls = 0;
    for (bool failed = true; failed; calls++) {
        struct base_buf text = {0};
        assert_true(calls < 1000);
        allocations_left = calls;
        ptx_print(module, &text);
        allocations_left = SIZE_MAX;
        failed = text.failed;
        if (!failed)
            assert_string_equal(text.text, whole.text);
        base_buf_fini(&text);
    }
    assert_true(calls > 3); // the buffer doubles as the text grows
    base_buf_fini(&whole);
    ptx_module_destroy(module);
}

static void analyses_survive_a_failing_allocator(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(module_text);
    struct ptx_function *function = find_function(module, "k");
    size_t calls = 0;
    enum base_code code;
    do {
        struct ptx_facts *facts;
        struct ptx_site *sites;
        uint32_t count;
        allocations_left = calls++;
        code = ptx_facts_create(function, 0, &facts, NULL);
        if (code == BASE_OK) {
            code = ptx_sites_find(facts, &sites, &count, NULL);
            ptx_facts_destroy(facts);
        }
        allocations_left = SIZE_MAX;
        if (code != BASE_OK)
            assert_int_equal(code, BASE_NO_MEMORY);
    } while (code != BASE_OK);
    assert_true(calls > 3);
    ptx_module_destroy(module);
}

// Finds the layouts of a kernel that passes its pointer to a function. Returns the code; the layout
// must be correct if there is one.
static enum base_code find_layouts(struct ptx_function *function, size_t limit)
{
    struct ptx_facts *facts;
    struct ptx_site *sites;
    struct ptx_layout *layouts;
    struct base_error error = {0};
    uint32_t site_count, count;
    enum base_code code = ptx_facts_create(function, limit, &facts, &error);
    if (code == BASE_OK)
        code = ptx_sites_find(facts, &sites, &site_count, &error);
    if (code == BASE_OK) {
        code = ptx_layouts_find(facts, sites, site_count, &layouts, &count, &error);
        if (code != BASE_OK)
            assert_string_equal(error.text[0], "out of memory finding the layouts of k");
    }
    if (code == BASE_OK) {
        assert_int_equal(count, 1);
        assert_null(layouts[0].doubt);
        assert_int_equal(layouts[0].stride, 8);
        assert_int_equal(layouts[0].field_count, 2);
        assert_int_equal(layouts[0].fields[0].type, PTX_F32);
        assert_int_equal(layouts[0].fields[1].type, PTX_S32);
    } else {
        assert_int_equal(code, BASE_NO_MEMORY);
    }
    ptx_facts_destroy(facts);
    return code;
}

static void layouts_survive_a_lack_of_memory(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".func f(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<3>; ld.param.u64 %rd1, [p];\n"
             "ld.global.u32 %r1, [%rd1+4]; div.s32 %r2, %r1, 3; ret; }\n"
             ".entry k(.param .u64 a) { .reg .b64 %rd<5>; .reg .b32 %r<3>; .reg .f32 %f<3>;\n"
             "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8;\n"
             "add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3]; st.global.f32 [%rd3], %f1;\n"
             "{ .param .u64 in; st.param.u64 [in], %rd3; call.uni f, (in); }\nret; }\n");
    struct ptx_function *function = find_function(module, "k");
    size_t calls = 0, limit = 1;
    do {
        allocations_left = calls++;
        const enum base_code code = find_layouts(function, 0);
        allocations_left = SIZE_MAX;
        if (code == BASE_OK)
            break;
    } while (calls < 1000);
    assert_in_range(calls, 4, 999);
    while (find_layouts(function, limit) != BASE_OK)
        limit += 64;
    assert_in_range(limit, 1024, 1 << 20);
    ptx_module_destroy(module);
}

// Finds what a kernel that multiplies a tile does with shared memory. It must be correct if it is
// found.
static enum base_code find_shared(struct ptx_function *function, size_t limit)
{
    struct ptx_facts *facts;
    struct ptx_site *sites;
    struct ptx_staging *stagings;
    struct ptx_arrays arrays;
    struct base_error error = {0};
    uint32_t count;
    const char *message = "out of memory analysing k";
    enum base_code code = ptx_facts_create(function, limit, &facts, &error);
    if (code == BASE_OK) {
        code = ptx_sites_find(facts, &sites, &count, &error);
        message = "out of memory listing the sites of k";
    }
    if (code == BASE_OK) {
        code = ptx_staging_find(facts, sites, count, &stagings, &error);
        message = "out of memory finding what k brings to shared memory";
    }
    if (code == BASE_OK) {
        code = ptx_arrays_find(facts, sites, count, &arrays, &error);
        message = "out of memory finding the arrays of k";
    }
    if (code == BASE_OK) {
        assert_int_equal(count, 2);
        assert_int_equal(stagings[1].kind, PTX_STAGING_FILL);
        assert_true(arrays.places[1].has_offset);
        assert_int_equal(arrays.described_count, 1);
        assert_string_equal(arrays.described[0].array->name, "s");
    } else {
        assert_int_equal(code, BASE_NO_MEMORY);
        assert_string_equal(error.text[0], message);
    }
    ptx_facts_destroy(facts);
    return code;
}

static void shared_memory_survives_a_lack_of_memory(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".shared .align 16 .b8 s[64];\n.global .u32 g;\n"
             ".entry k() { .reg .b64 %rd<5>; .reg .b32 %r<9>; .reg .pred %p;\n"
             "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2;\n"
             "ld.global.u32 %r4, [g]; st.shared.u32 [%r3], %r4; cvt.u64.u32 %rd1, %r2;\n"
             "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r5, %r6}, {%r1, %r1, %r1, %r1},\n"
             "%rd1, 1, 1, 1, 0;\nret; }\n");
    struct ptx_function *function = find_function(module, "k");
    size_t calls = 0, limit = 1;
    do {
        allocations_left = calls++;
        const enum base_code code = find_shared(function, 0);
        allocations_left = SIZE_MAX;
        if (code == BASE_OK)
            break;
    } while (calls < 1000);
    assert_in_range(calls, 4, 999);
    while (find_shared(function, limit) != BASE_OK)
        limit += 64;
    assert_in_range(limit, 1024, 1 << 20);
    ptx_module_destroy(module);
}

// Makes one of the edits of a module and returns its result.
static enum base_code edit(struct ptx_module *module, struct ptx_facts *facts, unsigned which)
{
    struct ptx_function *function = find_function(module, "k");
    static const char text[] = "{ .reg .u32 x; AGAIN: mov.u32 x, 5; bra AGAIN; }";
    switch (which) {
    case 0: return ptx_insert_text(function, ptx_place_entry(function), text, NULL, 0, NULL);
    case 1: return ptx_insert_preheader(facts->cfg, 0, text, NULL, 0, NULL);
    case 2: return ptx_insert_exits(facts->cfg, 0, text, NULL, 0, NULL);
    case 3: return ptx_add_var(module, ".global .u32 fresh[4] = {1, 2};", NULL);
    case 4: return ptx_add_reg(function, PTX_U32, "r") ? BASE_OK : BASE_NO_MEMORY;
    default: return ptx_add_param(function, PTX_U64, "more") ? BASE_OK : BASE_NO_MEMORY;
    }
}

// An edit that runs out of memory, on the heap or in the module's arena, leaves the text unchanged.
static void edits_survive_a_failing_allocator(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 6; which++) {
        for (int limited = 0; limited < 2; limited++) {
            enum base_code code;
            for (size_t room = 0;; room++) {
                struct ptx_module *module = read_module(module_text);
                struct ptx_facts *facts;
                assert_int_equal(ptx_facts_create(find_function(module, "k"), 0, &facts, NULL),
                                 BASE_OK);
                char *before = print_module(module);
                if (limited) {
                    // The limit ignores free room in the current chunk, so that is cut to room
                    // * 16.
                    module->arena.next =
                        module->arena.end -
                        (room * 16 < (size_t)(module->arena.end - module->arena.next)
                             ? room * 16
                             : (size_t)(module->arena.end - module->arena.next));
                    module->arena.limit_bytes = module->arena.allocated_bytes;
                } else {
                    allocations_left = room;
                }
                code = edit(module, facts, which);
                allocations_left = SIZE_MAX;
                module->arena.limit_bytes = 0;
                char *after = print_module(module);
                if (code != BASE_OK) {
                    assert_int_equal(code, BASE_NO_MEMORY);
                    assert_string_equal(after, before);
                }
                free(before);
                free(after);
                ptx_facts_destroy(facts);
                ptx_module_destroy(module);
                if (code == BASE_OK)
                    break;
                assert_true(room < 1000);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_fails_cleanly_below_any_limit),
        cmocka_unit_test(analyses_fail_cleanly_below_any_limit),
        cmocka_unit_test(parsing_survives_a_failing_allocator),
        cmocka_unit_test(printing_says_that_memory_ran_out),
        cmocka_unit_test(analyses_survive_a_failing_allocator),
        cmocka_unit_test(layouts_survive_a_lack_of_memory),
        cmocka_unit_test(shared_memory_survives_a_lack_of_memory),
        cmocka_unit_test(edits_survive_a_failing_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
