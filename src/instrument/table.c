// SPDX-License-Identifier: Apache-2.0
// Makes the rows that describe sites: where each is in the PTX and in the source, and what it
// moves.
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "plan.h"

// Returns the copy of a text in the module's memory, one per distinct text; NULL for NULL.
static const char *keep(struct instrument_work *work, const char *text)
{
    if (!text)
        return NULL;
    const uint64_t *have = base_map_get_str(&work->texts, base_str(text));
    if (have)
        return (const char *)(uintptr_t)*have;
    const char *kept = base_alloc_text(work->arena, text, strlen(text));
    uint64_t *at = base_map_put_str(&work->texts, base_str(kept), NULL);
    if (!at)
        longjmp(work->escape, 1);
    *at = (uintptr_t)kept;
    return kept;
}

// Returns the name of the inlined function of a line, which its label in .debug_str holds.
static const char *inlined_name(struct instrument_work *work, const struct ptx_loc *loc)
{
    if (!loc->name_label)
        return NULL;
    uint64_t *known = base_map_put(&work->names, (uintptr_t)loc, NULL);
    if (!known)
        longjmp(work->escape, 1);
    if (!*known) {
        char *name = ptx_debug_string(work->ptx, loc->name_label, loc->name_offset);
        work->heap = name; // freed if memory runs out
        *known = (uintptr_t)keep(work, name ? name : "");
        work->heap = NULL;
        free(name);
    }
    const char *name = (const char *)(uintptr_t)*known;
    return *name ? name : NULL;
}

static void fill(struct instrument_work *work, const struct instrument_body *body,
                 const struct instrument_probe *probe, struct instrument_site *row)
{
    const struct ptx_site *site = probe->site;
    const struct ptx_loc *loc = site->instr->loc;
    const struct ptx_type_info *info = ptx_type_info((enum ptx_type)site->type.type);
    *row = (struct instrument_site){
        .index = site->instr->index,
        .ptx_line = site->instr->stmt.line,
        .function = keep(work, body->function->name),
        .opcode = keep(work, site->instr->form->text),
        .type = keep(work, site->type.type == PTX_TYPE_NONE ? "b8" : info->name),
        .type_count = site->type.count,
        .access = site->access,
        .generic = site->space == PTX_SPACE_GENERIC,
        .bytes = probe->shape == SHAPE_FIXED ? site->bytes : 0,
        .root = probe->root,
        .tally = probe->tally,
        .tally_from_one = probe->from_one,
        .silent = probe->silent,
        .still = probe->still,
        .requests = probe->requests,
        .array = probe->named ? keep(work, probe->named->name) : NULL,
        .whole = probe->whole,
        .whole_from_one = probe->whole != INSTRUMENT_NONE && body->from_one[probe->whole],
        .form = probe->form,
        .local = site->actual_space == PTX_SPACE_LOCAL,
        .masked = probe->masked,
        .excess = probe->excess,
        .span = probe->warp_span,
        .observed = probe->observed,
    };
    if (!loc)
        return;
    row->file = keep(work, ptx_file_path(work->ptx, loc->file));
    row->line = loc->line;
    row->column = loc->column;
    if (!loc->inlined)
        return;
    row->inlined_function = inlined_name(work, loc);
    row->at_file = keep(work, ptx_file_path(work->ptx, loc->at_file));
    row->at_line = loc->at_line;
    row->at_column = loc->at_column;
}

// Tells the site that begins live ranges where its row is.
static void name_range(const struct instrument_body *body, const struct instrument_probe *probe,
                       uint32_t row)
{
    if (!probe->begins)
        return;
    struct instrument_range_site *site = &body->kernel->range_sites[probe->begins - 1];
    site->listed = probe->how == HOW_NOT;
    site->site = row;
}

void instrument_list_sites(struct instrument_work *work, struct instrument_body *body)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < body->probe_count; i++)
        count += body->probes[i].how != HOW_NOT;
    body->sites = base_new_array(work->arena, struct instrument_site, count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].how == HOW_NOT)
            continue;
        name_range(body, &body->probes[i], body->site_count);
        fill(work, body, &body->probes[i], &body->sites[body->site_count++]);
    }
}

void instrument_list_shared(struct instrument_work *work, const struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    const size_t count = body->probe_count + body->described.count;
    kernel->shared = base_new_array(work->arena, struct instrument_site, count);
    for (size_t i = 0; i < count; i++) {
        const struct instrument_probe *probe =
            i < body->probe_count ? &body->probes[i]
                                  : &body->described.items[i - body->probe_count]->probe;
        if (probe->how != HOW_NOT || (probe->requests == INSTRUMENT_NONE && !probe->begins))
            continue;
        name_range(body, probe, kernel->shared_count);
        fill(work, body, probe, &kernel->shared[kernel->shared_count++]);
    }
}

// Marks the functions that the body calls, directly or indirectly.
static void mark_called(const struct instrument_work *work, const struct instrument_body *body,
                        bool *called)
{
    for (uint32_t i = 0; i < body->callee_count; i++) {
        uint32_t callee = body->callees[i];
        if (called[callee] || !work->bodies[callee].touches)
            continue;
        called[callee] = true;
        mark_called(work, &work->bodies[callee], called);
    }
}

void instrument_join_sites(struct instrument_work *work, const struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    bool *called = base_new_array(&work->scratch, bool, work->body_count);
    mark_called(work, body, called);
    kernel->unmarked = body->unmarked;
    uint32_t count = body->site_count;
    for (uint32_t i = 0; i < work->body_count; i++)
        count += called[i] ? work->bodies[i].site_count : 0;
    kernel->sites = base_new_array(work->arena, struct instrument_site, count);
    kernel->site_count = count;
    uint32_t at = body->site_count;
    if (at)
        memcpy(kernel->sites, body->sites, at * sizeof(*kernel->sites));
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *callee = &work->bodies[i];
        if (!called[i])
            continue;
        if (callee->why_not)
            instrument_add_reason(work, &kernel->reason, "in %s, which it calls: %s",
                                  callee->function->name, callee->why_not);
        if (callee->unmarked)
            instrument_add_reason(work, &kernel->unmarked, "%s, in %s", callee->unmarked,
                                  callee->function->name);
        for (uint32_t k = 0; k < callee->site_count; k++)
            kernel->sites[at++] = callee->sites[k];
    }
}
