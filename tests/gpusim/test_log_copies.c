// SPDX-License-Identifier: Apache-2.0
// The copies, fills and initial contents in the log that the driver writes. Each test runs a
// program in a child and compares the records of its log with what it copied.
#include "log_program.h"

static const char kernels[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .global .align 4 .b8 table[12] = {1, 2, 0, 4};\n"
    ".visible .global .align 4 .u32 nothing[1000];\n"
    ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
    ".reg .u64 %p; .reg .u32 %v; ld.param.u64 %p, [p];\n"
    "ld.param.u32 %v, [v]; st.global.u32 [%p], %v; ret; }\n"
    ".visible .entry hold(.param .u64 flag) {\n"
    ".reg .pred %q; .reg .u32 %r; .reg .u64 %a; ld.param.u64 %a, [flag];\n"
    "again: ld.volatile.global.u32 %r, [%a]; setp.eq.u32 %q, %r, 0; @%q bra again; ret; }\n";

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

// The bytes from, from + 1, ...
static const unsigned char *counted(unsigned from)
{
    static unsigned char bytes[512];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(from + i);
    return bytes;
}

static const struct gpusim_log_copy *copy_at(const struct records *records, size_t n)
{
    const struct gpusim_log_record *record = record_at(records, GPUSIM_LOG_COPY, n);
    assert_non_null(record);
    return &record->copy;
}

static const struct gpusim_log_fill *fill_at(const struct records *records, size_t n)
{
    const struct gpusim_log_record *record = record_at(records, GPUSIM_LOG_FILL, n);
    assert_non_null(record);
    return &record->fill;
}

// Returns the live object of a name, the nth with it; 0 is the first.
static const struct gpusim_object *object_of(const struct records *records, const char *name,
                                             size_t n)
{
    const struct gpusim_log_record *record;
    for (size_t i = 0; (record = record_at(records, GPUSIM_LOG_OBJECT, i)); i++)
        if (!strcmp(record->object->name, name) && n-- == 0)
            return record->object;
    fail_msg("no object %s", name);
    return NULL;
}

static void check_rows(const struct gpusim_log_rows *rows, const struct gpusim_object *object,
                       uint64_t offset)
{
    assert_int_equal(rows->object_count, 1);
    assert_ptr_equal(rows->objects[0], object);
    assert_int_equal(rows->address, object->address + offset);
}

static void check_size(const struct gpusim_log_copy *copy, uint64_t width, uint64_t height,
                       uint64_t depth)
{
    assert_int_equal(copy->width, width);
    assert_int_equal(copy->height, height);
    assert_int_equal(copy->depth, depth);
}

// --- Tests ---------------------------------------------------------------------------------------

static void linear_program(void)
{
    CUdeviceptr one, two, symbol;
    size_t bytes;
    unsigned char host[64];
    start();
    must(cuMemAlloc_v2(&one, 1024));
    must(cuMemAlloc_v2(&two, 1024));
    must(cuMemcpyHtoD_v2(one + 8, counted(7), 64));
    launch(NULL, one + 12, 0x55555555);
    must(cuMemcpyDtoD_v2(two + 100, one + 8, 16));
    must(cuMemcpyDtoH_v2(host, two + 96, 64));
    must(cuModuleGetGlobal_v2(&symbol, &bytes, module, "answer"));
    must(cuMemcpyHtoD_v2(symbol, counted(1), 4));
    must(cuStreamWriteValue64_v2(NULL, two, UINT64_C(0x1122334455667788), 0));
    must(cuStreamWriteValue32_v2(NULL, two + 8, 9, 0));
    must(cuCtxSynchronize());
}

static void copies_have_the_bytes_that_they_wrote_in_order(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(linear_program, &records), 0);
    const struct gpusim_object *one = object_of(&records, "cudaMalloc", 0);
    const struct gpusim_object *two = object_of(&records, "cudaMalloc", 1);
    const struct gpusim_log_copy *copy = copy_at(&records, 0);
    assert_int_equal(copy->call, call_of(&records, "cuMemcpyHtoD_v2", 0, NULL)->number);
    assert_int_equal(copy->stream, 0);
    check_size(copy, 64, 1, 1);
    check_rows(&copy->to, one, 8);
    assert_int_equal(copy->from.object_count, 0);
    assert_memory_equal(copy->bytes, counted(7), 64);

    copy = copy_at(&records, 1); // of what the kernel left
    unsigned char wanted[16];
    memcpy(wanted, counted(7), 16);
    memset(wanted + 4, 0x55, 4);
    assert_int_equal(copy->call, call_of(&records, "cuMemcpyDtoD_v2", 0, NULL)->number);
    check_rows(&copy->to, two, 100);
    check_rows(&copy->from, one, 8);
    assert_memory_equal(copy->bytes, wanted, 16);

    copy = copy_at(&records, 2); // a read
    assert_int_equal(copy->call, call_of(&records, "cuMemcpyDtoH_v2", 0, NULL)->number);
    check_size(copy, 64, 1, 1);
    assert_int_equal(copy->to.object_count, 0);
    check_rows(&copy->from, two, 96);
    assert_null(copy->bytes);

    copy = copy_at(&records, 3); // to a symbol
    check_rows(&copy->to, object_of(&records, "answer", 0), 0);
    assert_memory_equal(copy->bytes, counted(1), 4);
    assert_null(record_at(&records, GPUSIM_LOG_COPY, 4));

    const struct gpusim_log_fill *fill = fill_at(&records, 0); // values that a stream writes
    check_rows(&fill->to, two, 0);
    assert_int_equal(fill->value_bytes, 8);
    assert_int_equal(fill->width, 8);
    assert_int_equal(fill->value, 0x1122334455667788);
    fill = fill_at(&records, 1);
    check_rows(&fill->to, two, 8);
    assert_int_equal(fill->value_bytes, 4);
    assert_int_equal(fill->width, 4);
    assert_int_equal(fill->value, 9);
    assert_null(record_at(&records, GPUSIM_LOG_FILL, 2));

    static const enum gpusim_log_type order[] = {GPUSIM_LOG_COPY, GPUSIM_LOG_LAUNCH,
                                                 GPUSIM_LOG_LAUNCH_END, GPUSIM_LOG_COPY,
                                                 GPUSIM_LOG_COPY};
    size_t at = 0;
    for (size_t i = 0; i < records.all.count; i++) {
        enum gpusim_log_type type = records.all.items[i].type;
        if (at < 5 &&
            (type == GPUSIM_LOG_COPY || type == GPUSIM_LOG_LAUNCH || type == GPUSIM_LOG_LAUNCH_END))
            assert_int_equal(type, order[at++]);
    }
    assert_int_equal(at, 5);
    free_records(&records);
}

static void boxes_program(void)
{
    CUdeviceptr memory;
    CUarray array;
    start();
    must(cuMemAlloc_v2(&memory, 4096));
    must(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                        .srcHost = counted(0),
                                        .srcPitch = 20,
                                        .srcXInBytes = 2,
                                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .dstDevice = memory,
                                        .dstPitch = 128,
                                        .dstY = 1,
                                        .WidthInBytes = 10,
                                        .Height = 3}));
    must(cuMemcpy3D_v2(&(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .srcDevice = memory,
                                        .srcPitch = 128,
                                        .srcHeight = 2,
                                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                        .dstDevice = memory + 2048,
                                        .dstPitch = 64,
                                        .dstHeight = 4,
                                        .WidthInBytes = 5,
                                        .Height = 2,
                                        .Depth = 2}));
    must(cuArray3DCreate_v2(&array, &(CUDA_ARRAY3D_DESCRIPTOR){.Width = 8,
                                                               .Height = 4,
                                                               .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                               .NumChannels = 1}));
    must(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                                        .srcHost = counted(50),
                                        .srcPitch = 4,
                                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                        .dstArray = array,
                                        .dstXInBytes = 2,
                                        .dstY = 2,
                                        .WidthInBytes = 4,
                                        .Height = 2}));
    must(cuCtxSynchronize());
}

static void copies_of_rows_have_their_pitches_and_bytes_without_gaps(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(boxes_program, &records), 0);
    const struct gpusim_object *memory = object_of(&records, "cudaMalloc", 0);
    const struct gpusim_log_copy *copy = copy_at(&records, 0);
    check_size(copy, 10, 3, 1);
    check_rows(&copy->to, memory, 128);
    assert_int_equal(copy->to.pitch, 128);
    assert_int_equal(copy->from.pitch, 20);
    for (unsigned y = 0; y < 3; y++)
        assert_memory_equal(copy->bytes + 10 * (size_t)y, counted(2 + 20 * y), 10);

    copy = copy_at(&records, 1); // the second row of each slice is one that was just written
    check_size(copy, 5, 2, 2);
    check_rows(&copy->to, memory, 2048);
    check_rows(&copy->from, memory, 0);
    assert_int_equal(copy->to.pitch, 64);
    assert_int_equal(copy->to.slice, 256);
    assert_int_equal(copy->from.pitch, 128);
    assert_int_equal(copy->from.slice, 256);
    assert_memory_equal(copy->bytes + 5, counted(2), 5);
    assert_memory_equal(copy->bytes + 10, counted(2 + 20), 5);
    assert_memory_equal(copy->bytes + 15, counted(2 + 40), 5);

    copy = copy_at(&records, 2);
    check_size(copy, 4, 2, 1);
    check_rows(&copy->to, object_of(&records, "cudaMallocArray", 0), 18);
    assert_int_equal(copy->to.pitch, 8);
    assert_memory_equal(copy->bytes, counted(50), 8);
    assert_null(record_at(&records, GPUSIM_LOG_COPY, 3));
    free_records(&records);
}

static void fills_program(void)
{
    CUdeviceptr memory;
    CUstream stream;
    start();
    must(cuMemAlloc_v2(&memory, 4096));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemsetD8_v2(memory, 0xAB, 100));
    must(cuMemsetD2D16_v2(memory + 256, 128, 0x1234, 5, 3));
    must(cuCtxSynchronize());
    must(cuMemsetD32Async(memory + 1024, 0x89ABCDEF, 7, stream));
    must(cuCtxSynchronize());
}

static void fills_have_their_value(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(fills_program, &records), 0);
    static const struct {
        const char *call;
        uint64_t offset, pitch, width, height, value;
        uint32_t value_bytes;
    } expected[] = {{"cuMemsetD8_v2", 0, 0, 100, 1, 0xAB, 1},
                    {"cuMemsetD2D16_v2", 256, 128, 10, 3, 0x1234, 2},
                    {"cuMemsetD32Async", 1024, 0, 28, 1, 0x89ABCDEF, 4}};
    call_of(&records, "cuStreamCreate", 0, &returned);
    uint64_t stream = value_of(returned->outputs, "phStream");
    for (size_t i = 0; i < 3; i++) {
        const struct gpusim_log_fill *fill = fill_at(&records, i);
        assert_int_equal(fill->call, call_of(&records, expected[i].call, 0, NULL)->number);
        assert_int_equal(fill->stream, i == 2 ? stream : 0);
        check_rows(&fill->to, object_of(&records, "cudaMalloc", 0), expected[i].offset);
        assert_int_equal(fill->to.pitch, expected[i].pitch);
        assert_int_equal(fill->width, expected[i].width);
        assert_int_equal(fill->height, expected[i].height);
        assert_int_equal(fill->value, expected[i].value);
        assert_int_equal(fill->value_bytes, expected[i].value_bytes);
    }
    assert_null(record_at(&records, GPUSIM_LOG_FILL, 3));
    assert_null(record_at(&records, GPUSIM_LOG_COPY, 0));
    free_records(&records);
}

// The first copy waits behind a kernel, so its pageable source is staged and may be overwritten.
static void streams_program(void)
{
    CUdeviceptr memory;
    CUstream stream, other;
    CUfunction hold;
    uint32_t *flag;
    CUgraph graph;
    CUgraphExec exec;
    unsigned char bytes[16];
    start();
    must(cuModuleGetFunction(&hold, module, "hold"));
    must(cuMemHostAlloc((void **)&flag, 64, 0));
    must(cuMemAlloc_v2(&memory, 4096));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    *flag = 0;
    memcpy(bytes, counted(3), 16);
    void *params[] = {&flag};
    must(cuLaunchKernel(hold, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    must(cuMemcpyHtoDAsync_v2(memory, bytes, 16, stream));
    memset(bytes, 0xFF, 16);
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    must(cuStreamSynchronize(stream));
    must(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    must(cuMemsetD8Async(memory + 32, 5, 8, stream));
    must(cuMemcpyDtoDAsync_v2(memory + 64, memory + 32, 8, stream));
    must(cuMemcpyDtoHAsync_v2(flag, memory + 64, 8, stream));
    must(cuStreamEndCapture(stream, &graph));
    must(cuGraphInstantiateWithFlags(&exec, graph, 0));
    must(cuGraphLaunch(exec, other));
    must(cuGraphLaunch(exec, other));
    must(cuStreamSynchronize(other));
}

static void copies_of_streams_and_graphs_are_those_of_the_call_that_submitted_them(void **state)
{
    (void)state;
    struct records records;
    const struct gpusim_log_return *returned;
    assert_int_equal(run(streams_program, &records), 0);
    call_of(&records, "cuStreamCreate", 0, &returned);
    uint64_t stream = value_of(returned->outputs, "phStream");
    call_of(&records, "cuStreamCreate", 1, &returned);
    uint64_t other = value_of(returned->outputs, "phStream");
    const struct gpusim_object *memory = object_of(&records, "cudaMalloc", 0);
    const struct gpusim_log_copy *copy = copy_at(&records, 0);
    assert_int_equal(copy->call, call_of(&records, "cuMemcpyHtoDAsync_v2", 0, NULL)->number);
    assert_int_equal(copy->stream, stream);
    assert_int_equal(copy->from.address, 0);
    check_rows(&copy->to, memory, 0);
    assert_memory_equal(copy->bytes, counted(3), 16);
    for (size_t i = 0; i < 2; i++) {
        uint64_t call = call_of(&records, "cuGraphLaunch", i, NULL)->number;
        const struct gpusim_log_fill *fill = fill_at(&records, i);
        assert_int_equal(fill->call, call);
        assert_int_equal(fill->stream, other);
        copy = copy_at(&records, 1 + 2 * i);
        assert_int_equal(copy->call, call);
        assert_int_equal(copy->stream, other);
        check_rows(&copy->to, memory, 64);
        check_rows(&copy->from, memory, 32);
        assert_memory_equal(copy->bytes, "\5\5\5\5\5\5\5\5", 8);
        copy = copy_at(&records, 2 + 2 * i); // kernels may touch pinned memory
        assert_int_equal(copy->call, call);
        check_rows(&copy->to, object_of(&records, "cudaMallocHost", 0), 0);
        assert_memory_equal(copy->bytes, "\5\5\5\5\5\5\5\5", 8);
    }
    assert_null(record_at(&records, GPUSIM_LOG_COPY, 5));
    assert_null(record_at(&records, GPUSIM_LOG_FILL, 2));
    free_records(&records);
}

static void neighbours_program(void)
{
    enum { BYTES = 2 << 20 };
    CUdeviceptr range;
    const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {.location = how.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    start();
    must(cuMemAddressReserve(&range, 2 * BYTES, 0, 0, 0));
    for (unsigned i = 0; i < 2; i++) {
        CUmemGenericAllocationHandle memory;
        must(cuMemCreate(&memory, BYTES, &how, 0));
        must(cuMemMap(range + i * (CUdeviceptr)BYTES, BYTES, 0, memory, 0));
    }
    must(cuMemSetAccess(range, 2 * BYTES, &access, 1));
    must(cuMemsetD8_v2(range + BYTES - 4, 1, 8));
    must(cuCtxSynchronize());
}

static void a_copy_to_several_objects_names_them_all(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(neighbours_program, &records), 0);
    const struct gpusim_log_fill *fill = fill_at(&records, 0);
    assert_int_equal(fill->to.object_count, 2);
    assert_ptr_equal(fill->to.objects[0], object_of(&records, "cuMemMap", 0));
    assert_ptr_equal(fill->to.objects[1], object_of(&records, "cuMemMap", 1));
    free_records(&records);
}

static void variables_have_their_initial_contents(void **state)
{
    (void)state;
    struct records records;
    assert_int_equal(run(start, &records), 0);
    static const struct {
        const char *name;
        size_t byte_count;
        const char *bytes;
    } expected[] = {{"answer", 1, "\x2A"}, {"table", 4, "\1\2\0\4"}, {"nothing", 0, ""}};
    for (size_t i = 0; i < 3; i++) {
        const struct gpusim_log_record *record = record_at(&records, GPUSIM_LOG_CONTENTS, i);
        assert_non_null(record);
        assert_ptr_equal(record->contents.object, object_of(&records, expected[i].name, 0));
        assert_int_equal(record->contents.byte_count, expected[i].byte_count);
        assert_memory_equal(record->contents.bytes, expected[i].bytes, expected[i].byte_count);
    }
    assert_null(record_at(&records, GPUSIM_LOG_CONTENTS, 3));
    free_records(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_have_the_bytes_that_they_wrote_in_order),
        cmocka_unit_test(copies_of_rows_have_their_pitches_and_bytes_without_gaps),
        cmocka_unit_test(fills_have_their_value),
        cmocka_unit_test(copies_of_streams_and_graphs_are_those_of_the_call_that_submitted_them),
        cmocka_unit_test(a_copy_to_several_objects_names_them_all),
        cmocka_unit_test(variables_have_their_initial_contents),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
