// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as PTX. Text that parses must print, parse again and print the same, and every
// function of it is analyzed. Memory is limited, as callers can request.
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

enum { MODULE_BYTES = 16 << 20, FACTS_BYTES = 64 << 20 };

static struct ptx_module *read_module(const char *text, size_t length)
{
    struct ptx_module *module;
    struct base_error error;
    enum base_code code = ptx_parse_within(text, length, "input", MODULE_BYTES, &module, &error);
    if (code == BASE_OK)
        return module;
    // A function that fails must set a message and return no object.
    if (module || error.code != code || !error.causes || !error.text[0][0])
        abort();
    if (code != BASE_SYNTAX && code != BASE_NO_MEMORY)
        abort();
    return NULL;
}

static void print_module(const struct ptx_module *module, struct base_buf *text)
{
    ptx_print(module, text);
    if (text->failed)
        abort();
}

static void check_stagings(struct ptx_facts *facts, const struct ptx_site *sites, uint32_t count)
{
    struct ptx_staging *stagings;
    struct base_error error;
    if (ptx_staging_find(facts, sites, count, &stagings, &error) != BASE_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_staging *staging = &stagings[i];
        if ((staging->kind == PTX_STAGING_NONE) != (staging->source_count == 0))
            abort();
        for (uint8_t k = 0; k < staging->source_count; k++) {
            const uint32_t source = staging->sources[k];
            if (source >= count || sites[source].access != PTX_ACCESS_LOAD ||
                sites[source].actual_space == sites[i].actual_space)
                abort();
        }
    }
}

static void check_arrays(struct ptx_facts *facts, const struct ptx_site *sites, uint32_t count,
                         struct base_buf *text)
{
    struct ptx_arrays arrays;
    struct base_error error;
    if (ptx_arrays_find(facts, sites, count, &arrays, &error) != BASE_OK)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_array_place *place = &arrays.places[i];
        if ((place->kind == PTX_ARRAY_KNOWN) != (place->array != NULL) ||
            (place->array && place->array->space != PTX_SPACE_SHARED))
            abort();
        if (place->has_offset)
            ptx_form_print(facts->affine, &place->offset, NULL, text);
    }
}

static void analyse(struct ptx_function *function)
{
    struct ptx_facts *facts;
    struct base_error error;
    if (ptx_facts_create(function, FACTS_BYTES, &facts, &error) != BASE_OK)
        return;
    struct ptx_site *sites;
    uint32_t count;
    struct base_buf text = {0};
    if (ptx_sites_find(facts, &sites, &count, &error) == BASE_OK) {
        for (uint32_t i = 0; i < count; i++)
            ptx_form_print(facts->affine, &sites[i].form, NULL, &text);
        check_stagings(facts, sites, count);
        check_arrays(facts, sites, count, &text);
        struct ptx_layout *layouts;
        uint32_t layout_count = 0;
        if (ptx_layouts_find(facts, sites, count, &layouts, &layout_count, &error) != BASE_OK)
            layout_count = 0;
        for (uint32_t i = 0; i < layout_count; i++) {
            if (layouts[i].field_count < 1 || layouts[i].field_count > PTX_LAYOUT_FIELDS)
                abort();
            for (uint32_t k = 0; k < layouts[i].field_count; k++) {
                if (layouts[i].fields[k].offset +
                        ptx_type_bytes((enum ptx_type)layouts[i].fields[k].type) >
                    layouts[i].stride)
                    abort();
            }
            ptx_layout_print(&layouts[i], &text);
        }
    }
    base_buf_fini(&text);
    ptx_facts_destroy(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct ptx_module *module = read_module((const char *)data, size_bytes);
    if (!module)
        return 0;
    struct base_buf first = {0}, second = {0};
    print_module(module, &first);
    struct ptx_module *again = read_module(first.text, first.length);
    // A large printed text may exceed the memory limit; any other failure is an error.
    if (again) {
        print_module(again, &second);
        if (first.length != second.length || memcmp(first.text, second.text, first.length) != 0)
            abort();
        ptx_module_destroy(again);
    } else if (first.length < MODULE_BYTES / 256) {
        abort();
    }
    for (struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind == PTX_ITEM_FUNCTION && item->function->has_body)
            analyse(item->function);
    }
    base_buf_fini(&first);
    base_buf_fini(&second);
    ptx_module_destroy(module);
    return 0;
}
