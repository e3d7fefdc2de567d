// SPDX-License-Identifier: Apache-2.0
// Finds the plain kernels (plan/plan.h): the profile shows which objects each of their launches
// used, and that an argument pointed into each of them. A kernel is not plain if it computes the
// address of an object (a distance from another object, the halves of a pointer, an array with a
// large first index), or if one of its launches was not watched.
#include "fix.h"

enum kernel_bits { LAUNCHED = 1, NOT_PLAIN = 2 };

struct looking {
    struct plan *plan;
    struct profile_accesses *accesses;
    const struct profile_access *access; // the next access to compare
    struct base_map kernels;             // from its number to enum kernel_bits
    enum base_code code;
    struct base_error *error;
};

static void mark(struct looking *looking, uint32_t kernel, uint64_t bits)
{
    uint64_t *known = base_map_put(&looking->kernels, kernel, NULL);
    if (known)
        *known |= bits;
    else if (looking->code == BASE_OK)
        looking->code = base_no_memory(looking->error);
}

// Marks kernels whose probes are missing or incomplete.
static bool take_probe(void *user, const struct profile_probe *probe)
{
    struct looking *looking = user;
    if (!probe->facts || probe->reason)
        mark(looking, probe->kernel, NOT_PLAIN);
    return looking->code == BASE_OK;
}

static bool take_call(void *user, const struct profile_call *call)
{
    struct looking *looking = user;
    if (call->kind != PROFILE_CALL_LAUNCH)
        return true;
    bool plain = call->launch.flags & PROFILE_LAUNCH_WATCHED;
    while (looking->access && looking->access->call < call->number)
        looking->access = profile_accesses_next(looking->accesses);
    for (; looking->access && looking->access->call == call->number;
         looking->access = profile_accesses_next(looking->accesses))
        plain &= looking->access->named;
    mark(looking, call->launch.kernel, plain ? LAUNCHED : LAUNCHED | NOT_PLAIN);
    return looking->code == BASE_OK;
}

static bool take_kernel(void *user, const struct profile_kernel *kernel)
{
    struct looking *looking = user;
    const uint64_t *bits = base_map_get(&looking->kernels, kernel->number);
    const char *name = kernel->mangled ? kernel->mangled : kernel->name;
    if (bits && *bits == LAUNCHED && name)
        looking->code = plan_add_kernel(looking->plan, name, looking->error);
    return looking->code == BASE_OK;
}

enum base_code fix_plain_kernels(struct profile *profile, struct plan *plan,
                                 struct base_error *error)
{
    struct looking looking = {.plan = plan, .error = error};
    enum base_code code = profile_each_probe(profile, take_probe, &looking, error);
    if (code == BASE_OK)
        code = profile_accesses_begin(profile, &looking.accesses, error);
    if (code == BASE_OK) {
        looking.access = profile_accesses_next(looking.accesses);
        code = profile_each_call(profile, take_call, &looking, error);
        const enum base_code ended = profile_accesses_end(looking.accesses, error);
        code = code == BASE_OK ? ended : code;
    }
    if (code == BASE_OK && looking.code == BASE_OK)
        code = profile_each_kernel(profile, take_kernel, &looking, error);
    base_map_fini(&looking.kernels);
    return code == BASE_OK ? looking.code : code;
}
