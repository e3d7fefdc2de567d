// SPDX-License-Identifier: Apache-2.0
// A stand-in for libsanitizer-public.so on the simulated GPU, which implements what glint uses of
// the Sanitizer API (inject/sampled/sanitizer.h). Its patches are functions of this file, called
// for each access of a lane; what they do at an access is what glint's patch does on a GPU.
// FAKE_SANITIZER=WORD makes one function fail: subscribe, add, instructions, module or data.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"
#include "inject/sampled/mark.h"
#include "inject/sampled/sanitizer.h"

enum { FAILURE = 6, MOST = 64 };

static struct {
    pthread_mutex_t lock;
    const struct cudaabi_sim *sim;
    CUresult (*module_of)(CUmodule *module, CUfunction function);
    const void *patch;
    CUmodule asked[MOST], patched[MOST];
    unsigned asked_count, patched_count, subscribers;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

// For the stand-in for CUPTI.
unsigned fake_subscribers(void)
{
    return __atomic_load_n(&fake.subscribers, __ATOMIC_SEQ_CST);
}

static bool fails(const char *word)
{
    const char *wanted = getenv("FAKE_SANITIZER");
    return wanted && strcmp(wanted, word) == 0;
}

static bool has(const CUmodule *list, unsigned count, CUmodule module)
{
    for (unsigned i = 0; i < count; i++) {
        if (list[i] == module)
            return true;
    }
    return false;
}

int sanitizerSubscribe(Sanitizer_SubscriberHandle *subscriber, Sanitizer_CallbackFunc *called,
                       void *userdata)
{
    const CUuuid id = CUDAABI_SIM_ID;
    const void *table = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    CUresult (*find)(const void **table, const CUuuid *id);
    (void)called;
    (void)userdata;
    find = driver ? (__typeof__(find))dlsym(driver, "cuGetExportTable") : NULL;
    fake.module_of = driver ? (__typeof__(fake.module_of))dlsym(driver, "cuFuncGetModule") : NULL;
    if (fails("subscribe") || !find || !fake.module_of || find(&table, &id) != CUDA_SUCCESS)
        return FAILURE;
    fake.sim = table;
    __atomic_fetch_add(&fake.subscribers, 1, __ATOMIC_SEQ_CST);
    *subscriber = (Sanitizer_SubscriberHandle)(void *)&fake;
    return SANITIZER_SUCCESS;
}

int sanitizerUnsubscribe(Sanitizer_SubscriberHandle subscriber)
{
    if (subscriber != (Sanitizer_SubscriberHandle)(void *)&fake || !fake_subscribers())
        return FAILURE;
    __atomic_fetch_sub(&fake.subscribers, 1, __ATOMIC_SEQ_CST);
    return SANITIZER_SUCCESS;
}

int sanitizerAddPatches(const void *image, CUcontext context)
{
    if (fails("add") || !image || !context)
        return FAILURE;
    fake.patch = image;
    return SANITIZER_SUCCESS;
}

int sanitizerPatchInstructions(int instruction, CUmodule module, const char *patch)
{
    if (fails("instructions") || !fake.patch || !module)
        return FAILURE;
    if (instruction != SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS)
        return SANITIZER_SUCCESS; // the simulated GPU does not tell them apart
    if (strcmp(patch, SAMPLED_PATCH_ACCESS) != 0 || fake.asked_count == MOST)
        return FAILURE;
    fake.asked[fake.asked_count++] = module;
    return SANITIZER_SUCCESS;
}

int sanitizerPatchModule(CUmodule module)
{
    if (fails("module") || !has(fake.asked, fake.asked_count, module) || fake.patched_count == MOST)
        return FAILURE;
    pthread_mutex_lock(&fake.lock);
    fake.patched[fake.patched_count++] = module;
    pthread_mutex_unlock(&fake.lock);
    return SANITIZER_SUCCESS;
}

static void access_patch(void *table, uint64_t address, uint32_t bytes, bool reads, bool writes)
{
    sampled_mark(table, address, bytes, reads, writes);
}

int sanitizerSetCallbackData(CUfunction function, const void *userdata)
{
    CUmodule module = NULL;
    if (!fake_subscribers())
        abort(); // it was given up
    if (fails("data") || fake.module_of(&module, function) != CUDA_SUCCESS)
        return FAILURE;
    pthread_mutex_lock(&fake.lock);
    const bool patched = has(fake.patched, fake.patched_count, module);
    pthread_mutex_unlock(&fake.lock);
    return patched && fake.sim->watch(function, access_patch, (void *)(uintptr_t)userdata) ==
                          CUDA_SUCCESS
               ? SANITIZER_SUCCESS
               : FAILURE;
}
