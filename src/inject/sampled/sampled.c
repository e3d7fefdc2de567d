// SPDX-License-Identifier: Apache-2.0
// The settings of sampled launches, and what they need.
#include "sampled.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "budget.h"
#include "inject/util/settings.h"
#include "state.h"
#include "tools.h"

struct sampled_state sampled_state;

// Children of fork inherit the subscription, and begin anew otherwise.
static struct sampled_library subscribed;

enum { PATCH_MOST_BYTES = 16 << 20 };

void sampled_stop(const char *why)
{
    char text[400];
    if (atomic_exchange(&sampled_state.stopped, true))
        return;
    snprintf(text, sizeof(text), "no launches are sampled from here on: %.300s", why);
    core_note(EVENT_WARNING, text);
}

// --- The start -----------------------------------------------------------------------------------

static void *read_patch(const char *path)
{
    struct stat status;
    void *bytes = NULL;
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && status.st_size > 0 && status.st_size <= PATCH_MOST_BYTES)
        bytes = malloc((size_t)status.st_size);
    if (bytes && read(file, bytes, (size_t)status.st_size) != status.st_size) {
        free(bytes);
        bytes = NULL;
    }
    close(file);
    return bytes;
}

static void refuse(const char *why)
{
    char text[500];
    snprintf(text, sizeof(text), "no launches are sampled: %.440s", why);
    core_note(EVENT_WARNING, text);
}

static uint32_t number_of(const char *variable, uint32_t otherwise)
{
    const char *text = util_setting(variable);
    char *end;
    const unsigned long number = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && number && number <= UINT32_MAX ? (uint32_t)number : otherwise;
}

// Opens what is needed. Returns false after a note.
static bool prepare(bool simulated)
{
    char why[400];
    const char *library = util_setting(EVENT_SANITIZER_VARIABLE);
    if (!library && !simulated)
        library = util_setting(EVENT_FOUND_VARIABLE);
    const char *conflict = sampled_conflict();
    if (conflict) {
        snprintf(why, sizeof(why), "another tool follows CUDA in this process (%s)", conflict);
        refuse(why);
        return false;
    }
    if (!core_state.timestamps) {
        refuse("their cost is unknown without GPU times");
        return false;
    }
    if (!library || !*library) {
        refuse(simulated ? "the simulated GPU has no Sanitizer API"
                         : "no " SANITIZER_LIBRARY
                           " was found (glint doctor says where it is searched)");
        return false;
    }
    sampled_state.patch = read_patch(util_setting(EVENT_PATCH_VARIABLE));
    if (!sampled_state.patch) {
        refuse("this glint was built without nvcc, which compiles the patch");
        return false;
    }
    const char *failed = "the program uses CUPTI";
    if (sampled_enter()) {
        failed = subscribed.subscriber
                     ? NULL
                     : sampled_library_open(&subscribed, library, why, sizeof(why));
        sampled_leave();
    }
    sampled_state.library = subscribed;
    if (!failed)
        return true;
    refuse(failed);
    free(sampled_state.patch);
    return false;
}

// A child of fork begins anew, and cannot use CUDA if the parent did.
static bool start(const struct core_driver *driver)
{
    memset(&sampled_state, 0, sizeof(sampled_state));
    sampled_begin_anew();
    sampled_state.every = number_of(EVENT_SAMPLE_NATIVE_VARIABLE, 0);
    sampled_state.percent = number_of(EVENT_BUDGET_VARIABLE, SAMPLED_BUDGET_PERCENT);
    if (!sampled_state.every || !probe_state)
        return false;
    pthread_mutex_init(&sampled_state.lock, NULL);
    pthread_mutex_init(&sampled_state.loading, NULL);
    sampled_state.on = prepare(driver->simulated);
    return sampled_state.on;
}

void sampled_unsubscribe(void)
{
    sampled_library_close(&subscribed);
}

const struct inject_layer sampled_layer = {
    .name = "sampled",
    .start = start,
    .finish = sampled_unsubscribe,
    .after = sampled_call_end,
    .context_gone = sampled_context_gone,
    .module_ended = sampled_module_ended,
};
