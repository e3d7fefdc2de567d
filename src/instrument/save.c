// SPDX-License-Identifier: Apache-2.0
// Serialises a module: see saved.h. load.c reads it back, in the same order.
#include <string.h>

#include "saved.h"

static void put_u32(struct base_buf *out, uint32_t value)
{
    unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                              (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    base_buf_add(out, (const char *)bytes, sizeof(bytes));
}

static void put_u64(struct base_buf *out, uint64_t value)
{
    put_u32(out, (uint32_t)value);
    put_u32(out, (uint32_t)(value >> 32));
}

// 0 is NULL; else 1 + the length, the text, and a NUL.
static void put_text(struct base_buf *out, const char *text, size_t length)
{
    put_u64(out, text ? length + 1 : 0);
    if (text) {
        base_buf_add(out, text, length);
        base_buf_putc(out, 0);
    }
}

static void put_name(struct base_buf *out, const char *text)
{
    put_text(out, text, text ? strlen(text) : 0);
}

static void put_form(struct base_buf *out, const struct instrument_form *form)
{
    put_u32(out, form != NULL);
    if (!form)
        return;
    put_u64(out, (uint64_t)form->constant);
    put_u32(out, form->rows);
    put_u32(out, form->term_count);
    for (uint32_t i = 0; i < form->term_count; i++) {
        const struct instrument_form_term *term = &form->terms[i];
        put_u64(out, (uint64_t)term->coefficient);
        put_u32(out, term->of);
        put_u32(out, term->factor_count);
        for (uint32_t k = 0; k < term->factor_count; k++) {
            put_u32(out, term->factors[k].kind);
            put_u32(out, term->factors[k].component);
            put_u32(out, term->factors[k].bytes);
            put_u32(out, term->factors[k].offset);
        }
    }
}

static void put_site(struct base_buf *out, const struct instrument_site *site)
{
    put_u32(out, site->index);
    put_u32(out, site->ptx_line);
    put_name(out, site->function);
    put_name(out, site->opcode);
    put_name(out, site->type);
    put_u32(out, site->type_count);
    put_u32(out, site->access);
    put_u32(out, site->generic | (uint32_t)site->tally_from_one << 1 |
                     (uint32_t)site->observed << 2 | (uint32_t)site->local << 3 |
                     (uint32_t)site->whole_from_one << 4);
    put_u32(out, site->masked);
    put_u32(out, site->bytes);
    put_u32(out, site->root);
    put_u32(out, site->tally);
    put_u32(out, site->silent);
    put_u32(out, site->still);
    put_u32(out, site->requests);
    put_u32(out, site->whole);
    put_form(out, site->form);
    put_u32(out, site->excess);
    put_u32(out, site->span);
    put_name(out, site->file);
    put_u32(out, site->line);
    put_u32(out, site->column);
    put_name(out, site->inlined_function);
    put_name(out, site->array);
    put_name(out, site->at_file);
    put_u32(out, site->at_line);
    put_u32(out, site->at_column);
}

static void put_layout(struct base_buf *out, const struct instrument_layout *layout)
{
    put_u32(out, layout->stride);
    put_u32(out, layout->field_count);
    for (uint32_t i = 0; i < layout->field_count; i++) {
        put_u32(out, layout->fields[i].offset);
        put_u32(out, layout->fields[i].type);
    }
}

static void put_ranges(struct base_buf *out, const struct instrument_kernel *kernel)
{
    put_u32(out, kernel->ranges_base);
    put_u32(out, kernel->ranges_times);
    put_u32(out, kernel->range_site_count);
    for (uint32_t i = 0; i < kernel->range_site_count; i++) {
        const struct instrument_range_site *site = &kernel->range_sites[i];
        put_u32(out, site->array);
        put_u32(out, site->fills | (uint32_t)site->listed << 1);
        put_u32(out, site->site);
        put_u32(out, site->first);
        put_u32(out, site->base);
        put_u32(out, site->times);
    }
}

static void put_kernel(struct base_buf *out, const struct instrument_kernel *kernel)
{
    put_name(out, kernel->name);
    put_name(out, kernel->clone);
    put_name(out, kernel->light);
    put_name(out, kernel->reason);
    put_name(out, kernel->unmarked);
    put_u32(out, kernel->context_offset);
    put_u32(out, kernel->context_bytes);
    put_u32(out, kernel->param_count);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        put_u32(out, kernel->params[i].offset);
        put_u32(out, kernel->params[i].bytes);
    }
    put_u32(out, kernel->flag_count);
    put_u32(out, kernel->flag_row_bytes);
    put_u32(out, kernel->left_flag);
    put_u32(out, kernel->tally_count);
    put_u32(out, kernel->tally_row_bytes);
    put_u32(out, kernel->left_counted);
    put_u32(out, kernel->needs_table | (uint32_t)kernel->allocates << 1 |
                     (uint32_t)kernel->heap << 2 | (uint32_t)kernel->outside << 3 |
                     (uint32_t)kernel->textures << 4 | (uint32_t)kernel->may_wait << 5 |
                     (uint32_t)kernel->other_effects << 6 | (uint32_t)kernel->may_spare << 7 |
                     (uint32_t)kernel->counts_rest << 8 | (uint32_t)kernel->racy << 9 |
                     (uint32_t)kernel->pairs << 10 | (uint32_t)kernel->quads << 11 |
                     (uint32_t)kernel->by_masks << 12 | (uint32_t)kernel->tensors << 13 |
                     (uint32_t)kernel->repeats << 14);
    put_u32(out, kernel->root_count);
    for (uint32_t i = 0; i < kernel->root_count; i++) {
        put_u32(out, kernel->roots[i].kind);
        put_u32(out, kernel->roots[i].offset);
        put_name(out, kernel->roots[i].variable);
        put_u32(out, kernel->roots[i].element_bytes);
        put_u32(out, kernel->roots[i].reach);
        put_u32(out, kernel->roots[i].path_count);
        for (uint32_t k = 0; k < kernel->roots[i].path_count; k++) {
            put_form(out, &kernel->roots[i].paths[k].form);
            put_u64(out, (uint64_t)kernel->roots[i].paths[k].low);
            put_u64(out, (uint64_t)kernel->roots[i].paths[k].high);
        }
        put_layout(out, &kernel->roots[i].layout);
        put_u32(out,
                kernel->roots[i].unobserved[0] | (uint32_t)kernel->roots[i].unobserved[1] << 1);
    }
    put_u32(out, kernel->accessed_count);
    put_u32(out, kernel->accessed_row_bytes);
    for (uint32_t i = 0; i < kernel->accessed_count; i++) {
        put_u32(out, kernel->accessed[i].root);
        put_u32(out, kernel->accessed[i].field);
        put_u32(out, kernel->accessed[i].written);
    }
    put_u32(out, kernel->use_count);
    for (uint32_t i = 0; i < kernel->use_count; i++) {
        put_u32(out, kernel->uses[i].root);
        put_u32(out, kernel->uses[i].flag);
        put_u32(out, kernel->uses[i].counted);
        put_u32(out, kernel->uses[i].read | (uint32_t)kernel->uses[i].written << 1 |
                         (uint32_t)kernel->uses[i].from_one << 2);
    }
    put_u32(out, kernel->site_count);
    for (uint32_t i = 0; i < kernel->site_count; i++)
        put_site(out, &kernel->sites[i]);
    put_u32(out, kernel->shared_count);
    for (uint32_t i = 0; i < kernel->shared_count; i++)
        put_site(out, &kernel->shared[i]);
    put_name(out, kernel->uncounted);
    put_u32(out, kernel->looks | (uint32_t)kernel->loads_ordered << 1);
    put_name(out, kernel->unlooked);
    put_u32(out, kernel->traces);
    put_name(out, kernel->untraced);
    put_u32(out, kernel->array_count);
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        put_name(out, kernel->arrays[i].name);
        put_u32(out, kernel->arrays[i].bytes);
        put_u32(out, kernel->arrays[i].first);
    }
    put_ranges(out, kernel);
    put_u32(out, kernel->thread_tallies);
    put_u32(out, kernel->word_site_count);
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        const struct instrument_word_site *site = &kernel->word_sites[i];
        put_u32(out, site->array);
        put_u32(out, site->bytes);
        put_u32(out, site->loads | (uint32_t)site->stores << 1 | (uint32_t)site->from_one << 2 |
                         (uint32_t)site->inclusive << 3 | (uint32_t)site->tested << 4 |
                         (uint32_t)(site->rounds != NULL) << 5);
        put_u32(out, site->tally);
        put_u32(out, site->by_thread);
        put_form(out, site->form);
        if (!site->rounds)
            continue;
        put_form(out, site->rounds);
        put_u64(out, (uint64_t)site->step);
        put_u64(out, (uint64_t)site->stride);
    }
    put_u32(out, kernel->spare_head);
    put_u32(out, kernel->spare_word);
    put_u32(out, kernel->spare_small);
    put_u32(out, kernel->made);
    put_u32(out, kernel->part);
}

bool instrument_save(const struct instrument_module *module, struct base_buf *out)
{
    size_t start = out->length;
    base_buf_add(out, SAVE_MAGIC, SAVE_MAGIC_BYTES);
    put_u32(out, SAVE_VERSION);
    put_name(out, GLINT_VERSION);
    put_text(out, module->ptx, module->ptx_bytes);
    put_u32(out, module->part_count);
    for (uint32_t i = 0; i < module->part_count; i++)
        put_text(out, module->parts[i].ptx, module->parts[i].ptx_bytes);
    put_u32(out, module->kernel_count);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        put_kernel(out, &module->kernels[i]);
    put_u32(out, module->allocator_count);
    for (uint32_t i = 0; i < module->allocator_count; i++)
        put_name(out, module->allocators[i]);
    if (!out->failed)
        put_u64(out, base_hash(out->text + start, out->length - start));
    return !out->failed;
}
