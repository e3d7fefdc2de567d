// SPDX-License-Identifier: Apache-2.0
// Values: takes the layouts of roots from src/ptx, which determines them.
#include "layouts.h"

static enum instrument_type type_of(enum ptx_type type)
{
    switch (type) {
    case PTX_U8: return INSTRUMENT_TYPE_U8;
    case PTX_S8: return INSTRUMENT_TYPE_S8;
    case PTX_U16: return INSTRUMENT_TYPE_U16;
    case PTX_S16: return INSTRUMENT_TYPE_S16;
    case PTX_U32: return INSTRUMENT_TYPE_U32;
    case PTX_S32: return INSTRUMENT_TYPE_S32;
    case PTX_U64: return INSTRUMENT_TYPE_U64;
    case PTX_S64: return INSTRUMENT_TYPE_S64;
    case PTX_F16: return INSTRUMENT_TYPE_F16;
    case PTX_BF16: return INSTRUMENT_TYPE_BF16;
    case PTX_F32: return INSTRUMENT_TYPE_F32;
    case PTX_F64: return INSTRUMENT_TYPE_F64;
    default: return INSTRUMENT_TYPE_RAW;
    }
}

static struct instrument_layout layout_of(const struct ptx_layout *from)
{
    _Static_assert((int)INSTRUMENT_LAYOUT_FIELDS == (int)PTX_LAYOUT_FIELDS, "all fields have room");
    struct instrument_layout layout = {.stride = from->stride, .field_count = from->field_count};
    for (uint32_t i = 0; i < from->field_count; i++) {
        layout.fields[i].offset = from->fields[i].offset;
        layout.fields[i].type = type_of((enum ptx_type)from->fields[i].type);
    }
    return layout;
}

void instrument_find_layouts(struct instrument_work *work, struct instrument_body *body,
                             const struct ptx_site *sites, uint32_t site_count)
{
    struct ptx_layout *layouts;
    uint32_t count;
    if (ptx_layouts_find(body->facts, sites, site_count, &layouts, &count, work->error) != BASE_OK)
        longjmp(work->escape, 1);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const struct ptx_root *root = ptx_origin_only(&probe->site->origin);
        if (probe->root == INSTRUMENT_NONE)
            continue;
        for (uint32_t k = 0; root && k < count; k++) {
            if (!ptx_same_root(&layouts[k].root, root))
                continue;
            body->kernel->roots[probe->root].layout = layout_of(&layouts[k]);
            if (work->accessed &&
                !ptx_layout_place(body->facts, &layouts[k], probe->site, &probe->place))
                probe->place = INSTRUMENT_NONE;
        }
    }
}
