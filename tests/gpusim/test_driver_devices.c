// SPDX-License-Identifier: Apache-2.0
// Several devices: each has memory, streams, modules and pools of its own in one address space;
// access to a peer must be enabled; copies and events cross devices. Every test runs in a child
// process, because a process sees the devices that its environment names when it starts.
#include "driver_testing.h"

#include "base/base.h"

static CUcontext contexts[4];

// Retains the primary contexts of `count` devices and makes the first current.
static void open_devices(const char *devices, const char *visible, int count)
{
    int found = 0;
    setenv("GLINT_SIM_DEVICE", devices, 1);
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    else
        unsetenv("CUDA_VISIBLE_DEVICES");
    assert_ok(cuInit(0));
    assert_ok(cuDeviceGetCount(&found));
    assert_int_equal(found, count);
    for (int i = 0; i < count && i < 4; i++)
        assert_ok(cuDevicePrimaryCtxRetain(&contexts[i], i));
    assert_ok(cuCtxSetCurrent(contexts[0]));
}

static void in_child(void (*body)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static CUfunction function_in(CUcontext context, const char *name)
{
    CUmodule module;
    CUfunction function;
    assert_ok(cuCtxSetCurrent(context));
    assert_ok(cuModuleLoadData(&module, kernels));
    assert_ok(cuModuleGetFunction(&function, module, name));
    return function;
}

static CUdeviceptr words_in(CUcontext context, uint32_t value, uint32_t count)
{
    CUdeviceptr p;
    assert_ok(cuCtxSetCurrent(context));
    assert_ok(cuMemAlloc_v2(&p, 4 * count));
    assert_ok(cuMemsetD32_v2(p, value, count));
    assert_ok(cuCtxSynchronize()); // other devices do not wait for it
    return p;
}

static CUresult scale(CUfunction function, CUdeviceptr p, uint32_t count, CUstream stream)
{
    uint32_t factor = 10, summand = 1;
    void *params[] = {&p, &count, &factor, &summand};
    return cuLaunchKernel(function, (count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

// --- What devices there are ----------------------------------------------------------------------

static void body_properties(void)
{
    open_devices("h200*2,a100", NULL, 3);
    char name[64], bus[32];
    CUuuid uuid[3];
    size_t bytes;
    int major, number;
    CUdevice device;
    for (int i = 0; i < 3; i++) {
        assert_ok(cuDeviceGetUuid_v2(&uuid[i], i));
        assert_ok(cuDeviceGetPCIBusId(bus, sizeof bus, i));
        assert_ok(cuDeviceGetByPCIBusId(&device, bus));
        assert_int_equal(device, i);
        assert_ok(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
        assert_int_equal(number, 1 + i);
    }
    assert_memory_not_equal(&uuid[0], &uuid[1], sizeof uuid[0]);
    assert_memory_not_equal(&uuid[0], &uuid[2], sizeof uuid[0]);
    assert_ok(cuDeviceGetName(name, sizeof name, 1));
    assert_string_equal(name, "NVIDIA H200");
    assert_ok(cuDeviceGetName(name, sizeof name, 2));
    assert_string_equal(name, "NVIDIA A100-SXM4-40GB");
    assert_ok(cuDeviceTotalMem_v2(&bytes, 2));
    assert_int_equal(bytes, UINT64_C(42298834944));
    assert_ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2));
    assert_int_equal(major, 8);
    assert_is(cuDeviceGet(&device, 3), CUDA_ERROR_INVALID_DEVICE);
    assert_is(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    assert_is(cuDeviceGetName(name, sizeof name, 3), CUDA_ERROR_INVALID_DEVICE);
    assert_is(cuDevicePrimaryCtxRetain(&contexts[3], 3), CUDA_ERROR_INVALID_DEVICE);
    for (int i = 0; i < 3; i++) {
        assert_ok(cuCtxSetCurrent(contexts[i]));
        assert_ok(cuCtxGetDevice(&device));
        assert_int_equal(device, i);
    }
}

static void each_device_has_its_own_properties(void **state)
{
    (void)state;
    in_child(body_properties);
}

// Returns the physical numbers of the devices that a process sees, as "20", or "-" and the error.
static const char *seen(const char *devices, const char *visible)
{
    static char text[64];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("GLINT_SIM_DEVICE", devices, 1);
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
        freopen("/dev/null", "w", stderr);
        int count = 0, bus;
        const CUresult result = cuInit(0);
        char out[64] = "";
        if (result != CUDA_SUCCESS)
            snprintf(out, sizeof out, "-%d", (int)result);
        else
            cuDeviceGetCount(&count);
        for (int i = 0; i < count; i++) {
            cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i);
            snprintf(out + strlen(out), sizeof out - strlen(out), "%d", bus - 1);
        }
        _exit(write(ends[1], out, strlen(out) + 1) < 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(read(ends[0], text, sizeof text) > 0);
    close(ends[0]);
    close(ends[1]);
    return text;
}

static void the_environment_chooses_devices_and_their_order(void **state)
{
    (void)state;
    assert_string_equal(seen("h200*4", "0,1,2,3"), "0123");
    assert_string_equal(seen("h200*4", "2,0"), "20");
    assert_string_equal(seen("h200*4", " 3 , 1 "), "31");
    assert_string_equal(seen("h200*4", "1,4,2"), "1"); // ends before the first that there is not
    assert_string_equal(seen("h200*4", "1,-1,2"), "1");
    assert_string_equal(seen("h200*4", "1,1,2"), "1");
    assert_string_equal(seen("h200*4", "-1"), "-100");
    assert_string_equal(seen("h200*4", ""), "-100");
    assert_string_equal(seen("h200*4", "4"), "-100");
    assert_string_equal(seen("h200", "0"), "0");
    // UUIDs: 676c696e is "glin"; the fourth byte of device 2 is higher by 2.
    assert_string_equal(seen("h200*4", "GPU-676c6970"), "2");
    assert_string_equal(seen("h200*4", "GPU-676c6970-742d-6832-3030-000000000000,0"), "20");
    assert_string_equal(seen("h200*4", "GPU-676c69"), "-100"); // that of all four
    assert_string_equal(seen("h200*4", "GPU-77"), "-100");
    assert_string_equal(seen("h200*4", "1,GPU-676c6970x"), "1");
    assert_string_equal(seen("h200*33", "0"), "-100"); // too many
    assert_string_equal(seen("h200*0", "0"), "-100");
    assert_string_equal(seen("h200,", "0"), "-100");
}

// --- What each device has ------------------------------------------------------------------------

static void body_own_things(void)
{
    open_devices("h200*2", NULL, 2);
    size_t before[2], after[2], total;
    for (int i = 0; i < 2; i++) {
        assert_ok(cuCtxSetCurrent(contexts[i]));
        assert_ok(cuMemGetInfo_v2(&before[i], &total));
    }
    const CUdeviceptr p = words_in(contexts[0], 1, 1 << 20), q = words_in(contexts[1], 2, 64);
    for (int i = 0; i < 2; i++) {
        assert_ok(cuCtxSetCurrent(contexts[i]));
        assert_ok(cuMemGetInfo_v2(&after[i], &total));
    }
    assert_int_equal(before[0] - after[0], 4 << 20);
    assert_int_equal(before[1] - after[1], 512);
    int ordinal = -1;
    assert_ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    assert_int_equal(ordinal, 0);
    assert_ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, q));
    assert_int_equal(ordinal, 1);
    // A function belongs to the context into which its module was loaded.
    const CUfunction first = function_in(contexts[0], "scale");
    const CUfunction second = function_in(contexts[1], "scale");
    CUstream stream;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_DEFAULT)); // of the second device
    assert_ok(scale(second, q, 64, stream));
    assert_ok(cuStreamSynchronize(stream));
    assert_is(scale(first, p, 64, stream), CUDA_ERROR_INVALID_HANDLE);
    assert_is(scale(first, p, 64, NULL), CUDA_ERROR_INVALID_HANDLE); // the second is current
    CUdevice device = -1;
    assert_ok(cuStreamGetDevice(stream, &device));
    assert_int_equal(device, 1);
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(scale(first, p, 64, NULL));
    assert_int_equal(testing_read(p), 11);
    assert_int_equal(testing_read(q), 21); // a copy may come from any device
    // An event is recorded on its device, and waited for on any.
    CUevent here, there;
    float ms;
    assert_ok(cuEventCreate(&here, 0));
    assert_is(cuEventRecord(here, stream), CUDA_ERROR_INVALID_HANDLE);
    assert_ok(cuEventRecord(here, NULL));
    assert_ok(cuStreamWaitEvent(stream, here, 0));
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuEventCreate(&there, 0));
    assert_ok(cuEventRecord(there, stream));
    assert_ok(cuEventSynchronize(here));
    assert_ok(cuEventSynchronize(there));
    assert_is(cuEventElapsedTime(&ms, here, there), CUDA_ERROR_INVALID_HANDLE);
    // A reset of one device leaves the other alone.
    assert_ok(cuDevicePrimaryCtxReset_v2(1));
    assert_is(cuMemFree_v2(q), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_is(cuMemFree_v2(q), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(testing_read(p), 11);
    assert_ok(cuMemFree_v2(p));
}

static void memory_streams_modules_and_events_belong_to_a_device(void **state)
{
    (void)state;
    in_child(body_own_things);
}

static void body_libraries(void)
{
    open_devices("h200*2", NULL, 2);
    static const char text[] = ".version 8.0\n.target sm_70\n.address_size 64\n"
                               ".visible .global .align 4 .u32 own = 5;\n"
                               ".visible .global .attribute(.managed) .align 4 .u32 all = 6;\n"
                               ".visible .entry add() {\n"
                               "  .reg .u32 %r; .reg .u64 %a<2>;\n"
                               "  mov.u64 %a0, own; ld.global.u32 %r, [%a0]; add.u32 %r, %r, 1;\n"
                               "  st.global.u32 [%a0], %r;\n"
                               "  mov.u64 %a1, all; ld.global.u32 %r, [%a1]; add.u32 %r, %r, 1;\n"
                               "  st.global.u32 [%a1], %r; ret;\n"
                               "}\n";
    CUlibrary library, owner;
    CUkernel kernel;
    CUfunction function[2];
    CUdeviceptr own[2], all[2];
    assert_ok(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    assert_ok(cuLibraryGetKernel(&kernel, library, "add"));
    for (int i = 0; i < 2; i++) {
        assert_ok(cuCtxSetCurrent(contexts[i]));
        assert_ok(cuKernelGetFunction(&function[i], kernel));
        assert_ok(cuLibraryGetGlobal(&own[i], NULL, library, "own"));
        assert_ok(cuLibraryGetManaged(&all[i], NULL, library, "all"));
    }
    assert_ok(cuKernelGetLibrary(&owner, kernel));
    assert_ptr_equal(owner, library);
    assert_ptr_not_equal(function[0], function[1]);
    assert_int_not_equal(own[0], own[1]);
    assert_int_equal(all[0], all[1]);
    // The kernel runs on the device of the stream.
    assert_ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_ok(cuCtxSynchronize());
    assert_int_equal(testing_read(own[0]), 5);
    assert_int_equal(testing_read(own[1]), 6);
    assert_int_equal(testing_read(all[0]), 7);
    assert_is(cuLaunchKernel(function[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
              CUDA_ERROR_INVALID_HANDLE);
    // A reset restores the variables of one device.
    assert_ok(cuDevicePrimaryCtxReset_v2(1));
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_ok(cuCtxSynchronize());
    assert_int_equal(testing_read(own[0]), 6);
    assert_int_equal(testing_read(own[1]), 5);
    assert_int_equal(testing_read(all[0]), 8);
    assert_ok(cuLibraryUnload(library));
}

static void libraries_have_variables_on_each_device_but_managed_ones_once(void **state)
{
    (void)state;
    in_child(body_libraries);
}

// --- Peers ---------------------------------------------------------------------------------------

static void body_peers(void)
{
    open_devices("h200*2,a100", NULL, 3);
    int can = -1;
    assert_ok(cuDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    assert_ok(cuDeviceCanAccessPeer(&can, 0, 2));
    assert_int_equal(can, 0);
    assert_ok(cuDeviceCanAccessPeer(&can, 0, 0));
    assert_int_equal(can, 0);
    assert_is(cuDeviceCanAccessPeer(&can, 0, 3), CUDA_ERROR_INVALID_DEVICE);
    assert_ok(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
    assert_int_equal(can, 1);
    assert_ok(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 2, 1));
    assert_int_equal(can, 0);
    assert_is(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
              CUDA_ERROR_INVALID_DEVICE);
    assert_is(cuCtxEnablePeerAccess(contexts[1], 1), CUDA_ERROR_INVALID_VALUE);
    assert_is(cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_INVALID_CONTEXT);
    assert_is(cuCtxEnablePeerAccess(NULL, 0), CUDA_ERROR_INVALID_CONTEXT);
    assert_is(cuCtxEnablePeerAccess(contexts[2], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    assert_is(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    // What a kernel may access: memory that existed before and that was made later.
    const CUdeviceptr early = words_in(contexts[1], 4, 64);
    const CUfunction function = function_in(contexts[0], "scale");
    unsigned flags = 9;
    assert_ok(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, early));
    assert_int_equal(flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
    assert_is(cuCtxEnablePeerAccess(contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    assert_ok(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, early));
    assert_int_equal(flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    const CUdeviceptr late = words_in(contexts[1], 5, 64);
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(scale(function, early, 64, NULL));
    assert_ok(scale(function, late, 64, NULL));
    assert_ok(cuCtxSynchronize());
    assert_int_equal(testing_read(early), 41);
    assert_int_equal(testing_read(late), 51);
    assert_ok(cuCtxDisablePeerAccess(contexts[1]));
    assert_is(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    assert_ok(scale(function, early, 64, NULL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Access counts in one direction only.
static void body_other_direction(void)
{
    open_devices("h200*2", NULL, 2);
    const CUdeviceptr p = words_in(contexts[0], 1, 64);
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
    const CUfunction function = function_in(contexts[1], "scale");
    assert_ok(scale(function, p, 64, NULL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Kernels that may go on beyond allocations still need access to those of a peer.
static void body_lenient(void)
{
    setenv("GLINT_SIM_MEMORY_ERRORS", "warn", 1);
    body_other_direction();
}

static void body_reset_ends_access(void)
{
    open_devices("h200*2", NULL, 2);
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
    assert_ok(cuDevicePrimaryCtxReset_v2(1));
    CUcontext again;
    assert_ok(cuDevicePrimaryCtxRetain(&again, 1));
    const CUdeviceptr p = words_in(contexts[1], 1, 64);
    const CUfunction function = function_in(contexts[0], "scale");
    assert_ok(scale(function, p, 64, NULL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_kernel_accesses_a_peer_only_while_that_is_enabled(void **state)
{
    (void)state;
    in_child(body_peers);
    in_child(body_other_direction);
    in_child(body_lenient);
    in_child(body_reset_ends_access);
}

// --- Messages ------------------------------------------------------------------------------------

// Sends stderr to a file without a name.
static void catch_messages(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(dup2(fileno(file), 2) == 2);
    fclose(file);
}

// Runs a kernel of device 0 at the address, which may not access it, and compares the message.
static void fail_at(CUdeviceptr p, const char *expected)
{
    static char text[4096];
    const CUfunction function = function_in(contexts[0], "scale");
    catch_messages();
    assert_ok(scale(function, p, 1, NULL));
    assert_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    const ssize_t length = pread(2, text, sizeof(text) - 1, 0);
    assert_true(length > 0);
    text[length] = '\0';
    if (!strstr(text, expected))
        fail_msg("'%s' is not in: %s", expected, text);
}

static void body_names_the_device(void)
{
    open_devices("h200*2", NULL, 2);
    words_in(contexts[0], 1, 64);
    fail_at(words_in(contexts[1], 1, 64) + 8,
            " of device 1, to which device 0 has no access (cudaDeviceEnablePeerAccess gives it)");
}

static void body_names_the_device_of_near_objects(void)
{
    open_devices("h200*2", NULL, 2);
    const CUdeviceptr p = words_in(contexts[1], 1, 64);
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
    fail_at(p + 256, " of device 1\n");
}

static void body_names_what_gives_access_to_pools(void)
{
    CUdeviceptr p;
    open_devices("h200*2", NULL, 2);
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuMemAllocAsync(&p, 256, NULL));
    assert_ok(cuCtxSynchronize());
    fail_at(p, " of device 1, to which device 0 has no access (cudaMemPoolSetAccess gives it)");
}

static void a_fault_names_the_device_and_the_missing_access(void **state)
{
    (void)state;
    in_child(body_names_the_device);
    in_child(body_names_the_device_of_near_objects);
    in_child(body_names_what_gives_access_to_pools);
}

// --- Memory with an access of its own ------------------------------------------------------------

// Pools do not follow the access of contexts, but that of cuMemPoolSetAccess.
static void use_pool(bool admitted)
{
    open_devices("h200*2", NULL, 2);
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0));
    CUmemoryPool pool, other;
    CUdeviceptr p;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    assert_ok(cuDeviceGetDefaultMemPool(&pool, 1));
    assert_ok(cuDeviceGetDefaultMemPool(&other, 0));
    assert_ptr_not_equal(pool, other);
    assert_is(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
    assert_ok(cuMemPoolGetAccess(&flags, pool, &location));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    const CUmemAccessDesc access = {.location = location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const CUmemAccessDesc unknown = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2},
                                     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    assert_is(cuMemPoolSetAccess(pool, &unknown, 1), CUDA_ERROR_INVALID_DEVICE);
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuMemAllocAsync(&p, 256, NULL));
    assert_ok(cuMemsetD32_v2(p, 3, 64));
    assert_ok(cuCtxSynchronize());
    if (admitted)
        assert_ok(cuMemPoolSetAccess(pool, &access, 1));
    int ordinal = -1;
    assert_ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    assert_int_equal(ordinal, 1);
    const CUfunction function = function_in(contexts[0], "scale");
    unsigned access_flags = 9;
    assert_ok(cuPointerGetAttribute(&access_flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, p));
    assert_int_equal(access_flags, admitted ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                            : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
    assert_ok(scale(function, p, 64, NULL));
    assert_is(cuCtxSynchronize(), admitted ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
    if (!admitted)
        return;
    assert_int_equal(testing_read(p), 31);
    // Memory that the pool gives out later is accessible from the start.
    CUdeviceptr next;
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuMemAllocAsync(&next, 4096, NULL));
    assert_ok(cuMemsetD32_v2(next, 7, 64));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(scale(function, next, 64, NULL));
    assert_ok(cuCtxSynchronize());
    assert_int_equal(testing_read(next), 71);
}

static void body_pool_without(void)
{
    use_pool(false);
}

static void body_pool_with(void)
{
    use_pool(true);
}

static void pools_admit_devices_themselves(void **state)
{
    (void)state;
    in_child(body_pool_with);
    in_child(body_pool_without);
}

static void use_mapping(bool admitted)
{
    open_devices("h200*2", NULL, 2);
    const size_t bytes = 2 << 20;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    CUmemAccessDesc access[2] = {
        {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    unsigned long long flags;
    size_t before, after, total;
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuMemGetInfo_v2(&before, &total));
    assert_ok(cuMemCreate(&handle, bytes, &prop, 0));
    assert_ok(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before - after, bytes);
    assert_ok(cuMemAddressReserve(&p, bytes, 0, 0, 0));
    assert_ok(cuMemMap(p, bytes, 0, handle, 0));
    assert_ok(cuMemSetAccess(p, bytes, access, admitted ? 2 : 1));
    assert_ok(cuMemGetAccess(&flags, &access[1].location, p));
    assert_int_equal(flags,
                     admitted ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE);
    assert_ok(cuMemsetD32_v2(p, 2, 64));
    assert_ok(cuCtxSynchronize());
    const CUfunction function = function_in(contexts[0], "scale");
    assert_ok(cuCtxEnablePeerAccess(contexts[1], 0)); // has no effect on mapped memory
    assert_ok(scale(function, p, 64, NULL));
    assert_is(cuCtxSynchronize(), admitted ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
    if (admitted)
        assert_int_equal(testing_read(p), 21);
}

static void body_mapping_without(void)
{
    use_mapping(false);
}

static void body_mapping_with(void)
{
    use_mapping(true);
}

static void mapped_memory_admits_devices_itself(void **state)
{
    (void)state;
    in_child(body_mapping_with);
    in_child(body_mapping_without);
}

// --- Memory for all, copies ----------------------------------------------------------------------

static void body_shared_memory(void)
{
    open_devices("h200,a100", NULL, 2); // that are no peers
    CUdeviceptr managed;
    uint32_t *pinned;
    assert_ok(cuMemAllocManaged(&managed, 256, CU_MEM_ATTACH_GLOBAL));
    assert_ok(cuMemHostAlloc((void **)&pinned, 256, 0));
    for (int i = 0; i < 64; i++)
        pinned[i] = ((uint32_t *)(uintptr_t)managed)[i] = 1;
    for (int i = 0; i < 2; i++) {
        const CUfunction function = function_in(contexts[i], "scale");
        assert_ok(scale(function, managed, 64, NULL));
        assert_ok(scale(function, (CUdeviceptr)(uintptr_t)pinned, 64, NULL));
        assert_ok(cuCtxSynchronize());
    }
    assert_int_equal(pinned[63], 111);
    assert_int_equal(((uint32_t *)(uintptr_t)managed)[0], 111);
    assert_ok(cuMemAdvise(managed, 256, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 1));
    assert_ok(cuMemAdvise(managed, 256, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    assert_is(cuMemAdvise(managed, 256, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 2),
              CUDA_ERROR_INVALID_DEVICE);
    assert_ok(cuMemPrefetchAsync(managed, 256, 1, NULL));
    assert_is(cuMemPrefetchAsync(managed, 256, 2, NULL), CUDA_ERROR_INVALID_DEVICE);
}

static void managed_and_pinned_memory_is_for_all_devices(void **state)
{
    (void)state;
    in_child(body_shared_memory);
}

static void body_copies(void)
{
    open_devices("h200,a100", NULL, 2); // copies need no access
    const CUdeviceptr p = words_in(contexts[0], 1, 64), q = words_in(contexts[1], 2, 64);
    CUcontext invalid = (CUcontext)&invalid;
    assert_ok(cuMemcpyPeer(q, contexts[1], p, contexts[0], 128));
    assert_int_equal(testing_read(q), 1);
    assert_int_equal(testing_read(q + 128), 2);
    assert_is(cuMemcpyPeer(q, contexts[1], p, invalid, 128), CUDA_ERROR_INVALID_CONTEXT);
    assert_is(cuMemcpyPeer(q, NULL, p, contexts[0], 128), CUDA_ERROR_INVALID_CONTEXT);
    assert_ok(cuMemsetD32_v2(p, 3, 64));
    assert_ok(cuMemcpyDtoD_v2(q, p, 256));
    assert_int_equal(testing_read(q + 128), 3);
    CUstream stream;
    assert_ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_ok(cuMemsetD32Async(p, 4, 64, stream));
    assert_ok(cuMemcpyPeerAsync(q, contexts[1], p, contexts[0], 256, stream));
    assert_ok(cuStreamSynchronize(stream));
    assert_int_equal(testing_read(q), 4);
    CUDA_MEMCPY3D_PEER box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = p,
                              .srcContext = contexts[0],
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = q,
                              .dstContext = contexts[1],
                              .srcPitch = 64,
                              .dstPitch = 128,
                              .WidthInBytes = 64,
                              .Height = 2,
                              .Depth = 1};
    assert_ok(cuMemsetD32_v2(p, 5, 64));
    assert_ok(cuMemcpy3DPeer(&box));
    assert_int_equal(testing_read(q), 5);
    assert_int_equal(testing_read(q + 64), 4);
    assert_int_equal(testing_read(q + 128), 5);
}

static void memory_is_copied_between_devices_without_access(void **state)
{
    (void)state;
    in_child(body_copies);
}

// A copy without a stream between two devices waits for work of both, also in streams that do not
// wait for the default stream, and later work of both waits for it.
static void body_order(void)
{
    open_devices("h200*2", NULL, 2);
    const CUdeviceptr p = words_in(contexts[0], 1, 64), q = words_in(contexts[1], 2, 64);
    t.hold = function_in(contexts[1], "hold");
    assert_ok(cuMemHostAlloc((void **)&t.flag, 4096, 0));
    CUstream busy;
    assert_ok(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING)); // of the source's device
    testing_hold(busy);
    assert_ok(cuMemsetD32Async(q, 9, 64, busy));
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(cuMemcpyPeer(p, contexts[0], q, contexts[1], 256)); // does not wait
    assert_false(testing_released());
    assert_ok(cuMemsetD32Async(q, 7, 64, busy)); // waits for the copy
    testing_end_later();
    assert_int_equal(testing_read(p), 9);
    assert_true(testing_released());
    pthread_join(t.setter, NULL);
    assert_ok(cuStreamSynchronize(busy));
    assert_int_equal(testing_read(q), 7);
}

static void a_copy_between_devices_is_in_order_with_the_work_of_both(void **state)
{
    (void)state;
    in_child(body_order);
}

// Waiting for one device does not wait for another.
static void body_waits(void)
{
    open_devices("h200*2", NULL, 2);
    const CUdeviceptr p = words_in(contexts[0], 1, 64);
    t.hold = function_in(contexts[1], "hold");
    assert_ok(cuMemHostAlloc((void **)&t.flag, 4096, 0));
    testing_hold(NULL);
    assert_ok(cuCtxSetCurrent(contexts[0]));
    assert_ok(cuCtxSynchronize());
    assert_ok(cuMemFree_v2(p));
    assert_false(testing_released());
    testing_let_go();
    assert_ok(cuCtxSetCurrent(contexts[1]));
    assert_ok(cuCtxSynchronize());
}

static void waiting_is_for_one_device(void **state)
{
    (void)state;
    in_child(body_waits);
}

static void body_graph(void)
{
    open_devices("h200*2", NULL, 2);
    const CUdeviceptr p = words_in(contexts[0], 1, 64), q = words_in(contexts[1], 2, 64);
    CUfunction functions[2] = {function_in(contexts[0], "scale"),
                               function_in(contexts[1], "scale")};
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[2];
    uint32_t count = 64, factor = 10, summand = 1;
    assert_ok(cuGraphCreate(&graph, 0));
    for (int i = 0; i < 2; i++) {
        CUdeviceptr of = i ? q : p;
        void *params[] = {&of, &count, &factor, &summand};
        const CUDA_KERNEL_NODE_PARAMS node = {.func = functions[i],
                                              .gridDimX = 1,
                                              .gridDimY = 1,
                                              .gridDimZ = 1,
                                              .blockDimX = 64,
                                              .blockDimY = 1,
                                              .blockDimZ = 1,
                                              .kernelParams = params,
                                              .ctx = contexts[i]};
        assert_ok(cuGraphAddKernelNode_v2(&nodes[i], graph, nodes, (size_t)i, &node));
    }
    assert_ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_ok(cuGraphLaunch(exec, NULL));
    assert_ok(cuCtxSynchronize());
    assert_int_equal(testing_read(p), 11);
    assert_int_equal(testing_read(q), 21);
}

static void a_graph_has_kernels_of_several_devices(void **state)
{
    (void)state;
    in_child(body_graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_has_its_own_properties),
        cmocka_unit_test(the_environment_chooses_devices_and_their_order),
        cmocka_unit_test(memory_streams_modules_and_events_belong_to_a_device),
        cmocka_unit_test(libraries_have_variables_on_each_device_but_managed_ones_once),
        cmocka_unit_test(a_kernel_accesses_a_peer_only_while_that_is_enabled),
        cmocka_unit_test(a_fault_names_the_device_and_the_missing_access),
        cmocka_unit_test(pools_admit_devices_themselves),
        cmocka_unit_test(mapped_memory_admits_devices_itself),
        cmocka_unit_test(managed_and_pinned_memory_is_for_all_devices),
        cmocka_unit_test(memory_is_copied_between_devices_without_access),
        cmocka_unit_test(a_copy_between_devices_is_in_order_with_the_work_of_both),
        cmocka_unit_test(waiting_is_for_one_device),
        cmocka_unit_test(a_graph_has_kernels_of_several_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
