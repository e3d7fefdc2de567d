// SPDX-License-Identifier: Apache-2.0
// What `glint ptx` shows of a function, worked out once for both of its formats.
#ifndef GLINT_CLI_KERNEL_VIEW_H
#define GLINT_CLI_KERNEL_VIEW_H

#include "base/base.h"
#include "ptx/ptx.h"

struct cli_kernel_view {
    struct ptx_module *module;
    struct ptx_function *function;
    struct ptx_facts *facts;
    struct ptx_site *sites;
    uint32_t site_count;
    char *title;             // the demangled name, with its parameters where it has them
    char **param_types;      // by parameter, from the demangled name; NULL where that does not tell
    uint8_t *param_use;      // by parameter: bits 1 read, 2 written through it
    struct ptx_var **shared; // static and dynamic shared arrays it names
    uint32_t shared_count;
    struct base_map names; // by variable: its name for people, made at first need
    struct ptx_namer namer;
};

enum { CLI_PARAM_READ = 1, CLI_PARAM_WRITTEN = 2 };

enum base_code cli_kernel_view_init(struct cli_kernel_view *view, struct ptx_module *module,
                                    struct ptx_function *function, struct base_error *error);
void cli_kernel_view_fini(struct cli_kernel_view *view);

// A variable's name for people: of a mangled one, the last part.
const char *cli_kernel_view_name(const struct cli_kernel_view *view, const struct ptx_var *var);
// "file.cu:12" of an instruction, or its line of PTX where there is no source; inlined code adds
// where it was inlined at. Appends to out.
void cli_kernel_view_line(const struct cli_kernel_view *view, const struct ptx_instr *instr,
                          struct base_buf *out);
// Where an address comes from: "p0", "tile", "loaded at file.cu:12", "malloc()".
void cli_kernel_view_origin(const struct cli_kernel_view *view, const struct ptx_origin *origin,
                            struct base_buf *out);
// "f32", "2 x f32", "pointer".
void cli_kernel_view_type(const struct ptx_site *site, struct base_buf *out);

// The two formats. Text goes to out, sites that differ only by a constant in one row unless `all`
// is asked for; JSON as one object into an open array.
void cli_kernel_view_text(const struct cli_kernel_view *view, bool all, struct base_buf *out);
void cli_kernel_view_json(const struct cli_kernel_view *view, struct base_json *json);

#endif
