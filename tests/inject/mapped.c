// SPDX-License-Identifier: Apache-2.0
// Uses memory that it maps piece by piece: mapped NAME. Objects 1 to 3 are pieces that follow each
// other, and 4 is another one. Copies and sets reach several pieces, or memory is used in a way
// that no call shows.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "program.h"

enum { PIECES = 3, OTHER = PIECES + 1 };

static const CUmemAllocationProp about = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          .requestedHandleTypes =
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
static CUdeviceptr first, other;
static CUmemGenericAllocationHandle memory, of_first; // of the last and of the first mapping
static size_t bytes;
static char *host;

static void map(CUdeviceptr at)
{
    const CUmemAccessDesc access = {about.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemMap(at, bytes, 0, memory, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
}

static void map_all(void)
{
    CHECK(cuMemGetAllocationGranularity(&bytes, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&first, 6 * bytes, 0, 0, 0));
    other = first + 4 * bytes; // with room before and behind it
    for (unsigned i = 0; i < OTHER; i++) {
        CHECK(cuMemCreate(&memory, bytes, &about, 0));
        map(i < PIECES ? first + i * bytes : other);
        of_first = i ? of_first : memory;
    }
    host = calloc(PIECES, bytes);
}

static void copy_rows(void)
{
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = first + bytes / 2,
                                .srcPitch = bytes,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = host,
                                .dstPitch = 64,
                                .WidthInBytes = 64,
                                .Height = 2};
    CHECK(cuMemcpy2D_v2(&copy));
}

static void set_in_graph(void)
{
    const CUDA_MEMSET_NODE_PARAMS set = {
        .dst = first + bytes, .elementSize = 1, .width = bytes + 1, .height = 1};
    CUcontext context;
    CUgraph graph;
    CUgraphExec ready;
    CUgraphNode node;
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0));
    CHECK(cuGraphLaunch(ready, NULL));
}

// Writes the second piece twice, with the same value, and in between all pieces with another one.
// The first piece is mapped at two addresses.
static void fill_again(bool between)
{
    memory = of_first;
    map(other + bytes);
    CHECK(cuMemsetD8_v2(first + bytes, 1, bytes));
    if (between)
        CHECK(cuMemsetD8_v2(first, 2, PIECES * bytes));
    CHECK(cuMemsetD8_v2(first + bytes, 1, bytes));
    CHECK(cuMemcpyDtoH_v2(host, first + bytes, bytes));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int file;
    start_thread();
    map_all();
    // The first value is never read at this address.
    CHECK(cuMemsetD8_v2(other, 1, bytes));
    if (strcmp(name, "set") == 0)
        CHECK(cuMemsetD8_v2(first, 1, PIECES * bytes));
    else if (strcmp(name, "copy") == 0)
        CHECK(cuMemcpyDtoH_v2(host, first + bytes - 1, 2));
    else if (strcmp(name, "move") == 0)
        CHECK(cuMemcpyDtoD_v2(first + bytes, first, bytes + 1));
    else if (strcmp(name, "rows") == 0)
        copy_rows();
    else if (strcmp(name, "graph") == 0)
        set_in_graph();
    else if (strcmp(name, "again") == 0 || strcmp(name, "between") == 0)
        fill_again(strcmp(name, "between") == 0);
    else if (strcmp(name, "unmapped") == 0) { // and mapped again, as another object
        CHECK(cuMemUnmap(first + bytes, bytes));
        CHECK(cuMemCreate(&memory, bytes, &about, 0));
        map(first + bytes);
        CHECK(cuMemsetD8_v2(first, 1, PIECES * bytes));
    } else if (strcmp(name, "twice") == 0) {
        map(other + bytes);
        CHECK(cuMemcpyDtoH_v2(host, other + bytes, bytes));
    } else if (strcmp(name, "exported") == 0) {
        CHECK(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0));
    } else if (strcmp(name, "bound") == 0) { // to nothing, which fails
        (void)cuMulticastBindMem(0, 0, memory, 0, bytes, 0);
    } else if (strcmp(name, "bound_address") == 0) {
        (void)cuMulticastBindAddr(0, 0, other, bytes, 0);
    }
    CHECK(cuMemsetD8_v2(other, 2, bytes));
    CHECK(cuMemcpyDtoH_v2(host, other, bytes));
    free(host);
    return 0;
}
