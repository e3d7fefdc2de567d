// SPDX-License-Identifier: Apache-2.0
// Queries of affine forms, and their text.
#include "forms.h"

bool ptx_form_invariant(const struct ptx_affine *affine, const struct ptx_linear *form,
                        uint32_t loop)
{
    const struct ptx_ssa *ssa = affine->ssa;
    for (uint16_t i = 0; i < form->term_count; i++) {
        for (uint8_t k = 0; k < form->terms[i].symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[form->terms[i].symbols[k]];
            if (symbol->kind == PTX_SYMBOL_COUNTER &&
                (symbol->index == loop ||
                 ptx_loop_contains(ssa->cfg, loop, ssa->cfg->loops[symbol->index].header)))
                return false;
            if (symbol->kind == PTX_SYMBOL_VALUE &&
                (symbol->index == PTX_NO_VALUE ||
                 ptx_loop_contains(ssa->cfg, loop, ssa->values[symbol->index].block)))
                return false;
        }
    }
    return true;
}

int64_t ptx_form_coefficient(const struct ptx_affine *affine, const struct ptx_linear *form,
                             enum ptx_symbol_kind kind, unsigned component_or_index, bool *only)
{
    int64_t coefficient = 0;
    bool alone = true;
    for (uint16_t i = 0; i < form->term_count; i++) {
        const struct ptx_term *term = &form->terms[i];
        for (uint8_t k = 0; k < term->symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[term->symbols[k]];
            unsigned which = kind < PTX_SYMBOL_LANEID ? symbol->component : symbol->index;
            if (symbol->kind != (uint8_t)kind || which != component_or_index)
                continue;
            if (term->symbol_count == 1)
                coefficient = term->coefficient;
            else
                alone = false;
        }
    }
    if (only)
        *only = alone;
    return coefficient;
}

bool ptx_form_mentions(const struct ptx_affine *affine, const struct ptx_linear *form,
                       enum ptx_symbol_kind kind)
{
    for (uint16_t i = 0; i < form->term_count; i++) {
        for (uint8_t k = 0; k < form->terms[i].symbol_count; k++) {
            if (affine->symbols[form->terms[i].symbols[k]].kind == (uint8_t)kind)
                return true;
        }
    }
    return false;
}

static void print_symbol(const struct ptx_affine *affine, const struct ptx_symbol *symbol,
                         const struct ptx_namer *namer, struct base_buf *out)
{
    static const char component[] = "xyz";
    const struct ptx_function *function = affine->ssa->cfg->function;
    switch ((enum ptx_symbol_kind)symbol->kind) {
    case PTX_SYMBOL_TID: base_buf_printf(out, "tid.%c", component[symbol->component]); break;
    case PTX_SYMBOL_NTID: base_buf_printf(out, "ntid.%c", component[symbol->component]); break;
    case PTX_SYMBOL_CTAID: base_buf_printf(out, "ctaid.%c", component[symbol->component]); break;
    case PTX_SYMBOL_NCTAID: base_buf_printf(out, "nctaid.%c", component[symbol->component]); break;
    case PTX_SYMBOL_LANEID: base_buf_puts(out, "laneid"); break;
    case PTX_SYMBOL_PARAM:
        base_buf_printf(out, "p%u", symbol->index);
        if (symbol->offset || function->params[symbol->index]->dim_count)
            base_buf_printf(out, "[%u]", symbol->offset);
        break;
    case PTX_SYMBOL_VAR:
        base_buf_puts(out, namer ? namer->var(namer->user, symbol->var) : symbol->var->name);
        break;
    case PTX_SYMBOL_COUNTER: base_buf_printf(out, "i%u", symbol->index); break;
    case PTX_SYMBOL_VALUE:
        base_buf_puts(out, symbol->index == PTX_NO_VALUE
                               ? "?"
                               : affine->ssa->values[symbol->index].reg->name);
        break;
    }
}

void ptx_form_print(const struct ptx_affine *affine, const struct ptx_linear *form,
                    const struct ptx_namer *namer, struct base_buf *out)
{
    bool first = true;
    for (uint16_t i = 0; i < form->term_count; i++) {
        const struct ptx_term *term = &form->terms[i];
        bool negative = term->coefficient < 0;
        uint64_t size = negative ? 0 - (uint64_t)term->coefficient : (uint64_t)term->coefficient;
        base_buf_puts(out, first ? (negative ? "-" : "") : (negative ? " - " : " + "));
        first = false;
        if (size != 1) {
            base_buf_u64(out, size);
            base_buf_putc(out, '*');
        }
        for (uint8_t k = 0; k < term->symbol_count; k++) {
            if (k)
                base_buf_putc(out, '*');
            print_symbol(affine, &affine->symbols[term->symbols[k]], namer, out);
        }
    }
    if (first) {
        base_buf_i64(out, form->constant);
    } else if (form->constant) {
        base_buf_puts(out, form->constant < 0 ? " - " : " + ");
        base_buf_u64(out,
                     form->constant < 0 ? 0 - (uint64_t)form->constant : (uint64_t)form->constant);
    }
}
