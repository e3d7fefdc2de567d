// SPDX-License-Identifier: Apache-2.0
// The host side of a tool for the vendor's Sanitizer API that does nothing: patches the accesses
// to global memory of every loaded module with noop_access, from the file that NOOP_PATCH names.
// It is preloaded, or named by CUDA_INJECTION64_PATH. bench/kernels/run builds it if the vendor's
// headers are installed. At the end it prints how many modules have the patch, or what went
// wrong.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <sanitizer.h>

static struct {
    bool started;
    CUcontext context; // where the patch was loaded last
    unsigned modules;
    const char *failed; // the name of the call that failed
    int status;
} tool;

static bool succeeded(SanitizerResult status, const char *call)
{
    if (status != SANITIZER_SUCCESS && !tool.failed) {
        tool.failed = call;
        tool.status = (int)status;
    }
    return status == SANITIZER_SUCCESS;
}

static void patch(const Sanitizer_ResourceModuleData *loaded)
{
    if (tool.context != loaded->context) {
        if (!succeeded(sanitizerAddPatchesFromFile(getenv("NOOP_PATCH"), loaded->context),
                       "sanitizerAddPatchesFromFile"))
            return;
        tool.context = loaded->context;
    }
    if (succeeded(sanitizerPatchInstructions(SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS,
                                             loaded->module, "noop_access"),
                  "sanitizerPatchInstructions") &&
        succeeded(sanitizerPatchModule(loaded->module), "sanitizerPatchModule"))
        tool.modules++;
}

static void called(void *user, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
                   const void *data)
{
    (void)user;
    if (domain == SANITIZER_CB_DOMAIN_RESOURCE && id == SANITIZER_CBID_RESOURCE_MODULE_LOADED)
        patch(data);
}

static void say(void)
{
    if (tool.failed)
        fprintf(stderr, "noop_sanitizer: %s failed with %d\n", tool.failed, tool.status);
    fprintf(stderr, "noop_sanitizer: %u modules patched\n", tool.modules);
}

// Called by the loader, and by the driver if it loads the library; the first call counts.
__attribute__((constructor, visibility("default"))) int InitializeInjection(void)
{
    if (tool.started)
        return 1;
    tool.started = true;
    atexit(say);
    Sanitizer_SubscriberHandle subscriber;
    if (succeeded(sanitizerSubscribe(&subscriber, called, NULL), "sanitizerSubscribe"))
        succeeded(sanitizerEnableDomain(1, subscriber, SANITIZER_CB_DOMAIN_RESOURCE),
                  "sanitizerEnableDomain");
    return 1;
}
