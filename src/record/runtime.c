// SPDX-License-Identifier: Apache-2.0
// Recognizes frames of the CUDA runtime by image, by function name and by header.
//
// All internal functions of libcudart_static.a, also local ones, have generated names
// (src/gpusim/redirect/elf.c describes them), so every frame of a path through it is recognized.
// Only names count, since the runtime has no debug information. The prefix "cuda" is not enough:
// programs define cudaCheck and cudaMallocHelper. Hence the list.
#include "runtime.h"

#include <string.h>

#include "profile/profile.h"

enum role {
    PROGRAM,
    NAMELESS, // of the runtime if a function of the runtime called it
    INTERNAL, // of the runtime, the driver or glint
    MADE_UP,  // internal: a generated name of the static runtime
    MAYBE,    // the name of an API function: it is one if it calls a MADE_UP function
    INTERFACE
};

// --- Images --------------------------------------------------------------------------------------

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *const standins[] = {"cublas", "cufft", "curand", "cusparse"};

static bool is_standin(const char *name)
{
    for (size_t i = 0; i < sizeof(standins) / sizeof(standins[0]); i++) {
        if (begins(name, "lib") && begins(name + 3, standins[i]))
            return true;
    }
    return false;
}

enum record_runtime_image record_runtime_image(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    // Python wheels contain libcudart-d0da41ae.so.11.0.
    if (begins(name, "libcudart.so") || (begins(name, "libcudart-") && strstr(name, ".so")))
        return RECORD_RUNTIME_LIBRARY;
    if (is_standin(name) && strstr(path, "/glint/sim/"))
        return RECORD_RUNTIME_STANDIN;
    return begins(name, "libcuda.so") || begins(name, "libglint") ? RECORD_RUNTIME_BELOW
                                                                  : RECORD_RUNTIME_PROGRAM;
}

// --- Names ---------------------------------------------------------------------------------------

static bool is_made_up(const char *name)
{
    static const char prefix[] = "libcudart_static_", old[] = "__cudart";
    enum { DIGITS = 40 };
    if (begins(name, old))
        return name[strlen(old)] >= '0' && name[strlen(old)] <= '9';
    if (!begins(name, prefix))
        return false;
    const size_t digits = strspn(name + strlen(prefix), "0123456789abcdef");
    const char end = name[strlen(prefix) + digits];
    return digits == DIGITS && (end == '\0' || end == '.'); // ".part.0" of a compiler's
}

static bool has_shape(const char *name)
{
    return begins(name, "cuda") && name[4] >= 'A' && name[4] <= 'Z';
}

// Returns whether the name is that of a function which a stand-in exports: cublasSgemm.
static bool is_of_standin(const char *name)
{
    for (size_t i = 0; i < sizeof(standins) / sizeof(standins[0]); i++) {
        const size_t length = strlen(standins[i]);
        if (begins(name, standins[i]) && name[length] >= 'A' && name[length] <= 'Z')
            return true;
    }
    return false;
}

// Adds the name of the function in the global scope: "cudaMalloc" for "cudaMalloc_ptds",
// "cudaMalloc.part.0" and "cudaError cudaMalloc<float>(float**, unsigned long)". Adds nothing for
// methods, functions in a namespace, and templates whose return type is not that of CUDA's headers.
static void take_plain(const char *function, struct base_buf *plain)
{
    const size_t length = strcspn(function, "(<");
    const char *start = function;
    plain->length = 0;
    if (function[length] == '<') {
        static const char returned[] = "cudaError ";
        if (!begins(function, returned))
            return;
        start += strlen(returned);
    }
    const size_t end = strcspn(start, "(<.@ :");
    if (start[end] == ':' || start[end] == ' ')
        return;
    base_buf_add(plain, start, end);
    if (plain->length) {
        plain->length = profile_plain_length(plain->text);
        plain->text[plain->length] = '\0';
    }
}

static bool is_interface(const char *name)
{
    static const char *const names[] = {
#include "runtime_names.def"
    };
    const size_t count = sizeof(names) / sizeof(names[0]);
    const size_t at = base_search(0, count, i, strcmp(names[i], name) < 0);
    return at < count && strcmp(names[at], name) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// Returns true if the file is a header of wrappers: CUDA's cudaMalloc<T>, or the functions of
// glint.h.
static bool is_header(const char *file)
{
    return ends_with(file, "/cuda_runtime.h") || ends_with(file, "/cuda_runtime_api.h") ||
           ends_with(file, "/crt/device_functions.h") || ends_with(file, "/host_runtime.h") ||
           ends_with(file, "/glint/glint.h") || strstr(file, "/nvtx3/");
}

// --- Frames --------------------------------------------------------------------------------------

// `plain` is the function's name by take_plain, without the "__" of reserved names.
static enum role role_of(const struct record_symbols_frame *frame, enum record_runtime_image image,
                         struct base_buf *plain)
{
    const char *function = frame->function;
    plain->length = 0;
    if (image == RECORD_RUNTIME_BELOW)
        return INTERNAL;
    if (function)
        take_plain(function, plain);
    if (image == RECORD_RUNTIME_STANDIN)
        return plain->length && is_of_standin(plain->text) ? INTERFACE : INTERNAL;
    const bool reserved = plain->length && begins(plain->text, "__") && has_shape(plain->text + 2);
    if (reserved) {
        memmove(plain->text, plain->text + 2, plain->length - 1);
        plain->length -= 2;
    }
    const bool listed = plain->length && is_interface(plain->text);
    if (image == RECORD_RUNTIME_LIBRARY)
        return listed || (plain->length && !reserved && has_shape(plain->text)) ? INTERFACE
                                                                                : INTERNAL;
    if (reserved || (frame->file && is_header(frame->file)))
        return listed ? INTERFACE : INTERNAL;
    if (frame->file)
        return PROGRAM;
    if (!function || begins(function, "cudart::"))
        return NAMELESS;
    if (is_made_up(function))
        return MADE_UP;
    if (listed)
        return INTERFACE;
    return plain->length && has_shape(plain->text) && !strpbrk(function, "(<") ? MAYBE : PROGRAM;
}

size_t record_runtime_fold(const struct record_symbols_frame *frames,
                           const enum record_runtime_image *images, size_t count,
                           struct base_buf *called)
{
    struct base_buf plain = {0};
    enum role before = PROGRAM;
    size_t folded = 0;
    called->length = 0;
    for (size_t i = 0; i < count; i++) {
        enum role role = role_of(&frames[i], images[i], &plain);
        if (role == MAYBE)
            role = before == MADE_UP ? INTERFACE : PROGRAM;
        if (role == PROGRAM)
            break;
        before = role;
        if (role == NAMELESS)
            continue;
        folded = i + 1;
        if (role == INTERFACE) {
            called->length = 0;
            base_buf_add(called, plain.text, plain.length);
        }
    }
    called->failed |= plain.failed;
    base_buf_fini(&plain);
    return folded;
}
