// SPDX-License-Identifier: Apache-2.0
// Fails launches, and describes the place of a fault: kernel, function, source line, block and
// thread.
#include "fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Long names and paths are shortened, so that the text after them stays readable.
enum { NAME_SHOWN = 160, PATH_SHOWN = 120 };

// Returns how much of a function's name is shown: without what glint adds to the names of clones.
static int shown_bytes(const char *name)
{
    const char *added = strstr(name, "$glint");
    const size_t bytes = added ? (size_t)(added - name) : strlen(name);
    return bytes > NAME_SHOWN ? NAME_SHOWN : (int)bytes;
}

static void describe_place(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                           char *out, size_t out_bytes)
{
    const struct sim_block *block = warp->block;
    const struct sim_code *code = warp->path->frame->code;
    const char *name = block->launch->code->name;
    const struct ptx_loc *loc = op->instr ? op->instr->loc : NULL;
    const char *file = loc ? ptx_file_path(code->module, loc->file) : NULL;
    char function[NAME_SHOWN + 16] = "", line[PATH_SHOWN + 32] = "";
    if (code != block->launch->code)
        snprintf(function, sizeof(function), " in %.*s", shown_bytes(code->name), code->name);
    if (file) {
        size_t length = strlen(file);
        const char *end = length > PATH_SHOWN ? file + length - PATH_SHOWN : file;
        snprintf(line, sizeof(line), ", %s%s:%u", length > PATH_SHOWN ? "..." : "", end, loc->line);
    } else if (op->instr && strstr(code->name, "$glint")) {
        // Lines of a clone are not those of the program's PTX.
        snprintf(line, sizeof(line), ", %s (-lineinfo gives lines)", op->instr->form->text);
    } else if (op->instr) {
        snprintf(line, sizeof(line), ", PTX line %u", op->instr->stmt.line);
    }
    snprintf(out, out_bytes, "kernel %.*s%s%s%s, block (%u,%u,%u), thread (%u,%u,%u)",
             shown_bytes(name), name, strlen(name) > NAME_SHOWN ? "..." : "", function, line,
             block->index[0], block->index[1], block->index[2], warp->tid[0][lane],
             warp->tid[1][lane], warp->tid[2][lane]);
}

enum sim_step sim_warp_fault(struct sim_warp *warp, const struct sim_uop *op,
                             enum sim_fault_kind kind, int lane, const char *format, ...)
{
    struct sim_run *launch = warp->block->launch->root;
    char what[480], where[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    describe_place(warp, op, lane, where, sizeof(where));
    gpusim_lock(&launch->lock, GPUSIM_RANK_RUN);
    if (launch->fault.kind == SIM_FAULT_NONE) {
        launch->fault.kind = kind;
        snprintf(launch->fault.text, sizeof(launch->fault.text), "%s: %s", where, what);
    }
    gpusim_unlock(&launch->lock, GPUSIM_RANK_RUN);
    atomic_store(&launch->stop, true);
    return STEP_STOP;
}

void sim_warp_warn(struct sim_warp *warp, const struct sim_uop *op, int lane, const char *format,
                   ...)
{
    // The op may be a copy with other operands, so its place marks what was reported.
    const struct sim_uop *own = &warp->path->frame->code->ops[warp->path->pc];
    if (__atomic_exchange_n(&((struct sim_uop *)(uintptr_t)own)->warned, true, __ATOMIC_RELAXED))
        return;
    char what[480], where[600], text[1088];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    describe_place(warp, op, lane, where, sizeof(where));
    snprintf(text, sizeof(text), "%s: %s", where, what);
    warp->block->launch->device->warn(text);
}
