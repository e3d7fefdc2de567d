// SPDX-License-Identifier: Apache-2.0
// Finds the place of a call in the source. The innermost frames of a launch belong to stub
// functions that the compiler generates on the host, so they are skipped.
#include <string.h>

#include "data.h"
#include "short_names.h"
#include "units.h"

static bool is_stub(const struct profile_frame *frame)
{
    static const char *const stubs[] = {"__device_stub_", "__wrapper__device_stub_"};
    for (size_t i = 0; frame->function && i < sizeof(stubs) / sizeof(stubs[0]); i++) {
        if (strncmp(frame->function, stubs[i], strlen(stubs[i])) == 0)
            return true;
    }
    return frame->file && strstr(frame->file, ".cudafe1.stub.c");
}

// For a launch, the compiler generates stubs, then a host function with the kernel's name, which is
// part of the stub's name.
uint32_t report_stub_frames(const struct report_path *path)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < path->frame_count; i++) {
        if (is_stub(&path->frames[i]))
            count = i + 1;
    }
    if (count == 0 || count >= path->frame_count || !path->frames[count].function)
        return count == path->frame_count ? 0 : count;
    const char *stub = path->frames[count - 1].function, *name = path->frames[count].function;
    if (!stub)
        return count;
    size_t end = strcspn(name, "(<"), start = end;
    while (start > 0 && name[start - 1] != ':' && name[start - 1] != ' ')
        start--;
    bool same = end > start && memmem(stub, strlen(stub), name + start, end - start);
    return same && count + 1 < path->frame_count ? count + 1 : count;
}

// Frames have the return address, which may belong to the next line. The byte before it belongs to
// the call.
static uint64_t address_of(const struct profile_frame *frame)
{
    return frame->offset - (frame->offset > 0);
}

// Names of Python have no parameters or template arguments, but parts such as "<locals>".
static void put_function(const struct profile_frame *frame, struct base_buf *out)
{
    if (frame->python)
        report_put_text(out, frame->function);
    else
        report_put_function(out, frame->function);
}

// Writes "main+0x5b", or "prog+0x11f3" if the function is unknown. addr2line takes both: the first
// as it is, of the second the address.
static void put_code(const struct report_data *data, const struct profile_frame *frame,
                     struct base_buf *out)
{
    const uint64_t address = address_of(frame);
    if (frame->function) {
        put_function(frame, out);
        if (frame->start && frame->start <= address)
            base_buf_printf(out, "+0x%llx", (unsigned long long)(address - frame->start));
        return;
    }
    const char *name = report_base_name(report_image_path(data, frame->image));
    report_put_text(out, name ? name : "?");
    base_buf_printf(out, "+0x%llx", (unsigned long long)address);
}

// Returns whether the frame is in one of PyTorch's libraries, built without lines as they come.
static bool is_torch(const struct report_data *data, const struct profile_frame *frame)
{
    const char *image = frame->file || frame->python ? NULL : report_image_path(data, frame->image);
    return image && profile_is_torch(image);
}

// Nobody looks up addresses in PyTorch's libraries, so these have names only.
static void put_torch(const struct profile_frame *frame, struct base_buf *out)
{
    const char *gradient = profile_torch_gradient(frame->function);
    report_put_function(out, gradient ? gradient : frame->function);
}

static void put_place(const struct report_data *data, const struct profile_frame *frame,
                      bool with_folders, struct base_buf *out)
{
    if (frame->function && is_torch(data, frame)) {
        put_torch(frame, out);
        return;
    }
    if (!frame->file) {
        put_code(data, frame, out);
        return;
    }
    report_put_text(out, with_folders ? frame->file : report_base_name(frame->file));
    if (frame->line)
        base_buf_printf(out, ":%u", frame->line);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool report_is_interpreter(const struct report_data *data, const struct profile_frame *frame)
{
    static const char program[] = "python";
    const char *image = report_base_name(report_image_path(data, frame->image));
    return image &&
           (begins(image, "libpython") || begins(image, "_ctypes.") || begins(image, "libffi.so") ||
            (begins(image, program) &&
             !image[strlen(program) + strspn(image + strlen(program), ".0123456789")]));
}

bool report_has_python(const struct report_path *path)
{
    bool python = false;
    for (uint32_t i = 0; i < path->frame_count; i++)
        python |= path->frames[i].python;
    return python;
}

// Returns whether the frame is outside of the program: in the C or C++ library, in Python's
// interpreter, or in code that calls main or starts a thread.
static bool is_foreign(const struct report_data *data, const struct profile_frame *frame)
{
    static const char *const images[] = {"libc.so", "libstdc++.so", "libpthread.so", "ld-linux"};
    const char *image = report_base_name(report_image_path(data, frame->image));
    if (frame->python)
        return false;
    if (report_is_interpreter(data, frame))
        return true;
    for (size_t i = 0; image && i < sizeof(images) / sizeof(images[0]); i++) {
        if (strncmp(image, images[i], strlen(images[i])) == 0)
            return true;
    }
    static const char *const starts[] = {"_start",
                                         "__libc_start_main",
                                         "__libc_start_call_main",
                                         "__libc_start_main_impl",
                                         "start_thread",
                                         "clone"};
    for (size_t i = 0; frame->function && i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strcmp(frame->function, starts[i]) == 0)
            return true;
    }
    return false;
}

// The program chooses the operations of PyTorch whose gradients are computed, in other threads than
// those with its own frames.
static bool is_user(const struct report_data *data, const struct profile_frame *frame)
{
    const char *image = frame->file || frame->python ? NULL : report_image_path(data, frame->image);
    if (image && base_vendor_library(image))
        return false;
    if (is_torch(data, frame))
        return frame->function && profile_torch_gradient(frame->function);
    return !is_foreign(data, frame) && !profile_is_library_frame(frame);
}

// --- Wrappers ------------------------------------------------------------------------------------

// A wrapper is a function of the user in which a single line leads to CUDA, and that several lines
// call: `void *my_alloc(size_t)`, or a method of a class that owns a buffer. What is wrong with one
// of its calls is to be changed where it is called, so that line is the place.
static const uint64_t several = 1; // hashes are larger

static uint64_t line_key(const struct profile_frame *frame)
{
    const uint64_t parts[] = {frame->file ? base_hash(frame->file, strlen(frame->file))
                                          : frame->image,
                              frame->file ? frame->line : frame->offset};
    return base_hash(parts, sizeof(parts)) | 2;
}

static uint64_t function_key(const struct profile_frame *frame)
{
    const uint64_t parts[] = {
        frame->function ? base_hash(frame->function, strlen(frame->function)) : 0,
        frame->file ? base_hash(frame->file, strlen(frame->file)) : frame->image};
    return base_hash(parts, sizeof(parts));
}

// Notes that `key` goes with `value`, and whether it goes with others, too.
static bool note(struct base_map *map, uint64_t key, uint64_t value)
{
    bool added = false;
    uint64_t *slot = base_map_put(map, key, &added);
    if (slot && added)
        *slot = value;
    else if (slot && *slot != value)
        *slot = several;
    return slot != NULL;
}

static const struct profile_frame *caller_of(const struct report_data *data,
                                             const struct report_path *path, uint32_t at)
{
    for (uint32_t i = at + 1; i < path->frame_count; i++) {
        if (is_user(data, &path->frames[i]))
            return &path->frames[i];
    }
    return NULL;
}

bool report_note_wrappers(struct report_data *data, const struct report_path *path)
{
    bool good = true;
    for (uint32_t i = report_stub_frames(path); i < path->frame_count && good; i++) {
        const struct profile_frame *frame = &path->frames[i];
        const struct profile_frame *caller =
            frame->function && is_user(data, frame) ? caller_of(data, path, i) : NULL;
        if (caller)
            good = note(&data->lines_in, function_key(frame), line_key(frame)) &&
                   note(&data->callers, line_key(frame), line_key(caller));
    }
    return good;
}

static bool has_single_line(const struct report_data *data, const struct profile_frame *frame)
{
    const uint64_t *lines = base_map_get(&data->lines_in, function_key(frame));
    return frame->function && lines && *lines != several;
}

static bool has_several_callers(const struct report_data *data, const struct profile_frame *frame)
{
    const uint64_t *callers = base_map_get(&data->callers, line_key(frame));
    return callers && *callers == several;
}

// Returns the frame that calls the wrapper that `frame` is in; `frame` if it is in none. Wrappers
// may call each other.
static const struct profile_frame *skip_wrappers(const struct report_data *data,
                                                 const struct report_path *path,
                                                 const struct profile_frame *frame)
{
    const struct profile_frame *place = frame;
    while (frame && has_single_line(data, frame)) {
        const bool is_wrapper = has_several_callers(data, frame);
        frame = caller_of(data, path, (uint32_t)(frame - path->frames));
        if (is_wrapper && frame && (frame->file || !place->file))
            place = frame;
    }
    return place;
}

// --- The place -----------------------------------------------------------------------------------

// Returns how well the frame says where something is done: 0 for not at all. Of a user of Python it
// is the line in Python that counts, whatever extension in C that leads to; if possible one in a
// file.
static unsigned worth_of(const struct report_data *data, const struct profile_frame *frame)
{
    if (!is_user(data, frame))
        return frame->file != NULL;
    if (frame->python)
        return report_has_source(frame) ? 5 : 4;
    return frame->file ? 3 : frame->function ? 2 : 0;
}

// Returns the frame that is the place of a call path; NULL if there is none. It is the innermost
// one of the user: if possible with a line, and neither of a library, which nobody changes, nor of
// a wrapper.
static const struct profile_frame *place_of(const struct report_data *data,
                                            const struct report_path *path)
{
    if (!path || path->frame_count == 0)
        return NULL;
    const uint32_t first = report_stub_frames(path);
    const struct profile_frame *best = &path->frames[first];
    unsigned best_worth = 0;
    for (uint32_t i = first; i < path->frame_count; i++) {
        const struct profile_frame *frame = &path->frames[i];
        const unsigned worth = worth_of(data, frame);
        if (worth > best_worth) {
            best = frame;
            best_worth = worth;
        }
    }
    return skip_wrappers(data, path, best);
}

const struct profile_frame *report_place(const struct report_data *data, uint32_t path)
{
    return place_of(data, report_path_of(data, path));
}

static bool has_user(const struct report_data *data, uint32_t number)
{
    const struct report_path *path = report_path_of(data, number);
    for (uint32_t i = 0; path && i < path->frame_count; i++) {
        if (is_user(data, &path->frames[i]))
            return true;
    }
    return false;
}

uint32_t report_finding_path(const struct report_data *data, const struct analyze_finding *finding)
{
    const struct report_object *object = report_find_object(data, finding->object);
    const uint32_t paths[] = {finding->path, finding->other_path, finding->last_path,
                              object ? object->path : 0};
    const struct report_path *path = report_path_of(data, finding->path);
    const bool is_known = path && path->frame_count;
    for (size_t i = 0; is_known && i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (has_user(data, paths[i]))
            return paths[i];
    }
    return finding->path;
}

void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    const struct profile_frame *frame = report_place(data, path);
    if (frame)
        put_place(data, frame, true, out);
}

static bool same_function(const struct profile_frame *one, const struct profile_frame *other)
{
    return one->function && other->function && one->file && other->file &&
           strcmp(one->function, other->function) == 0 && strcmp(one->file, other->file) == 0;
}

// Returns the frame of `path` in the innermost function that both paths share; NULL if there is
// none.
static const struct profile_frame *parting_of(const struct report_path *path,
                                              const struct report_path *other)
{
    const struct profile_frame *parting = NULL;
    for (uint32_t i = 1; path && other && i <= path->frame_count && i <= other->frame_count; i++) {
        const struct profile_frame *one = &path->frames[path->frame_count - i],
                                   *beside = &other->frames[other->frame_count - i];
        if (one->file && !same_function(one, beside))
            break;
        if (one->file)
            parting = one;
        if (one->file && one->line != beside->line)
            break;
    }
    return parting;
}

void report_put_place_beside(const struct report_data *data, uint32_t path, uint32_t other,
                             struct base_buf *out)
{
    const struct report_path *of = report_path_of(data, path);
    const struct profile_frame *place = place_of(data, of);
    const struct profile_frame *parting = parting_of(of, report_path_of(data, other));
    if (!place)
        return;
    put_place(data, place, false, out);
    if (parting > place && place->file && !same_function(parting, place)) { // an outer frame
        base_buf_puts(out, ", called at ");
        put_place(data, parting, false, out);
    }
}

// --- Call paths ----------------------------------------------------------------------------------

static void put_frame(const struct report_data *data, const struct profile_frame *frame,
                      struct base_buf *out)
{
    if (frame->file && frame->function) {
        put_function(frame, out);
        base_buf_putc(out, ' ');
        put_place(data, frame, false, out);
        return;
    }
    put_place(data, frame, false, out);
    if (is_torch(data, frame))
        return;
    const char *image = report_base_name(report_image_path(data, frame->image));
    if (!frame->file && frame->function && image) {
        base_buf_puts(out, " (");
        report_put_text(out, image);
        base_buf_printf(out, "+0x%llx)", (unsigned long long)address_of(frame));
    }
}

// Returns whether the function launches kernels; the user wrote <<<...>>> instead.
static bool is_launch(const char *called)
{
    return strncmp(called, "cudaLaunchKernel", strlen("cudaLaunchKernel")) == 0 ||
           strncmp(called, "__cudaLaunch", strlen("__cudaLaunch")) == 0;
}

static bool is_shown(const struct report_data *data, const struct profile_frame *frame, bool python)
{
    return is_user(data, frame) && (!python || frame->python);
}

// Frames of libraries are left out; of those that the user's innermost frame leads to, the function
// that the user called remains, if `with_library`. Where the user's code is in Python, so are all
// frames.
static void put_trace(const struct report_data *data, uint32_t path, bool with_library,
                      struct base_buf *out)
{
    enum { MOST = 4 };
    const struct report_path *of = report_path_of(data, path);
    if (!of || of->frame_count == 0)
        return;
    const uint32_t first = report_stub_frames(of);
    const char *called = report_called_at(data, path), *before = "";
    uint32_t end = of->frame_count, user = first, put = 0;
    while (end > first + 1 && is_foreign(data, &of->frames[end - 1]))
        end--;
    bool python = false;
    for (uint32_t i = first; i < end; i++)
        python |= of->frames[i].python && is_user(data, &of->frames[i]);
    while (user < end && !is_shown(data, &of->frames[user], python))
        user++;
    if (called && !is_launch(called)) {
        report_put_text(out, called);
        before = " < ";
    }
    if (user == end) // nothing is the user's
        user = first;
    else if (with_library && user > first && of->frames[user - 1].function &&
             !is_foreign(data, &of->frames[user - 1])) {
        base_buf_puts(out, before);
        put_function(&of->frames[user - 1], out);
        before = " < ";
    }
    for (uint32_t i = user; i < end; i++) {
        if (i > user && !is_shown(data, &of->frames[i], python))
            continue;
        base_buf_puts(out, before);
        before = " < ";
        if (put++ == MOST) {
            base_buf_puts(out, "...");
            break;
        }
        put_frame(data, &of->frames[i], out);
    }
}

void report_put_trace(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    put_trace(data, path, true, out);
}

void report_put_user_trace(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    put_trace(data, path, false, out);
}
