// SPDX-License-Identifier: Apache-2.0
// The log of API calls, objects and launches that the driver writes. Each test runs a program in a
// child that ends normally, and compares its log with what it did.
#include "log_program.h"

#include <pthread.h>
#include <signal.h>

static const char kernels[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
    ".reg .u64 %p; .reg .u32 %v; ld.param.u64 %p, [p];\n"
    "ld.param.u32 %v, [v]; st.global.u32 [%p], %v; ret; }\n"
    ".visible .entry texels(.param .u64 t, .param .u64 s) {\n"
    ".reg .u64 %t, %s; .reg .u32 %i, %x, %y, %r<5>; ld.param.u64 %t, [t];\n"
    "ld.param.u64 %s, [s]; mov.u32 %i, %tid.x; mov.u32 %y, 2; shl.b32 %x, %i, 2;\n"
    "tex.2d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%t, {%i, %y}];\n"
    "sust.b.2d.b32.trap [%s, {%x, %y}], %i;\n"
    "suld.b.2d.b32.trap %r0, [%s, {%x, %y}]; ret; }\n";

// --- Programs ------------------------------------------------------------------------------------

static CUmodule module;
static CUfunction put;

static void start(void)
{
    CUcontext context;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, kernels));
    must(cuModuleGetFunction(&put, module, "put"));
}

static void launch(CUstream stream, CUdeviceptr to, uint32_t value)
{
    void *params[] = {&to, &value};
    must(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void plain_program(void)
{
    CUdeviceptr memory;
    uint32_t word = 5;
    start();
    must(cuMemAlloc_v2(&memory, 1024));
    must(cuMemcpyHtoD_v2(memory, &word, 4));
    launch(NULL, memory + 8, 77);
    must(cuCtxSynchronize());
    must(cuMemsetD8_v2(memory, 255, 1024));
    must(cuMemFree_v2(memory));
    if (cuMemFree_v2(memory) != CUDA_ERROR_INVALID_VALUE)
        abort();
}

static void calls_have_arguments_outputs_and_results_in_order(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    char text[200];
    assert_int_equal(run(plain_program, &records), 0);
    assert_int_equal(records.state, GPUSIM_LOG_COMPLETE);
    static const char *const names[] = {"cuInit",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent",
                                        "cuModuleLoadData",
                                        "cuModuleGetFunction",
                                        "cuMemAlloc_v2",
                                        "cuMemcpyHtoD_v2",
                                        "cuLaunchKernel",
                                        "cuCtxSynchronize",
                                        "cuMemsetD8_v2",
                                        "cuMemFree_v2",
                                        "cuMemFree_v2"};
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    assert_int_equal(count_records(&records, GPUSIM_LOG_CALL), COUNT);
    assert_int_equal(count_records(&records, GPUSIM_LOG_RETURN), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const struct gpusim_log_call *call = &record_at(&records, GPUSIM_LOG_CALL, i)->call;
        assert_string_equal(call->name, names[i]);
        assert_int_equal(call->number, i + 1);
        assert_int_equal(call->inside, 0);
        assert_int_equal(call->thread, 1);
    }
    assert_string_equal(call_of(&records, "cuInit", 0, NULL)->arguments, "Flags=0");
    assert_string_equal(call_of(&records, "cuMemAlloc_v2", 0, &returned)->arguments,
                        "bytesize=1024");
    unsigned long long memory = value_of(returned->outputs, "dptr");
    snprintf(text, sizeof(text), "dptr=0x%llx", memory);
    assert_string_equal(returned->outputs, text);
    const char *copy = call_of(&records, "cuMemcpyHtoD_v2", 0, NULL)->arguments;
    assert_int_equal(value_of(copy, "dstDevice"), memory);
    assert_int_equal(value_of(copy, "ByteCount"), 4);
    snprintf(text, sizeof(text), "dstDevice=0x%llx uc=255 N=1024", memory);
    assert_string_equal(call_of(&records, "cuMemsetD8_v2", 0, NULL)->arguments, text);
    assert_non_null(
        strstr(call_of(&records, "cuModuleGetFunction", 0, NULL)->arguments, " name=\"put\""));
    const char *launched = call_of(&records, "cuLaunchKernel", 0, NULL)->arguments;
    assert_int_equal(value_of(launched, "gridDimX"), 1);
    assert_int_equal(value_of(launched, "hStream"), 0);
    call_of(&records, "cuMemFree_v2", 1, &returned);
    assert_int_equal(returned->result, CUDA_ERROR_INVALID_VALUE);
    assert_string_equal(returned->outputs, "");
    free_records(&records);
}

// The program's records, in order: the module's variable, the allocation, the launch, its store,
// the end of the allocation.
static void objects_launches_and_accesses_are_between_their_calls(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(plain_program, &records), 0);
    enum { MODULE, ALLOC, MADE, LAUNCH, STORED, LAUNCHED, FREE, ENDED, ALL };
    size_t at = 0;
    const struct gpusim_object *memory = NULL;
    uint64_t launching = call_of(&records, "cuLaunchKernel", 0, NULL)->number;
    for (size_t i = 0; i < records.all.count; i++) {
        const struct gpusim_log_record *record = &records.all.items[i];
        bool call = record->type == GPUSIM_LOG_CALL;
        if (at == MODULE && record->type == GPUSIM_LOG_OBJECT) {
            assert_string_equal(record->object->name, "answer");
            assert_int_equal(record->object->kind, GPUSIM_OBJECT_VARIABLE);
            at++;
        } else if (at == ALLOC && call && !strcmp(record->call.name, "cuMemAlloc_v2")) {
            at++;
        } else if (at == MADE && record->type == GPUSIM_LOG_OBJECT) {
            memory = record->object;
            assert_int_equal(memory->size_bytes, 1024);
            assert_int_equal(memory->kind, GPUSIM_OBJECT_DEVICE);
            at++;
        } else if (at == LAUNCH && record->type == GPUSIM_LOG_LAUNCH) {
            assert_string_equal(record->launch->kernel, "put");
            assert_int_equal(record->launch->call, launching);
            assert_int_equal(record->launch->stream, 0);
            at++;
        } else if (at == STORED && record->type == GPUSIM_LOG_ACCESS) {
            assert_ptr_equal(record->access.object, memory);
            assert_int_equal(record->access.address[0], memory->address + 8);
            assert_memory_equal(record->access.values, &(uint32_t){77}, 4);
            at++;
        } else if (at == LAUNCHED && record->type == GPUSIM_LOG_LAUNCH_END) {
            at++;
        } else if (at == FREE && call && !strcmp(record->call.name, "cuMemFree_v2")) {
            at++;
        } else if (at == ENDED && record->type == GPUSIM_LOG_OBJECT_END) {
            assert_ptr_equal(record->object, memory);
            at++;
        }
    }
    assert_int_equal(at, ALL);
    free_records(&records);
}

static void streams_program(void)
{
    CUstream one, two;
    CUdeviceptr memory;
    start();
    must(cuMemAlloc_v2(&memory, 64));
    must(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    launch(one, memory, 1);
    launch(two, memory + 4, 2);
    launch(one, memory + 8, 3);
    launch(CU_STREAM_PER_THREAD, memory + 12, 4);
    must(cuCtxSynchronize());
    CUgraph graph;
    CUgraphExec exec;
    must(cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(one, memory + 16, 5);
    must(cuStreamEndCapture(one, &graph));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, two));
    must(cuStreamSynchronize(two));
    must(cuGraphExecDestroy(exec));
    must(cuGraphDestroy(graph));
}

// Each stored value identifies a launch, and thereby the stream and the call that it must have.
static void launches_know_their_stream_and_the_call_that_submitted_them(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(streams_program, &records), 0);
    call_of(&records, "cuStreamCreate", 0, &returned);
    uint64_t one = value_of(returned->outputs, "phStream");
    call_of(&records, "cuStreamCreate", 1, &returned);
    uint64_t two = value_of(returned->outputs, "phStream");
    const uint64_t streams[] = {one, two, one, 2, two};
    uint32_t seen = 0;
    for (size_t i = 0; i < 5; i++) {
        const struct gpusim_log_record *record = record_at(&records, GPUSIM_LOG_ACCESS, i);
        assert_non_null(record);
        const struct gpusim_log_access *access = &record->access;
        uint32_t value;
        memcpy(&value, access->values, 4);
        assert_in_range(value, 1, 5);
        seen |= 1u << value;
        assert_int_equal(access->launch->stream, streams[value - 1]);
        const struct gpusim_log_call *call =
            value == 5 ? call_of(&records, "cuGraphLaunch", 0, NULL)
                       : call_of(&records, "cuLaunchKernel", value - 1, NULL);
        assert_int_equal(access->launch->call, call->number);
    }
    assert_int_equal(seen, 0x3E);
    assert_null(record_at(&records, GPUSIM_LOG_ACCESS, 5));
    free_records(&records);
}

static void kinds_program(void)
{
    CUdeviceptr pool, managed;
    void *host;
    static char own[8192];
    start();
    must(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    must(cuMemHostAlloc(&host, 200, 0));
    must(cuMemHostRegister_v2(own, sizeof(own), 0));
    must(cuMemAllocAsync(&pool, 300, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuMemFreeAsync(pool, NULL));
    must(cuStreamSynchronize(NULL));
    must(cuMemHostUnregister(own));
    must(cuMemFreeHost(host));
    must(cuMemFree_v2(managed));
}

static void every_kind_of_memory_is_an_object_while_it_lives(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(kinds_program, &records), 0);
    static const struct {
        enum gpusim_object_kind kind;
        uint64_t bytes;
    } expected[] = {{GPUSIM_OBJECT_VARIABLE, 4},
                    {GPUSIM_OBJECT_MANAGED, 100},
                    {GPUSIM_OBJECT_HOST, 200},
                    {GPUSIM_OBJECT_HOST, 8192},
                    {GPUSIM_OBJECT_POOL, 300}};
    for (size_t i = 0; i < 5; i++) {
        const struct gpusim_object *object = record_at(&records, GPUSIM_LOG_OBJECT, i)->object;
        assert_int_equal(object->kind, expected[i].kind);
        assert_int_equal(object->size_bytes, expected[i].bytes);
        if (i) // they end in reverse order
            assert_ptr_equal(record_at(&records, GPUSIM_LOG_OBJECT_END, 4 - i)->object, object);
    }
    assert_null(record_at(&records, GPUSIM_LOG_OBJECT, 5));
    free_records(&records);
}

// An array of 4 by 4 texels of two 16-bit channels, whose row 2 is read and written.
static void textures_program(void)
{
    CUarray array;
    CUtexObject texture;
    CUsurfObject surface;
    CUfunction function;
    uint16_t texels[32];
    start();
    for (unsigned i = 0; i < 32; i++)
        texels[i] = (uint16_t)(100 + i);
    must(
        cuArray3DCreate_v2(&array, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = 4,
                                                              .Height = 4,
                                                              .Format = CU_AD_FORMAT_UNSIGNED_INT16,
                                                              .NumChannels = 2,
                                                              .Flags = CUDA_ARRAY3D_SURFACE_LDST}));
    must(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                        .srcHost = texels,
                                        .srcPitch = 16,
                                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                        .dstArray = array,
                                        .WidthInBytes = 16,
                                        .Height = 4}));
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    must(cuTexObjectCreate(&texture, &resource, &how, NULL));
    must(cuSurfObjectCreate(&surface, &resource));
    must(cuModuleGetFunction(&function, module, "texels"));
    void *params[] = {&texture, &surface};
    must(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
    must(cuCtxSynchronize());
}

static void textures_and_surfaces_touch_the_bytes_of_their_array(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(textures_program, &records), 0);
    static const struct {
        const char *text;
        enum gpusim_log_access_kind kind;
        enum gpusim_log_space space;
    } expected[] = {{"tex.2d.v4.u32.s32", GPUSIM_LOG_LOAD, GPUSIM_LOG_TEXTURE},
                    {"sust.b.2d.b32.trap", GPUSIM_LOG_STORE, GPUSIM_LOG_SURFACE},
                    {"suld.b.2d.b32.trap", GPUSIM_LOG_LOAD, GPUSIM_LOG_SURFACE}};
    uint64_t row = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct gpusim_log_record *record = record_at(&records, GPUSIM_LOG_ACCESS, i);
        assert_non_null(record);
        const struct gpusim_log_access *access = &record->access;
        assert_string_equal(access->site->text, expected[i].text);
        assert_int_equal(access->kind, expected[i].kind);
        assert_int_equal(access->space, expected[i].space);
        assert_int_equal(access->object->kind, GPUSIM_OBJECT_ARRAY);
        assert_int_equal(access->bytes, 4);
        assert_int_equal(access->mask, 0xF);
        row = i ? row : access->address[0]; // two rows into the array, whatever the row pitch
        assert_in_range(row - access->object->address, 32, access->object->size_bytes / 2);
        for (uint32_t lane = 0; lane < 4; lane++) {
            uint32_t value, texel = (116 + 2 * lane) | (117 + 2 * lane) << 16;
            memcpy(&value, access->values + lane * access->value_stride, 4);
            assert_int_equal(value, i ? lane : texel);
            assert_int_equal(access->address[lane], row + 4 * lane);
        }
    }
    assert_null(record_at(&records, GPUSIM_LOG_ACCESS, 3));
    free_records(&records);
}

static void *count_devices(void *unused)
{
    int count;
    must(cuDeviceGetCount(&count));
    return unused;
}

static void structures_program(void)
{
    CUdeviceptr memory;
    size_t pitch;
    char host[256];
    pthread_t thread;
    start();
    must(cuMemAllocPitch_v2(&memory, &pitch, 100, 2, 4));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 128,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory,
                          .dstPitch = pitch,
                          .WidthInBytes = 100,
                          .Height = 2};
    must(cuMemcpy2D_v2(&copy));
    if (cuMulticastUnbind(0, 0, 0, 0) != CUDA_ERROR_NOT_SUPPORTED) // not supported
        abort();
    void *door = NULL;
    must(cuGetProcAddress_v2("cuDeviceGetCount", &door, 13000, 0, NULL));
    int count;
    must(((CUresult(*)(int *))door)(&count));
    if (pthread_create(&thread, NULL, count_devices, NULL) || pthread_join(thread, NULL))
        abort();
}

static void structures_threads_and_functions_by_any_door_are_logged(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(structures_program, &records), 0);
    call_of(&records, "cuMemAllocPitch_v2", 0, &returned);
    uint64_t memory = value_of(returned->outputs, "dptr");
    uint64_t pitch = value_of(returned->outputs, "pPitch");
    const char *copy = call_of(&records, "cuMemcpy2D_v2", 0, NULL)->arguments;
    assert_int_equal(value_of(copy, "pCopy.srcMemoryType"), CU_MEMORYTYPE_HOST);
    assert_int_equal(value_of(copy, "pCopy.dstDevice"), memory);
    assert_int_equal(value_of(copy, "pCopy.dstPitch"), pitch);
    assert_int_equal(value_of(copy, "pCopy.srcPitch"), 128);
    assert_int_equal(value_of(copy, "pCopy.WidthInBytes"), 100);
    assert_int_equal(value_of(copy, "pCopy.Height"), 2);
    call_of(&records, "cuMulticastUnbind", 0, &returned);
    assert_int_equal(returned->result, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(call_of(&records, "cuDeviceGetCount", 0, &returned)->thread, 1);
    assert_string_equal(returned->outputs, "count=1");
    assert_int_equal(call_of(&records, "cuDeviceGetCount", 1, NULL)->thread, 2);
    free_records(&records);
}

static void killed_program(void)
{
    CUdeviceptr memory;
    start();
    must(cuMemAlloc_v2(&memory, 4096));
    launch(NULL, memory, 1);
    must(cuCtxSynchronize());
    raise(SIGKILL);
}

static void a_program_that_is_killed_leaves_all_it_has_done(void **state)
{
    (void)state;
    struct records records;
    int status = run(killed_program, &records);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(records.state, GPUSIM_LOG_UNFINISHED);
    assert_int_equal(count_records(&records, GPUSIM_LOG_ACCESS), 1);
    assert_int_equal(count_records(&records, GPUSIM_LOG_LAUNCH_END), 1);
    call_of(&records, "cuCtxSynchronize", 0, NULL);
    free_records(&records);
}

static void forking_program(void)
{
    int status, version;
    start();
    pid_t child = fork();
    if (child == 0) {
        cuDriverGetVersion(&version);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        abort();
    must(cuCtxSynchronize());
}

static void forked_children_do_not_write(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(forking_program, &records), 0);
    assert_int_equal(records.state, GPUSIM_LOG_COMPLETE);
    call_of(&records, "cuCtxSynchronize", 0, NULL);
    for (size_t i = 0; i < records.all.count; i++)
        assert_true(records.all.items[i].type != GPUSIM_LOG_CALL ||
                    strcmp(records.all.items[i].call.name, "cuDriverGetVersion") != 0);
    free_records(&records);
}

static void logs_of_processes_are_kept_apart_by_their_numbers(void **state)
{
    (void)state;
    int status;
    char pattern[80], log[120];
    snprintf(pattern, sizeof(pattern), "%s.%%p", path);
    pid_t child = fork();
    if (child == 0) {
        setenv("GLINT_SIM_LOG", pattern, 1);
        must(cuInit(0));
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(log, sizeof(log), "%s.%d", path, (int)child);
    struct records records = read_records(log);
    assert_int_equal(count_records(&records, GPUSIM_LOG_CALL), 1);
    free_records(&records);
    assert_int_equal(unlink(log), 0);
}

static void asking_program(void)
{
    int version;
    must(cuDriverGetVersion(&version));
}

static void a_program_that_never_starts_the_driver_has_a_whole_log(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(asking_program, &records), 0);
    assert_int_equal(records.state, GPUSIM_LOG_COMPLETE);
    call_of(&records, "cuDriverGetVersion", 0, &returned);
    assert_string_equal(returned->outputs, "driverVersion=13000");
    free_records(&records);
}

static void ask_for_devices(void *unused)
{
    int count;
    (void)unused;
    cuDeviceGetCount(&count); // not permitted in a host function
}

static void callback_program(void)
{
    start();
    must(cuLaunchHostFunc(NULL, ask_for_devices, NULL));
    must(cuStreamSynchronize(NULL));
}

// The thread that waits may or may not be the one that runs the function.
static void calls_of_host_functions_are_the_programs(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(callback_program, &records), 0);
    assert_int_equal(call_of(&records, "cuDeviceGetCount", 0, &returned)->inside, 0);
    assert_int_equal(returned->result, CUDA_ERROR_NOT_PERMITTED);
    free_records(&records);
}

static void nowhere_program(void)
{
    setenv("GLINT_SIM_LOG", "/no/such/folder/log", 1);
    if (cuInit(0) != CUDA_ERROR_OPERATING_SYSTEM)
        abort();
}

static void a_log_that_cannot_be_written_fails_the_start(void **state)
{
    (void)state;
    assert_int_equal(run(nowhere_program, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(calls_have_arguments_outputs_and_results_in_order),
        TEST(objects_launches_and_accesses_are_between_their_calls),
        TEST(launches_know_their_stream_and_the_call_that_submitted_them),
        TEST(every_kind_of_memory_is_an_object_while_it_lives),
        TEST(textures_and_surfaces_touch_the_bytes_of_their_array),
        TEST(structures_threads_and_functions_by_any_door_are_logged),
        TEST(a_program_that_is_killed_leaves_all_it_has_done),
        TEST(forked_children_do_not_write),
        TEST(logs_of_processes_are_kept_apart_by_their_numbers),
        TEST(a_program_that_never_starts_the_driver_has_a_whole_log),
        TEST(calls_of_host_functions_are_the_programs),
        TEST(a_log_that_cannot_be_written_fails_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
