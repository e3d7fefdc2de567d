// SPDX-License-Identifier: Apache-2.0
// Writes a PTX file with probes: rewrite objects|elements|counts[+values[+accessed]][+requests]
// [+shared][+cache] FILE [TABLE].
// With TABLE, the description of its kernels is written there. Used by tests that pass the result
// to ptxas, and for inspection.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/instrument.h"

static void print_table(FILE *out, const struct instrument_module *module, bool values)
{
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        const struct instrument_kernel *kernel = &module->kernels[i];
        fprintf(out, "kernel %s clone=%s reason=%s context=%u+%u flags=%u tallies=%u table=%d\n",
                kernel->name, kernel->clone ? kernel->clone : "-",
                kernel->reason ? kernel->reason : "-", kernel->context_offset,
                kernel->context_bytes, kernel->flag_count, kernel->tally_count,
                kernel->needs_table);
        for (uint32_t k = 0; k < kernel->root_count; k++) {
            const struct instrument_root *root = &kernel->roots[k];
            if (root->kind == INSTRUMENT_ROOT_PARAM)
                fprintf(out, "  root %u parameter %u element=%u\n", k, root->offset,
                        root->element_bytes);
            else
                fprintf(out, "  root %u variable %s element=%u\n", k, root->variable,
                        root->element_bytes);
        }
        for (uint32_t k = 0; k < kernel->accessed_count; k++) {
            const struct instrument_accessed *accessed = &kernel->accessed[k];
            const struct instrument_layout *layout = &kernel->roots[accessed->root].layout;
            fprintf(out, "  accessed root=%u field=%u type=%u offset=%u stride=%u %s\n",
                    accessed->root, accessed->field, layout->fields[accessed->field].type,
                    layout->fields[accessed->field].offset, layout->stride,
                    accessed->written ? "written" : "read");
        }
        for (uint32_t k = 0; k < kernel->use_count; k++) {
            const struct instrument_use *use = &kernel->uses[k];
            fprintf(out, "  use root=%u flag=%d counted=%u%s%s\n", use->root, (int)use->flag,
                    use->counted, use->read ? " read" : "", use->written ? " written" : "");
        }
        for (uint32_t k = 0; k < kernel->site_count; k++) {
            const struct instrument_site *site = &kernel->sites[k];
            fprintf(out, "  site %u line=%u %s %s %ux%s access=%u bytes=%u root=%d tally=%d ",
                    site->index, site->ptx_line, site->function, site->opcode, site->type_count,
                    site->type, site->access, site->bytes, (int)site->root, (int)site->tally);
            if (values)
                fprintf(out, "silent=%d observed=%d ", (int)site->silent, site->observed);
            fprintf(out, "%s:%u\n", site->file ? site->file : "-", site->line);
        }
    }
}

int main(int argc, char **argv)
{
    struct base_error error = {0};
    char *text = NULL;
    size_t length = 0;
    struct instrument_module *module;
    char message[512];
    if (argc < 3)
        return 2;
    struct instrument_request request = {.facts = INSTRUMENT_OBJECTS,
                                         .word_ways =
                                             INSTRUMENT_WORDS_BEST | INSTRUMENT_WORDS_RANGES,
                                         .maps = true};
    if (strncmp(argv[1], "objects", 7) != 0)
        request.facts = INSTRUMENT_ELEMENTS;
    if (strncmp(argv[1], "counts", 6) == 0)
        request.facts |= INSTRUMENT_COUNTS;
    if (strstr(argv[1], "+values"))
        request.facts |= INSTRUMENT_VALUES;
    if (strstr(argv[1], "+accessed"))
        request.facts |= INSTRUMENT_ACCESSED;
    if (strstr(argv[1], "+cache"))
        request.facts |= INSTRUMENT_CACHE;
    if (strstr(argv[1], "+requests"))
        request.facts |= INSTRUMENT_REQUESTS;
    if (strstr(argv[1], "+shared"))
        request.facts |= INSTRUMENT_SHARED;
    if (base_file_read(argv[2], &text, &length, &error) != BASE_OK ||
        instrument_ptx(text, length, &request, &module, &error) != BASE_OK) {
        base_error_text(&error, message, sizeof(message));
        fprintf(stderr, "rewrite: %s\n", message);
        free(text);
        return 1;
    }
    fputs(module->ptx, stdout);
    FILE *table = argc > 3 ? fopen(argv[3], "w") : NULL;
    if (table) {
        print_table(table, module, request.facts & INSTRUMENT_VALUES);
        fclose(table);
    }
    instrument_destroy(module);
    free(text);
    return 0;
}
