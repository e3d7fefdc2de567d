// SPDX-License-Identifier: Apache-2.0
// Reads what a profile says about values: see told.h.
#include "told.h"

#include <stdio.h>
#include <string.h>

static bool see_kernel(void *user, const struct profile_kernel *kernel)
{
    struct told *told = user;
    while (told->kernels.count <= kernel->number)
        replay_must(base_array_push(&told->kernels));
    told->kernels.items[kernel->number].mangled = replay_must(strdup(kernel->mangled));
    return true;
}

static bool see_object(void *user, const struct profile_object *object)
{
    struct told *told = user;
    REPLAY_PUSH(struct profile_object, &told->objects) = *object;
    return true;
}

static bool see_function(void *user, const struct profile_function *function)
{
    struct told *told = user;
    while (told->writes.count <= function->number)
        replay_must(base_array_push(&told->writes));
    static const char *const writers[] = {"cuStreamWriteValue", "cuStreamBatchMemOp",
                                          "cuMemcpyBatch", "cuMemcpy3DBatch"};
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
        told->writes.items[function->number] |=
            strncmp(function->name, writers[i], strlen(writers[i])) == 0;
    return true;
}

static bool see_doubt(void *user, const struct profile_doubt *doubt)
{
    struct told *told = user;
    if (!doubt->node && doubt->kind == PROFILE_DOUBT_WORK)
        replay_must(base_map_put(&told->doubted, doubt->call, NULL));
    return true;
}

// Copies and sets whose destination the recorder does not know may have changed anything, and so
// may launches of graphs with work that it does not see.
static bool is_unseen(const struct told *told, const struct profile_call *call)
{
    if (call->function < told->writes.count && told->writes.items[call->function])
        return true;
    switch (call->kind) {
    case PROFILE_CALL_COPY:
        return call->copy.to_memory == PROFILE_MEMORY_UNKNOWN ||
               (call->copy.to_memory == PROFILE_MEMORY_DEVICE && !call->copy.to_object);
    case PROFILE_CALL_SET: return !call->set.object;
    case PROFILE_CALL_GRAPH_LAUNCH: return base_map_get(&told->doubted, call->number) != NULL;
    default: return false;
    }
}

static bool see_call(void *user, const struct profile_call *call)
{
    struct told *told = user;
    if (call->result || call->flags & PROFILE_CALL_CAPTURED)
        return true;
    if (call->kind == PROFILE_CALL_LAUNCH || call->kind == PROFILE_CALL_COPY ||
        call->kind == PROFILE_CALL_SET || call->kind == PROFILE_CALL_GRAPH_LAUNCH ||
        is_unseen(told, call))
        REPLAY_PUSH(struct told_call, &told->calls) =
            (struct told_call){.call = *call, .unseen = is_unseen(told, call)};
    return true;
}

static bool see_contents(void *user, const struct profile_contents *contents)
{
    struct told *told = user;
    REPLAY_PUSH(struct profile_contents, &told->rows) = *contents;
    return true;
}

static bool see_stored(void *user, const struct profile_stored *stored)
{
    struct told *told = user;
    REPLAY_PUSH(struct profile_stored, &told->stores) = *stored;
    return true;
}

static bool see_weighed(void *user, const struct profile_weighed *weighed)
{
    struct told *told = user;
    REPLAY_PUSH(struct profile_weighed, &told->weighed) = *weighed;
    return true;
}

static bool see_accessed(void *user, const struct profile_accessed *accessed)
{
    struct told *told = user;
    REPLAY_PUSH(struct profile_accessed, &told->accessed) = *accessed;
    return true;
}

static bool see_site(void *user, const struct profile_kernel_site *site)
{
    struct told *told = user;
    REPLAY_PUSH(struct told_site, &told->sites) =
        (struct told_site){.kernel = site->kernel,
                           .number = site->number,
                           .instruction = site->instruction,
                           .function = replay_must(strdup(site->function))};
    return true;
}

bool told_read(const char *path, struct told *told)
{
    struct base_error error = {0};
    struct profile *profile;
    char text[512];
    if (profile_open(path, &profile, &error) == BASE_OK) {
        if (profile_each_kernel(profile, see_kernel, told, &error) == BASE_OK &&
            profile_each_object(profile, see_object, told, &error) == BASE_OK &&
            profile_each_function(profile, see_function, told, &error) == BASE_OK &&
            profile_each_doubt(profile, see_doubt, told, &error) == BASE_OK &&
            profile_each_call(profile, see_call, told, &error) == BASE_OK &&
            profile_each_contents(profile, see_contents, told, &error) == BASE_OK &&
            profile_each_stored(profile, see_stored, told, &error) == BASE_OK &&
            profile_each_weighed(profile, see_weighed, told, &error) == BASE_OK &&
            profile_each_accessed(profile, see_accessed, told, &error) == BASE_OK)
            profile_each_kernel_site(profile, see_site, told, &error); // failures are in `error`
        profile_close(profile);
    }
    if (error.code == BASE_OK)
        return true;
    base_error_text(&error, text, sizeof(text));
    printf("%s\n", text);
    return false;
}

void told_fini(struct told *told)
{
    for (size_t i = 0; i < told->kernels.count; i++)
        free(told->kernels.items[i].mangled);
    for (size_t i = 0; i < told->sites.count; i++)
        free(told->sites.items[i].function);
    base_array_fini(&told->kernels);
    base_array_fini(&told->objects);
    base_array_fini(&told->writes);
    base_map_fini(&told->doubted);
    base_array_fini(&told->calls);
    base_array_fini(&told->rows);
    base_array_fini(&told->stores);
    base_array_fini(&told->weighed);
    base_array_fini(&told->accessed);
    base_array_fini(&told->sites);
}

const struct profile_object *told_object(const struct told *told, uint64_t number)
{
    for (size_t i = 0; i < told->objects.count; i++) {
        if (told->objects.items[i].number == number)
            return &told->objects.items[i];
    }
    return NULL;
}

bool told_has_object(const struct told *told, const struct gpusim_object *object)
{
    for (size_t i = 0; i < told->objects.count; i++) {
        if (told->objects.items[i].address == object->address &&
            told->objects.items[i].bytes == object->size_bytes)
            return true;
    }
    return false;
}

const struct told_site *told_site(const struct told *told, uint32_t kernel, uint32_t number)
{
    for (size_t i = 0; i < told->sites.count; i++) {
        if (told->sites.items[i].kernel == kernel && told->sites.items[i].number == number)
            return &told->sites.items[i];
    }
    return NULL;
}

bool told_is_graph(const struct told_call *call)
{
    return call && call->call.kind == PROFILE_CALL_GRAPH_LAUNCH;
}

bool told_has_rows(const struct told *told, uint32_t kernel)
{
    for (size_t i = 0; i < told->calls.count; i++) {
        const struct profile_call *call = &told->calls.items[i].call;
        for (size_t k = 0; k < told->rows.count; k++) {
            if (call->kind == PROFILE_CALL_LAUNCH && call->launch.kernel == kernel &&
                told->rows.items[k].call == call->number &&
                told->rows.items[k].kind == PROFILE_CONTENTS_WRITTEN)
                return true;
        }
    }
    return false;
}

uint64_t told_unseen_before(const struct told *told, uint64_t call)
{
    uint64_t count = 0;
    for (size_t i = 0; i < told->calls.count; i++)
        count += told->calls.items[i].unseen && told->calls.items[i].call.number < call;
    return count;
}
