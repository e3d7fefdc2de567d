// SPDX-License-Identifier: Apache-2.0
// Tensor copies have probes that find the object of the tensor: only at object level, and only if
// maps are known to begin with the tensor's address. Kernels of other requests say why they have no
// clone. tests/cli/record/tensor_copies.sh compares what the probes find with what copies access.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/instrument.h"

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 s[1024];\n"
    ".shared .align 8 .b64 bar;\n"
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 q) {\n"
    ".reg .b64 %d<3>; .reg .b32 %r<3>; .reg .pred %p;\n"
    "mov.b64 %d0, map; cvta.param.u64 %d0, %d0; mov.u32 %r0, s; mov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p, %r1, 0; ld.param.u64 %d1, [q]; st.global.u32 [%d1], %r1;\n"
    "@%p cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], "
    "[%d0, {0}], [bar];\n"
    "@%p cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%d0, {%r1}], "
    "[%r0];\nret; }\n";

static struct instrument_module *rewrite(uint32_t facts, bool maps)
{
    const struct instrument_request request = {.facts = facts, .maps = maps};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    return module;
}

static void copies_are_looked_up_by_the_address_in_the_map(void **state)
{
    (void)state;
    struct instrument_module *module = rewrite(INSTRUMENT_OBJECTS, true);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_non_null(kernel->clone);
    assert_null(kernel->reason);
    assert_true(kernel->tensors);
    assert_true(kernel->needs_table);
    assert_int_equal(kernel->site_count, 3); // the store, the load and the reduction
    assert_int_equal(kernel->root_count, 1); // the map is none
    assert_int_equal(kernel->sites[1].bytes, 0);
    assert_int_equal(kernel->sites[1].root, INSTRUMENT_NONE);
    assert_non_null(strstr(module->ptx, "ld.b64 %glint$a, [%glint$a];"));
    instrument_destroy(module);
}

static void other_requests_name_the_copy(void **state)
{
    (void)state;
    static const struct {
        uint32_t facts;
        bool maps;
    } cases[] = {
        {INSTRUMENT_OBJECTS, false},
        {INSTRUMENT_OBJECTS | INSTRUMENT_ELEMENTS, true},
        {INSTRUMENT_OBJECTS | INSTRUMENT_VALUES, true},
        {INSTRUMENT_OBJECTS | INSTRUMENT_SHARED, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct instrument_module *module = rewrite(cases[i].facts, cases[i].maps);
        assert_null(module->kernels[0].clone);
        assert_non_null(strstr(module->kernels[0].reason,
                               "unsupported instruction cp.async.bulk.tensor.1d.shared::cluster"));
        instrument_destroy(module);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_looked_up_by_the_address_in_the_map),
        cmocka_unit_test(other_requests_name_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
