// SPDX-License-Identifier: Apache-2.0
// Modules that are loaded with rewritten PTX.
#ifndef GLINT_INJECT_PROBE_MODULE_H
#define GLINT_INJECT_PROBE_MODULE_H

#include "instrument/instrument.h"
#include "probe.h"

struct probe_images;
struct probe_loaded;
struct probe_parts;

// One text of PTX, rewritten. The same text, loaded again, is the same structure. Never freed:
// launches and graphs refer to what it says of kernels for longer than a module lives.
struct probe_text {
    uint64_t key[2];
    struct instrument_module *module;
    struct probe_text *next;
    struct probe_images *_Atomic images; // of its parts, linked; NULL: none
    struct probe_loaded *loaded;         // its parts in contexts; protected by probe_state->lock
};

// What a loaded module is made of.
struct probe_module {
    struct probe_text **texts;
    size_t text_count;
    void *image;       // made by glint; the driver may read it until the module is unloaded
    bool refused;      // the driver has refused what was rewritten: only clones in parts are there
    char reason[1000]; // why, or why no kernel of the texts has probes
};

enum { PROBE_MOST_OPTIONS = 32 };

// The loading of an image.
struct probe_load {
    struct probe_module *module; // NULL: no probes are asked for, or out of memory
    const void *replacement;     // to be loaded; NULL: the program's own image
    struct probe_parts *parts;   // that are loaded with it; NULL: none
    const struct core_context *context;
    // The values of the compiler's options, which a driver that refuses the image has changed.
    void **values, *saved[PROBE_MOST_OPTIONS];
    unsigned count;
};

// Before the driver loads what is at `image`, or in the file. library: for all devices.
void probe_load_begin(struct probe_load *load, const struct core_call *call, const void *image,
                      const char *path, bool library);
void probe_load_options(struct probe_load *load, void **values, unsigned count);
// The driver has refused the replacement.
void probe_load_refused(struct probe_load *load, CUresult result);
// The module is loaded, from either image; module 0: it could not be.
void probe_load_end(struct probe_load *load, uint32_t module);
void probe_module_end(uint32_t module);
// Whether the kernel is one that glint has put into the module.
bool probe_module_hides(uint32_t module, const char *kernel);

// Rewrites a text for a GPU of this compute capability (90 for 9.0) or more, with clones in so many
// parts. NULL: it cannot have probes, for the reason.
struct probe_text *probe_rewrite(const char *text, size_t length, unsigned gpu, unsigned parts,
                                 char *reason, size_t reason_bytes);
bool probe_text_has_clones(const struct probe_text *text); // in the text itself
bool probe_module_add(struct probe_module *module, struct probe_text *text);

// A copy that free() frees; strdup would take it from libc's malloc.
char *probe_copy_text(const char *text);

#endif
