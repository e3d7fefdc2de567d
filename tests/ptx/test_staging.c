// SPDX-License-Identifier: Apache-2.0
// Known answers about shared memory: in which array sites lie, which stores bring data there from
// global memory, and which bring it back. The folders facts/arrays and facts/staging state them for
// hand-written PTX; those of examples are below.
#include "stated.h"

static void put_place(struct base_buf *out, const struct ptx_facts *facts,
                      const struct ptx_site *site, const struct ptx_array_place *place)
{
    const char *doubt = ptx_array_doubt((enum ptx_array_kind)place->kind);
    if (doubt) {
        assert_null(place->array);
        base_buf_puts(out, doubt);
        return;
    }
    base_buf_printf(out, "%s%s", place->dynamic ? "dynamic " : "", place->array->name);
    if (place->has_offset) {
        base_buf_puts(out, " at ");
        put_form(out, facts->affine, &place->offset);
    }
    if (site->lanes != UINT32_MAX)
        base_buf_printf(out, " by lanes %x", site->lanes);
}

static void find_arrays(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t count;
    const struct ptx_site *sites = list_sites(facts, &count);
    struct ptx_arrays arrays;
    struct base_error error = {0};
    assert_int_equal(ptx_arrays_find(facts, sites, count, &arrays, &error), BASE_OK);
    for (uint32_t i = 0; i < count; i++) {
        if (arrays.places[i].kind == PTX_ARRAY_NONE)
            continue;
        put_place(text, facts, &sites[i], &arrays.places[i]);
        take_fact(found, sites[i].instr->stmt.line, text);
    }
    for (uint32_t i = 0; i < arrays.described_count; i++) {
        const struct ptx_described *described = &arrays.described[i];
        base_buf_printf(text, "by descriptor %s",
                        described->array ? described->array->name : "unknown");
        take_fact(found, described->instr->stmt.line, text);
    }
}

static void find_staging(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text)
{
    uint32_t count;
    const struct ptx_site *sites = list_sites(facts, &count);
    struct ptx_staging *stagings;
    struct base_error error = {0};
    assert_int_equal(ptx_staging_find(facts, sites, count, &stagings, &error), BASE_OK);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_staging *staging = &stagings[i];
        const bool shared = sites[i].actual_space == PTX_SPACE_SHARED;
        if (staging->kind == PTX_STAGING_NONE) {
            assert_int_equal(staging->source_count, 0);
            if (sites[i].access != PTX_ACCESS_STORE || sites[i].actual_space == PTX_SPACE_GENERIC)
                continue;
            base_buf_printf(text, "no %s", shared ? "fill" : "drain");
        } else {
            assert_int_equal(shared, staging->kind == PTX_STAGING_FILL);
            base_buf_printf(text, "%s of", ptx_staging_name((enum ptx_staging_kind)staging->kind));
            for (uint8_t k = 0; k < staging->source_count; k++) {
                base_buf_putc(text, ' ');
                ptx_print_operand(sites[staging->sources[k]].address, text);
                assert_int_equal(sites[staging->sources[k]].access, PTX_ACCESS_LOAD);
            }
            base_buf_puts(text, staging->more ? " and more" : "");
        }
        take_fact(found, sites[i].instr->stmt.line, text);
    }
}

static void arrays_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/arrays", find_arrays);
}

static void fills_and_drains_are_as_stated(void **state)
{
    (void)state;
    check_folder("facts/staging", find_staging);
}

// --- Examples ------------------------------------------------------------------------------------

// What is found in a kernel, after the lines of the PTX. Variables have their names in the source.
static char *describe(const char *path, const char *kernel, finder find)
{
    char *text;
    size_t length;
    struct base_error error = {0};
    assert_int_equal(base_file_read(path, &text, &length, &error), BASE_OK);
    struct ptx_module *module;
    assert_int_equal(ptx_parse(text, length, path, &module, &error), BASE_OK);
    struct ptx_facts *facts;
    assert_int_equal(ptx_facts_create(find_function(module, kernel), 0, &facts, &error), BASE_OK);
    struct fact_list found = {0};
    struct base_buf line = {0}, all = {0};
    find(facts, &found, &line);
    sort_facts(&found);
    for (size_t i = 0; i < found.count; i++) {
        const char *fact = found.items[i].text;
        const char *local = strstr(fact, "E"); // of a mangled name, before that of the variable
        if (strncmp(fact, "_ZZ", 3) == 0 && local)
            fact = local + 1 + strspn(local + 1, "0123456789");
        base_buf_printf(&all, "%u %s\n", found.items[i].line, fact);
    }
    base_buf_fini(&line);
    free_facts(&found);
    ptx_facts_destroy(facts);
    ptx_module_destroy(module);
    free(text);
    assert_false(all.failed);
    return all.text;
}

static void check_example(const char *path, const char *kernel, finder find, const char *expected)
{
    char *text = describe(path, kernel, find);
    assert_string_equal(text, expected);
    free(text);
}

static void a_transposition_fills_and_drains(void **state)
{
    (void)state;
    static const char path[] = "../../examples/transpose/transpose.ptx";
    static const char kernel[] = "_Z15transpose_tilediiPKfPf";
    check_example(path, kernel, find_arrays,
                  "161 block at tid.x*4 + tid.y*132\n"
                  "176 block at tid.x*4 + tid.y*132 + 1056\n"
                  "191 block at tid.x*4 + tid.y*132 + 2112\n"
                  "206 block at tid.x*4 + tid.y*132 + 3168\n"
                  "228 block at tid.x*132 + tid.y*4\n"
                  "243 block at tid.x*132 + tid.y*4 + 32\n"
                  "258 block at tid.x*132 + tid.y*4 + 64\n"
                  "273 block at tid.x*132 + tid.y*4 + 96\n");
    check_example(path, kernel, find_staging,
                  "161 fill of [%rd6]\n"
                  "176 fill of [%rd8]\n"
                  "191 fill of [%rd10]\n"
                  "206 fill of [%rd12]\n"
                  "232 drain of [%r13]\n"
                  "247 drain of [%r13+32]\n"
                  "262 drain of [%r13+64]\n"
                  "277 drain of [%r13+96]\n");
}

// Sums of warps are computed, and so is what is written in the end.
static void a_reduction_fills_nothing(void **state)
{
    (void)state;
    static const char path[] = "../../examples/reduction/reduction.ptx";
    static const char kernel[] = "_Z3dotPK7__half2S1_iPVfPd";
    check_example(path, kernel, find_arrays,
                  "167 warp_sums\n"
                  "177 warp_sums at 4\n"
                  "179 warp_sums at 8\n"
                  "181 warp_sums at 12\n"
                  "183 warp_sums at 16\n"
                  "185 warp_sums at 20\n"
                  "187 warp_sums at 24\n"
                  "189 warp_sums at 28\n"
                  "207 is_last at 0\n"
                  "213 is_last at 0\n");
    check_example(path, kernel, find_staging,
                  "167 no fill\n"
                  "194 no drain\n"
                  "207 no fill\n"
                  "335 no drain\n");
}

// Three tiles have zeros beyond the borders of their matrices. The result is a sum.
static void a_product_fills_its_tiles(void **state)
{
    (void)state;
    static const char path[] = "../../examples/sgemm_tiled/sgemm_tiled.ptx";
    static const char kernel[] = "_Z11sgemm_tilediPKfS0_S0_Pf";
    check_example(path, kernel, find_staging,
                  "80 fill of [%rd10]\n"
                  "119 fill of [%rd19]\n"
                  "134 fill of [%rd15]\n"
                  "223 no drain\n");
    char *text = describe(path, kernel, find_arrays);
    assert_non_null(strstr(text, " a_tile at tid.x*4 + tid.y*64\n"));
    assert_non_null(strstr(text, " a_tile at tid.y*64 + 60\n"));
    assert_non_null(strstr(text, " b_tile at tid.x*4 + 960\n"));
    assert_null(strstr(text, "tile\n")); // the place is always known
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_as_stated),
        cmocka_unit_test(fills_and_drains_are_as_stated),
        cmocka_unit_test(a_transposition_fills_and_drains),
        cmocka_unit_test(a_reduction_fills_nothing),
        cmocka_unit_test(a_product_fills_its_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
