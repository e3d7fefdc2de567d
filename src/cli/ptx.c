// SPDX-License-Identifier: Apache-2.0
// glint ptx: shows what is known about the kernels in a PTX file, fatbin or executable without
// running them.
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "fatbin/fatbin.h"
#include "kernel_view.h"
#include "output.h"
#include "record/record.h"

enum ptx_format { FORMAT_UNSET, FORMAT_TEXT, FORMAT_JSON, FORMAT_PTX };

struct cli_ptx_request {
    enum ptx_format format;
    const char *output;
    const char *arch;
    struct ptx_block_size block;
    regex_t kernels;
    bool has_kernels;
    bool all, force;
};

static const struct cli_option options[] = {
    CLI_FORMAT_OPTION("text (default), json, or ptx: the module as glint reads it; or by FILE",
                      "text json ptx"),
    {'k', "kernels", "REGEX", "show only kernels whose name, mangled or demangled, matches"},
    {0, "arch", "NUMBER", "read only PTX for that architecture, such as 90"},
    {0, "block", "SIZE",
     "threads of a block: 256, 16x16 or 8x8x4; default: what a kernel requires"},
    {'v', "verbose", NULL, "show a row for each site, even if sites differ only by a constant"},
    CLI_OUTPUT_OPTIONS,
    {0, NULL, NULL, NULL},
};

// Reads "256", "16x16" or "8x8x4".
static bool read_block(const char *text, struct ptx_block_size *block)
{
    enum { MOST_THREADS = 1024 };
    uint32_t *const parts[] = {&block->x, &block->y, &block->z};
    uint64_t threads = 1;
    *block = (struct ptx_block_size){1, 1, 1};
    for (unsigned i = 0; i < 3; i++) {
        char *end;
        const unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (!number || number > MOST_THREADS || (*end && *end != 'x'))
            break;
        *parts[i] = (uint32_t)number;
        threads *= number;
        if (!*end && threads <= MOST_THREADS)
            return true;
        text = end + 1;
    }
    cli_message("--block takes at most 1024 threads as X, XxY or XxYxZ");
    return false;
}

static enum ptx_format format_of(const char *word)
{
    return strcmp(word, "json") == 0  ? FORMAT_JSON
           : strcmp(word, "ptx") == 0 ? FORMAT_PTX
                                      : FORMAT_TEXT;
}

static bool take_option(void *user, const struct cli_option *option, const char *argument)
{
    struct cli_ptx_request *request = user;
    if (strcmp(option->name, "block") == 0)
        return read_block(argument, &request->block);
    switch (option->letter) {
    case 'F': request->format = format_of(argument); return true;
    case 'f': request->force = true; return true;
    case 'k':
        if (request->has_kernels)
            regfree(&request->kernels);
        request->has_kernels = false;
        if (regcomp(&request->kernels, argument, REG_EXTENDED | REG_NOSUB) != 0) {
            cli_message("--kernels takes a regular expression, not '%s'", argument);
            return false;
        }
        request->has_kernels = true;
        return true;
    case 'v': request->all = true; return true;
    case 'o': request->output = argument; return true;
    default: request->arch = argument; return true;
    }
}

// Collects the output of all modules.
struct cli_ptx_output {
    struct base_buf text;
    struct base_json kernels; // two JSON documents in the making: kernels, and device functions
    struct base_buf kernels_text;
    struct base_json functions;
    struct base_buf functions_text;
    unsigned shown;
};

static bool is_wanted(const struct cli_ptx_request *request, const char *name, const char *title)
{
    return !request->has_kernels || regexec(&request->kernels, name, 0, NULL, 0) == 0 ||
           regexec(&request->kernels, title, 0, NULL, 0) == 0;
}

static enum base_code show_function(const struct cli_ptx_request *request,
                                    struct ptx_module *module, struct ptx_function *function,
                                    struct cli_ptx_output *output, struct base_error *error)
{
    char *title = record_demangle(function->name);
    bool wanted = title && is_wanted(request, function->name, title);
    free(title);
    if (!wanted)
        return BASE_OK;
    struct cli_kernel_view view;
    enum base_code code = cli_kernel_view_init(&view, module, function, &request->block, error);
    if (code != BASE_OK)
        return code;
    if (request->format == FORMAT_TEXT)
        cli_kernel_view_text(&view, request->all, &output->text);
    else
        cli_kernel_view_json(&view, function->is_entry ? &output->kernels : &output->functions);
    output->shown++;
    cli_kernel_view_fini(&view);
    return BASE_OK;
}

static void print_heading(const struct ptx_module *module, const struct fatbin_entry *entry,
                          struct base_buf *out)
{
    unsigned kernels = 0;
    for (const struct ptx_item *item = module->first; item; item = item->next)
        kernels +=
            item->kind == PTX_ITEM_FUNCTION && item->function->is_entry && item->function->has_body;
    base_buf_printf(out, "%s", module->name);
    if (entry->source_name.length)
        base_buf_printf(out, ", from %.*s", BASE_STR_ARG(entry->source_name));
    base_buf_printf(out, ": PTX %u.%u for %s, %u kernel%s\n\n", module->version_major,
                    module->version_minor, module->target, kernels, kernels == 1 ? "" : "s");
}

static enum base_code show_module(const struct cli_ptx_request *request,
                                  const struct fatbin_entry *entry, const char *name,
                                  struct cli_ptx_output *output, struct base_error *error)
{
    char *text;
    size_t length;
    enum base_code code = fatbin_entry_text(entry, &text, &length, error);
    if (code != BASE_OK)
        return code;
    struct ptx_module *module;
    code = ptx_parse(text, length, name, &module, error);
    if (code == BASE_OK) {
        if (request->format == FORMAT_PTX) {
            ptx_print(module, &output->text);
            output->shown++;
        }
        if (request->format == FORMAT_TEXT)
            print_heading(module, entry, &output->text);
        for (struct ptx_item *item = module->first; item && code == BASE_OK; item = item->next) {
            if (request->format != FORMAT_PTX && item->kind == PTX_ITEM_FUNCTION &&
                item->function->has_body)
                code = show_function(request, module, item->function, output, error);
        }
        ptx_module_destroy(module);
    }
    free(text);
    return code;
}

static bool arch_is(const struct fatbin_entry *entry, const char *wanted)
{
    char text[32];
    snprintf(text, sizeof(text), "%u%.1s", entry->arch, &entry->arch_suffix);
    if (!entry->arch_suffix)
        snprintf(text, sizeof(text), "%u", entry->arch);
    return !wanted || strcmp(text, wanted) == 0 ||
           (strncmp(wanted, "sm_", 3) == 0 && strcmp(text, wanted + 3) == 0);
}

static enum base_code show_image(const struct cli_ptx_request *request,
                                 const struct fatbin_image *image, struct cli_ptx_output *output,
                                 struct base_error *error)
{
    enum base_code code = fatbin_require_ptx(image, error);
    size_t modules = 0, seen = 0;
    for (size_t i = 0; i < image->entries.count; i++)
        modules += image->entries.items[i].kind == FATBIN_PTX;
    for (size_t i = 0; i < image->entries.count && code == BASE_OK; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->kind != FATBIN_PTX)
            continue;
        seen++;
        if (!arch_is(entry, request->arch))
            continue;
        struct base_buf name = {0};
        base_buf_puts(&name, image->name);
        if (modules > 1)
            base_buf_printf(&name, "#%zu", seen);
        if (name.failed)
            code = base_no_memory(error);
        else
            code = show_module(request, entry, name.text, output, error);
        base_buf_fini(&name);
    }
    if (code == BASE_OK && !output->shown && (request->has_kernels || request->arch))
        code = base_fail(error, BASE_NOT_FOUND, "%s: nothing matches --kernels and --arch",
                         image->name);
    return code;
}

static void finish_json(struct cli_ptx_output *output)
{
    base_json_end_array(&output->kernels);
    base_json_end_array(&output->functions);
    bool good = base_json_finish(&output->kernels) && base_json_finish(&output->functions);
    base_buf_puts(&output->text, "{\"kernels\": ");
    base_buf_puts(&output->text, output->kernels_text.text ? output->kernels_text.text : "");
    base_buf_puts(&output->text, ",\n \"functions\": ");
    base_buf_puts(&output->text, output->functions_text.text ? output->functions_text.text : "");
    base_buf_puts(&output->text, "}\n");
    output->text.failed |= !good;
}

static int run(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_ptx_request request = {.format = FORMAT_UNSET};
    struct base_error error = {0};
    struct fatbin_image *image = NULL;
    struct cli_ptx_output output = {0};
    int status = CLI_FAILURE;
    int first = cli_options(verb, argc, argv, take_option, &request);
    if (first == -2) {
        status = 0;
        goto done;
    }
    if (first >= 0 && argc - first != 1) {
        cli_message(argc == first ? "no file given; try 'glint ptx --help'"
                                  : "only one file can be given");
        first = -1;
    }
    if (first < 0)
        goto done;
    if (request.format == FORMAT_UNSET)
        request.format = format_of(cli_output_extension(request.output).text);
    if (request.format == FORMAT_JSON) {
        base_json_init_buf(&output.kernels, &output.kernels_text, 1);
        base_json_init_buf(&output.functions, &output.functions_text, 1);
        base_json_begin_array(&output.kernels);
        base_json_begin_array(&output.functions);
    }
    if (fatbin_open_file(argv[first], &image, &error) != BASE_OK ||
        show_image(&request, image, &output, &error) != BASE_OK) {
        cli_error(&error);
        goto done;
    }
    if (request.format == FORMAT_JSON)
        finish_json(&output);
    if (output.text.failed)
        cli_no_memory();
    else if (cli_write(request.output, request.force, &output.text))
        status = 0;
done:
    fatbin_close(image);
    base_buf_fini(&output.text);
    base_buf_fini(&output.kernels_text);
    base_buf_fini(&output.functions_text);
    if (request.has_kernels)
        regfree(&request.kernels);
    return status;
}

const struct cli_verb cli_ptx = {
    .name = "ptx",
    .arguments = "FILE",
    .summary = "show what is known about the kernels in FILE without running them",
    .details =
        "FILE is PTX text, a fatbin, a cubin that contains PTX, or an ELF executable, library,\n"
        "object or archive that contains fatbins.\n\n"
        "For each kernel: its parameters and whether it reads or writes through them, what the\n"
        "memory behind them consists of, shared arrays, loops and how often they run, and a row\n"
        "for each memory site:\n"
        "  space    a * marks a generic address whose space was inferred\n"
        "  from     where the address comes from: p0 is the first parameter\n"
        "  class    uniform: one address for all threads of a block; affine in thread and\n"
        "           block indices; computed from them in another way; indirect: depends on the\n"
        "           contents of memory\n"
        "  loop     the number of loops around it; = if its address does not change in the\n"
        "           innermost one\n"
        "  a warp   takes so many sectors of 32 bytes of global memory, or wavefronts of shared\n"
        "           memory; the range is that of all alignments; 'for': how many would do if the\n"
        "           lanes moved as many bytes from one place; 'apart': how many words lie between\n"
        "           those that one bank has to deliver; lanes are neighbours in x unless --block\n"
        "           or the kernel says otherwise\n"
        "  address  as a sum; i0, i1, ... count the iterations of the loops\n",
    .options = options,
    .run = run,
};
