// SPDX-License-Identifier: Apache-2.0
// Modules that are loaded with rewritten PTX.
#ifndef GLINT_INJECT_PROBE_MODULE_H
#define GLINT_INJECT_PROBE_MODULE_H

#include "instrument/instrument.h"
#include "probe.h"

struct probe_images;
struct probe_loaded;
struct probe_parts;

// One text of PTX, rewritten. If the same text is loaded again, it has the same structure. Texts
// are never freed, because launches and graphs refer to their kernels for longer than a module
// lives.
struct probe_text {
    uint64_t key[2];
    struct instrument_module *module;
    struct probe_text *next;
    struct probe_images *_Atomic images; // its linked parts; NULL: none
    struct probe_loaded *loaded;         // its parts in contexts; protected by probe_state->lock
};

// What a loaded module is made of.
struct probe_module {
    struct probe_text **texts;
    size_t text_count;
    void *image;       // made by glint; the driver may read it until the module is unloaded
    bool is_original;  // the program's image is loaded: only clones in parts exist
    bool is_compiled;  // and it is machine code, of which the texts are copies
    char reason[1000]; // why other kernels have no probes
};

enum { PROBE_MOST_OPTIONS = 32 };

// The loading of an image.
struct probe_load {
    struct probe_module *module; // NULL: no probes are asked for, or out of memory
    const void *replacement;     // what is loaded; NULL: the program's image
    struct probe_parts *parts;   // parts that are loaded with it; NULL: none
    const struct core_context *context;
    // The values of the compiler's options, which the driver changes even if it refuses the image.
    void **values, *saved[PROBE_MOST_OPTIONS];
    unsigned count;
};

// Called before the driver loads what is at `image`, or in the file. library: for all devices.
void probe_load_begin(struct probe_load *load, const struct core_call *call, const void *image,
                      const char *path, bool library);
void probe_load_options(struct probe_load *load, void **values, unsigned count);
// Says that the driver refused the replacement.
void probe_load_refused(struct probe_load *load, CUresult result);
// Says that the module is loaded, from either image; module 0: loading failed.
void probe_load_end(struct probe_load *load, uint32_t module);
void probe_module_end(uint32_t module);
// Returns whether glint has added the kernel to the module.
bool probe_module_hides(uint32_t module, const char *kernel);

// Rewrites a text for a GPU of at least this compute capability (90 for 9.0), with clones in so
// many parts. Returns NULL, with the reason, if the text cannot have probes.
struct probe_text *probe_rewrite(const char *text, size_t length, unsigned gpu, unsigned parts,
                                 char *reason, size_t reason_bytes);
bool probe_text_has_clones(const struct probe_text *text); // in the text itself, not in parts
bool probe_module_add(struct probe_module *module, struct probe_text *text);

// Returns a copy for free(). strdup would allocate it with libc's malloc.
char *probe_copy_text(const char *text);

#endif
