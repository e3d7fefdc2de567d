// SPDX-License-Identifier: Apache-2.0
// What `glint ptx` shows of a function, computed once for both formats.
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
    struct ptx_layout *layouts; // of the roots
    uint32_t layout_count;
    struct ptx_arrays arrays;     // of shared memory, by site
    struct ptx_staging *stagings; // by site
    char *title;                  // the demangled name, with parameters if it has them
    char **param_types;           // by parameter, from the demangled name; NULL if unknown
    uint8_t *param_use;           // by parameter: bits 1 read, 2 written through it
    struct ptx_var **shared;      // static and dynamic shared arrays that the function names
    uint32_t shared_count;
    struct ptx_block_size block; // of threads, as a request or the kernel says; else unknown
    struct base_map names;       // by variable: its short name, made when first needed
    struct ptx_namer namer;
};

enum { CLI_PARAM_READ = 1, CLI_PARAM_WRITTEN = 2 };

// `block`: the size of blocks if it is not that which the kernel states; its x is 0 if nothing is
// known about it.
enum base_code cli_kernel_view_init(struct cli_kernel_view *view, struct ptx_module *module,
                                    struct ptx_function *function,
                                    const struct ptx_block_size *block, struct base_error *error);
void cli_kernel_view_fini(struct cli_kernel_view *view);

// Returns the short name of a variable: the last component of a mangled name. The view owns it.
const char *cli_kernel_view_name(const struct cli_kernel_view *view, const struct ptx_var *var);
// Returns the index of a site, which may be a copy of one of the view's.
uint32_t cli_kernel_view_index(const struct cli_kernel_view *view, const struct ptx_site *site);
// Appends the source line of an instruction, such as "file.cu:12", or its PTX line if there is no
// source. Inlined code also has the line where it was inlined.
void cli_kernel_view_line(const struct cli_kernel_view *view, const struct ptx_instr *instr,
                          struct base_buf *out);
// Appends a root: "p0", "p1[8]", "tile", "loaded at file.cu:12".
void cli_kernel_view_root(const struct cli_kernel_view *view, const struct ptx_root *root,
                          struct base_buf *out);
// Appends where an address comes from: "p0", "tile", "loaded at file.cu:12", "malloc()".
void cli_kernel_view_origin(const struct cli_kernel_view *view, const struct ptx_origin *origin,
                            struct base_buf *out);
// Returns the size of blocks that an attribute of the function states: ".reqntid" or ".maxntid".
// Its x is 0 if there is none.
struct ptx_block_size cli_kernel_view_size(const struct ptx_function *function, const char *attr);
// Returns whether it is known what a warp's request of the site takes.
bool cli_kernel_view_costs(const struct cli_kernel_view *view, const struct ptx_site *site,
                           struct ptx_site_costs *costs);
// Appends the type of an access: "f32", "2 x f32", "pointer".
void cli_kernel_view_type(const struct ptx_site *site, struct base_buf *out);

// The two formats. The text has one row for sites that differ only by a constant, unless `all` is
// set. The JSON is one object in an open array.
void cli_kernel_view_text(const struct cli_kernel_view *view, bool all, struct base_buf *out);
void cli_kernel_view_json(const struct cli_kernel_view *view, struct base_json *json);

#endif
