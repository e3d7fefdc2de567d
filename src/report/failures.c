// SPDX-License-Identifier: Apache-2.0
// Finds out which call or kernel failed first, and describes it. Failures lead a report, because
// what a program wastes after one is not worth knowing.
//
// A kernel fails on the GPU some time after its launch, and the next call that notices tells that.
// The simulated GPU says which kernel it was, and where. For a real one, the kernels that were
// launched and not yet waited for are named.
#include "failures.h"

#include <stdio.h>
#include <string.h>

#include "short_names.h"
#include "units.h"

// --- Collecting ----------------------------------------------------------------------------------

static void forget_launches(struct report_failures *failures, uint32_t stream)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < failures->pending_count; i++) {
        if (stream && failures->pending[i].stream != stream)
            failures->pending[kept++] = failures->pending[i];
    }
    failures->pending_count = kept;
    failures->missed = 0;
}

// Keeps the launches that may still be running. A wait for a stream says that those on it ended.
static void follow_launches(struct report_failures *failures, const struct profile_call *call)
{
    if (call->kind == PROFILE_CALL_LAUNCH && !(call->flags & PROFILE_CALL_CAPTURED)) {
        if (failures->pending_count == REPORT_MOST_PENDING) {
            failures->missed++;
            return;
        }
        failures->pending[failures->pending_count++] =
            (struct report_pending){call->launch.kernel, call->path, call->stream};
    } else if (call->kind == PROFILE_CALL_SYNC && !call->sync.event) {
        forget_launches(failures, call->sync.stream);
    } else if (call->flags & PROFILE_CALL_WAITED && call->stream) {
        forget_launches(failures, call->stream);
    }
}

void report_take_failure(struct report_failures *failures, const struct profile_call *call)
{
    if (!analyze_is_failure(call->result)) {
        if (!call->result && !failures->count)
            follow_launches(failures, call);
        return;
    }
    // The runtime loads modules before they are needed, and goes on without those that do not fit
    // the GPU.
    if (call->kind == PROFILE_CALL_MODULE) {
        if (!failures->modules++)
            failures->module = *call;
        return;
    }
    if (!failures->count++)
        failures->first = *call;
}

void report_end_failures(struct report_data *data)
{
    struct report_failures *failures = &data->failures;
    const char *called = failures->modules ? report_called_at(data, failures->module.path) : NULL;
    const bool by_runtime = called && strncmp(called, "cuda", 4) == 0 &&
                            !strstr(called, "Library") && !strstr(called, "Module");
    if (failures->modules && (!by_runtime || !data->launches)) {
        if (!failures->count || failures->module.number < failures->first.number)
            failures->first = failures->module;
        failures->count += failures->modules;
    }
    for (size_t i = 0; i < data->notes.count && !failures->fault; i++) {
        if (strncmp(data->notes.items[i].text, FACTS_FAULT_NOTE, strlen(FACTS_FAULT_NOTE)) == 0)
            failures->fault = data->notes.items[i].text + strlen(FACTS_FAULT_NOTE);
    }
}

// --- Words ---------------------------------------------------------------------------------------

// Adds what a CUresult means.
static void put_result(struct base_buf *out, int32_t result)
{
    static const struct {
        int32_t result;
        const char *text;
    } texts[] = {
        {1, "an argument is invalid"},
        {2, "out of memory"},
        {3, "the driver is not initialized"},
        {100, "no GPU"},
        {101, "there is no such GPU"},
        {200, "the module is invalid"},
        {201, "there is no valid context"},
        {205, "mapping failed"},
        {209, "no machine code or PTX fits this GPU"},
        {214, "an uncorrectable memory error"},
        {218, "the PTX is invalid"},
        {222, "the driver is too old for this PTX"},
        {301, "the file was not found"},
        {400, "a handle is invalid"},
        {500, "there is no such symbol"},
        {700, "illegal memory access"},
        {701, "it needs too many resources"},
        {702, "the kernel ran for too long"},
        {704, "peer access is already enabled"},
        {705, "peer access is not enabled"},
        {710, "an assertion in a kernel failed"},
        {712, "the host memory is already registered"},
        {713, "the host memory is not registered"},
        {714, "the stack of a kernel was damaged"},
        {715, "illegal instruction"},
        {716, "misaligned address"},
        {717, "wrong address space"},
        {718, "invalid program counter"},
        {719, "the kernel failed"},
        {720, "it has more blocks than can run at once"},
        {801, "not supported"},
        {802, "the system is not ready"},
        {900, "not allowed while a stream is captured"},
        {901, "the capture of a stream is invalid"},
        {999, "an unknown error"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].result == result) {
            base_buf_puts(out, texts[i].text);
            return;
        }
    }
    base_buf_printf(out, "error %d", (int)result);
}

static void put_at(const struct report_data *data, uint32_t path, const char *before,
                   const char *after, struct base_buf *out)
{
    struct base_buf place = {0};
    report_put_place_beside(data, path, 0, &place);
    if (place.length)
        base_buf_printf(out, "%s%s%s", before, place.text, after);
    base_buf_fini(&place);
}

// --- What the simulated GPU says -----------------------------------------------------------------

// Returns the kernel of that mangled name; NULL if there is none.
static const struct report_kernel *find_kernel(const struct report_data *data, const char *name,
                                               size_t length)
{
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        if (kernel->symbol && strlen(kernel->symbol) == length &&
            memcmp(kernel->symbol, name, length) == 0)
            return kernel;
    }
    return NULL;
}

// Adds where the kernel was launched last.
static void put_launch(const struct report_data *data, const struct report_kernel *kernel,
                       struct base_buf *out)
{
    const struct report_failures *failures = &data->failures;
    for (uint32_t i = failures->pending_count; i-- > 0;) {
        const uint64_t *index = base_map_get(&data->kernels, failures->pending[i].kernel);
        if (index && &data->kernel_rows.items[*index - 1] == kernel) {
            put_at(data, failures->pending[i].path, " (launched at ", ")", out);
            return;
        }
    }
}

static const char *last_part(const char *path, size_t *length)
{
    const char *slash = memrchr(path, '/', *length);
    if (slash)
        *length -= (size_t)(slash + 1 - path);
    return slash ? slash + 1 : path;
}

// Returns whether the text at the place is "FILE:LINE", as opposed to what the simulated GPU says
// of instructions without a line: "PTX line 9" or "ld.global.f32 (-lineinfo gives lines)".
static bool is_line(const char *place, size_t length)
{
    const char *colon = memrchr(place, ':', length);
    size_t digits = 0;
    while (colon && digits < (size_t)(place + length - (colon + 1)) && colon[1 + digits] >= '0' &&
           colon[1 + digits] <= '9')
        digits++;
    return digits && colon + 1 + digits == place + length;
}

// Adds "kernel bad read out of bounds at oob.cu:9", or the line of its launch if the kernel's is
// unknown, from "kernel _Z3badPfPKfi, /x/oob.cu:9, block (0,0,0), thread (0,0,0): invalid read of 4
// bytes at 0x7f00: ...". What an assertion says has its own line: "oob.cu:9: assertion `x' failed".
// Returns false if the text has another form.
static bool put_fault(const struct report_data *data, const char *fault, struct base_buf *out)
{
    static const char start[] = "kernel ", block[] = ", block (",
                      thread[] = "): ", assertion[] = ": assertion `";
    const char *name = fault + strlen(start), *place = strchr(fault, ','),
               *where = strstr(fault, block), *what = where ? strstr(where, thread) : NULL;
    if (strncmp(fault, start, strlen(start)) != 0 || !place || !what)
        return false;
    const size_t name_length = strcspn(name, " ,");
    const struct report_kernel *known = find_kernel(data, name, name_length);
    base_buf_puts(out, "kernel ");
    if (known)
        report_put_text(out, known->short_name);
    else
        base_buf_add(out, name, name_length);
    what += strlen(thread);
    const char *asserted = strstr(what, assertion);
    place = place < where ? place + strlen(", ") : where;
    size_t length = (size_t)(where - place);
    if (asserted && is_line(what, (size_t)(asserted - what))) {
        place = what;
        length = (size_t)(asserted - what);
    }
    if (asserted)
        base_buf_puts(out, " failed an assertion");
    else if (strncmp(what, "invalid read", 12) == 0)
        base_buf_puts(out, " read out of bounds");
    else if (strncmp(what, "invalid write", 13) == 0)
        base_buf_puts(out, " wrote out of bounds");
    else if (strncmp(what, "misaligned ", 11) == 0)
        base_buf_puts(out, " accessed a misaligned address");
    else
        base_buf_printf(out, " failed (%.*s)", (int)strcspn(what, ":"), what);
    if (is_line(place, length)) {
        const char *file = last_part(place, &length);
        base_buf_printf(out, " at %.*s", (int)length, file);
    } else if (known) {
        put_launch(data, known, out);
    }
    return true;
}

// --- What a real GPU says ------------------------------------------------------------------------

// Adds the kernels that were running when one of them failed.
static void put_suspects(const struct report_data *data, struct base_buf *out)
{
    enum { NAMED = 3 };
    const struct report_failures *failures = &data->failures;
    uint32_t named[NAMED], count = 0;
    bool more = failures->missed > 0;
    for (uint32_t i = failures->pending_count; i-- > 0;) { // the last launch first
        uint32_t at = 0;
        while (at < count && named[at] != failures->pending[i].kernel)
            at++;
        if (at < count)
            continue;
        if (count == NAMED)
            more = true;
        else
            named[count++] = failures->pending[i].kernel;
    }
    if (count == 1 && !more) {
        base_buf_puts(out, "kernel ");
        report_put_text(out, report_short_kernel(data, named[0]));
        put_at(data, failures->pending[failures->pending_count - 1].path, " (launched at ", ")",
               out);
        base_buf_puts(out, " failed: ");
    } else {
        base_buf_puts(out, "a kernel failed");
        for (uint32_t i = 0; i < count; i++) {
            base_buf_puts(out, i ? ", " : " (one of ");
            report_put_text(out, report_short_kernel(data, named[i]));
        }
        base_buf_puts(out, count == 0 ? ": " : more ? ", ...): " : "): ");
    }
    put_result(out, failures->first.result);
}

// --- The sentence --------------------------------------------------------------------------------

void report_json_failure(const struct report_data *data, struct base_json *json)
{
    struct base_buf words = {0};
    base_json_key(json, "failure");
    if (report_put_failures(data, &words) && words.text)
        base_json_string(json, words.text);
    else
        base_json_null(json);
    base_buf_fini(&words);
}

bool report_put_failures(const struct report_data *data, struct base_buf *out)
{
    const struct report_failures *failures = &data->failures;
    const struct profile_call *first = &failures->first;
    const bool fatal = failures->count && analyze_is_fatal(first->result);
    uint64_t later = failures->count;
    if (!failures->count && !failures->fault)
        return false;
    if ((fatal || !failures->count) && failures->fault && put_fault(data, failures->fault, out)) {
        if (!failures->count)
            base_buf_puts(out, "; the program did not notice");
    } else if (fatal) {
        put_suspects(data, out);
    } else {
        const char *function = report_called(data, first->path, first->function);
        if (first->kind == PROFILE_CALL_LAUNCH && first->launch.kernel) {
            base_buf_puts(out, "the launch of ");
            report_put_text(out, report_short_kernel(data, first->launch.kernel));
        } else {
            report_put_text(out, function ? function : "a call");
        }
        put_at(data, first->path, " (", ")", out);
        base_buf_puts(out, " failed: ");
        put_result(out, first->result);
        later--;
    }
    if (later)
        base_buf_printf(out, "; %llu later call%s failed", (unsigned long long)later,
                        later == 1 ? "" : "s");
    return true;
}
