// SPDX-License-Identifier: Apache-2.0
// The driver gives glint the address of the thread's current context (struct cudaabi_sim). It holds
// what cuCtxGetCurrent returns, whatever changes it, and each thread has its own.
#include "driver_testing.h"

#include <pthread.h>

static const CUcontext *place(void)
{
    const CUuuid id = CUDAABI_SIM_ID;
    const void *table = NULL;
    assert_ok(cuGetExportTable(&table, &id));
    const struct cudaabi_sim *sim = table;
    assert_true(sim->size_bytes >= sizeof(*sim));
    return sim->current();
}

static void assert_current(const CUcontext *at, CUcontext wanted)
{
    CUcontext said;
    assert_ok(cuCtxGetCurrent(&said));
    assert_ptr_equal(said, wanted);
    assert_ptr_equal(*at, wanted);
}

static void the_place_holds_the_current_context(void **state)
{
    (void)state;
    CUcontext first, second, primary, popped;
    assert_ok(cuInit(0));
    const CUcontext *at = place();
    assert_current(at, NULL);
    assert_ok(cuCtxCreate_v2(&first, 0, 0));
    assert_current(at, first);
    assert_ok(cuCtxCreate_v2(&second, 0, 0));
    assert_current(at, second);
    assert_ok(cuCtxPopCurrent_v2(&popped));
    assert_current(at, first);
    assert_ok(cuCtxPushCurrent_v2(second));
    assert_current(at, second);
    assert_ok(cuCtxDestroy_v2(second));
    assert_current(at, first);
    assert_ok(cuDevicePrimaryCtxRetain(&primary, 0));
    assert_current(at, first);
    assert_ok(cuCtxSetCurrent(primary));
    assert_current(at, primary);
    assert_ok(cuCtxSetCurrent(NULL));
    assert_current(at, NULL);
    assert_ok(cuCtxDestroy_v2(first)); // the context is not current
    assert_current(at, NULL);
    assert_ok(cuDevicePrimaryCtxRelease_v2(0));
}

static void *elsewhere(void *mine)
{
    assert_current(place(), NULL);
    assert_ptr_not_equal(place(), mine);
    return NULL;
}

static void each_thread_has_its_own(void **state)
{
    (void)state;
    CUcontext context;
    pthread_t thread;
    const CUcontext *at = place();
    assert_ok(cuCtxCreate_v2(&context, 0, 0));
    assert_int_equal(pthread_create(&thread, NULL, elsewhere, (void *)(uintptr_t)at), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_current(at, context);
    assert_ok(cuCtxDestroy_v2(context));
}

int main(void)
{
    unsetenv("GLINT_SIM_DEVICE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_holds_the_current_context),
        cmocka_unit_test(each_thread_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
