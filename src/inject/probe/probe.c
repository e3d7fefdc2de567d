// SPDX-License-Identifier: Apache-2.0
// The settings of probes, and the layer.
#include "probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "alike.h"
#include "cache.h"
#include "exec.h"
#include "inject/shadow/shadow.h"
#include "inject/util/plain_name.h"
#include "inject/util/settings.h"
#include "launch.h"
#include "module.h"
#include "ways.h"

struct probe_state *probe_state;

// --- Settings ------------------------------------------------------------------------------------

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = util_setting(variable);
    char *end;
    if (!text || !*text)
        return otherwise;
    const uint64_t number = strtoull(text, &end, 10);
    return *end ? otherwise : number;
}

// Returns false if the variable has an expression and it is not valid.
static bool compile(struct probe_names *names, const char *variable)
{
    char text[300], why[200];
    const char *expression = util_setting(variable);
    names->expression = expression ? probe_copy_text(expression) : NULL;
    if (!expression || !*expression)
        return true;
    const int code = regcomp(&names->compiled, expression, REG_EXTENDED | REG_NOSUB);
    names->given = code == 0;
    if (!code)
        return true;
    regerror(code, &names->compiled, why, sizeof(why));
    snprintf(text, sizeof(text), "no kernel has probes: %s: %s", variable, why);
    core_note(EVENT_ERROR, text);
    return false;
}

// Returns false if the ways to count words of shared memory are not valid.
static bool choose_ways(struct probe_state *probes)
{
    if (probe_ways_parse(util_setting(EVENT_COUNTING_VARIABLE), &probes->word_ways))
        return true;
    core_note(EVENT_ERROR, "no kernel has probes: " EVENT_COUNTING_VARIABLE
                           ": expected basic, or a list of sa, na, sm and th, which needs sm");
    return false;
}

static bool start(const struct core_driver *driver)
{
    (void)driver;
    probe_state = NULL;
    const uint64_t facts = number_of(EVENT_PROBES_VARIABLE, 0) &
                           (0 FACTS_PROBE_FACTS(FACTS_OR, INSTRUMENT_)) &
                           ~(uint32_t)INSTRUMENT_ONLY_MEMORY;
    if (!facts)
        return false;
    struct probe_state *probes = calloc(1, sizeof(*probes));
    const uint64_t sample = number_of(EVENT_SAMPLE_VARIABLE, 1);
    if (!probes) {
        core_no_memory();
        return false;
    }
    probes->facts = (uint32_t)facts; // EVENT_PROBE_* and INSTRUMENT_* are made of one list
    probes->sample = sample && sample <= UINT32_MAX ? (uint32_t)sample : 1;
    const uint64_t alike = number_of(EVENT_LAUNCHES_VARIABLE, 0);
    probes->most_alike = alike <= UINT32_MAX ? (uint32_t)alike : 0;
    atomic_store(&probes->passes, probes->most_alike != 0);
    pthread_mutex_init(&probes->lock, NULL);
    pthread_mutex_init(&probes->giving, NULL);
    probes->cache = probe_cache_folder();
    if (probes->facts & INSTRUMENT_VALUES)
        core_order_begin();
    if (choose_ways(probes) && compile(&probes->kernels, EVENT_KERNELS_VARIABLE) &&
        compile(&probes->excluded, EVENT_NO_PROBES_VARIABLE))
        probe_state = probes;
    else
        free(probes);
    return probe_state != NULL;
}

static bool matches(const struct probe_names *names, const char *kernel)
{
    char name[1024];
    return regexec(&names->compiled, kernel, 0, NULL, 0) == 0 ||
           (util_plain_name(kernel, name, sizeof(name)) &&
            regexec(&names->compiled, name, 0, NULL, 0) == 0);
}

bool probe_selects(const char *kernel)
{
    return !probe_state->kernels.given || matches(&probe_state->kernels, kernel);
}

bool probe_wants(const char *kernel)
{
    return probe_selects(kernel) &&
           !(probe_state->excluded.given && matches(&probe_state->excluded, kernel));
}

bool probe_relax(CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return atomic_load_explicit(&core_state.captures, memory_order_relaxed) &&
           REAL(cuThreadExchangeStreamCaptureMode)(mode) == CUDA_SUCCESS;
}

void probe_unrelax(bool relaxed, CUstreamCaptureMode *mode)
{
    if (relaxed)
        REAL(cuThreadExchangeStreamCaptureMode)(mode);
}

// --- The layer -----------------------------------------------------------------------------------

static void kernel_dropped(void *kept)
{
    probe_kernel_drop(kept);
}

static void finish(void)
{
    shadow_finish();
    probe_alike_tell();
}

// Returns whether the driver may find memory for the call once glint has given back what it has. A
// program may ask for more than there is, to find out how much that is.
static bool is_enough(const struct core_call *call, uint32_t device, uint64_t held_bytes)
{
    size_t free_bytes, total;
    return !call->wanted_bytes || !call->current || call->current->device != device ||
           REAL(cuMemGetInfo_v2)(&free_bytes, &total) != CUDA_SUCCESS ||
           call->wanted_bytes <= free_bytes + held_bytes;
}

struct giving {
    uint32_t device;
    bool freed;
};

static void *give_back(void *user)
{
    struct giving *giving = user;
    core_thread.depth++; // calls of the driver are glint's
    giving->freed = shadow_trim(giving->device) || shadow_end(giving->device, probe_exec_leave_all);
    core_thread.depth--;
    return NULL;
}

// Records that are written meanwhile need more stack than some threads have.
static bool give_back_elsewhere(struct giving *giving)
{
    sigset_t all, before;
    pthread_t thread;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); // joining is a cancellation point
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(&thread, NULL, give_back, giving) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        pthread_join(thread, NULL);
    pthread_setcancelstate(cancel, NULL);
    return made;
}

// All memory is given back one thread at a time, by threads that have taken no executable.
static bool free_memory(struct core_call *call)
{
    const uint32_t device = call->wanted_device ? call->wanted_device
                            : call->current     ? call->current->device
                                                : 0;
    const CUgraphExec exec = call->exec ? call->exec->handle : NULL;
    struct giving giving = {.device = device};
    if (!device || call->probe || call->sampled || !shadow_held_bytes(device))
        return false;
    probe_exec_withdraw(call);
    probe_exec_release(call);
    util_mutex_lock(&probe_state->giving, RANK_GIVING);
    const uint64_t held = shadow_held_bytes(device);
    if (held && is_enough(call, device, held))
        (void)(stack_is_small() ? give_back_elsewhere(&giving) : give_back(&giving) == NULL);
    util_mutex_unlock(&probe_state->giving, RANK_GIVING);
    if (exec)
        probe_exec_take(call, exec);
    return giving.freed;
}

// Shadow memory has no layer: it gets events through this one, its only user.
const struct inject_layer probe_layer = {
    .name = "probes",
    .start = start,
    .finish = finish,
    .waits = probe_call_waits,
    .after = probe_call_end,
    .free_memory = free_memory,
    .object_ended = shadow_object_ended,
    .context_gone = shadow_context_gone,
    .module_ended = probe_module_end,
    .kernel_dropped = kernel_dropped,
};
