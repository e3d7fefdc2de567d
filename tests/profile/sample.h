// SPDX-License-Identifier: Apache-2.0
// A small profile with every kind of row, for the tests of src/profile, of `glint query` and of the
// queries in docs/reference/profile.md. The imaginary program adds vectors twice, once in a graph.
#ifndef GLINT_TESTS_PROFILE_SAMPLE_H
#define GLINT_TESTS_PROFILE_SAMPLE_H

#include <stddef.h>

#include "profile/profile.h"
#include "sample_caches.h"

// --- The rows ------------------------------------------------------------------------------------

static const char *const sample_arguments[] = {"./vectors", "--count", "1000 \"big\"\n"};

static const struct profile_program sample_program = {.executable = "/home/me/vectors",
                                                      .folder = "/home/me",
                                                      .arguments = sample_arguments,
                                                      .argument_count = 3,
                                                      .pid = 4711,
                                                      .parent = 4000,
                                                      .driver_version = 13000,
                                                      .start_monotonic_ns = 5000000000,
                                                      .start_unix_ns = 1794700000000000000,
                                                      .simulated = true,
                                                      .timestamps = true,
                                                      .rank = {.host = "node07",
                                                               .launcher = "slurm",
                                                               .job = "4242.0",
                                                               .has_number = true,
                                                               .number = 0,
                                                               .has_count = true,
                                                               .count = 8},
                                                      .has_end = true,
                                                      .end_ns = 9000000,
                                                      .calls_made = 15,
                                                      .objects_made = 6};

static const struct profile_image sample_images[] = {
    {1, "/home/me/vectors", "0badc0de", 0x400000, 0x480000, 0x400000},
    {2, "/usr/lib/libc.so.6", NULL, 0x7f0000000000, 0x7f0000100000, 0x7f0000000000},
};

static const struct profile_function sample_functions[] = {
    {1, "cuMemAlloc_v2"},       {2, "cuMemcpyHtoD_v2"},   {3, "cuLaunchKernel"},
    {4, "cuStreamSynchronize"}, {5, "cuMemFree_v2"},      {6, "cuGraphLaunch"},
    {7, "cuEventRecord"},       {8, "cuStreamWaitEvent"}, {9, "cuMemcpyDtoH_v2"},
    {10, "cuMemsetD8_v2"},      {11, "cuMemAllocAsync"},
};

static const struct profile_thread sample_threads[] = {{1, 4711, "vectors"}, {2, 4712, NULL}};

static const struct profile_device sample_devices[] = {
    {1, 9, 0, 132, 150754820096, "NVIDIA H200", "00112233445566778899aabbccddeeff"}};

static const struct profile_context sample_contexts[] = {{1, 1}};

static const struct profile_stream sample_streams[] = {
    {1, 1, PROFILE_STREAM_LEGACY, 0, 0},
    {2, 1, PROFILE_STREAM_NON_BLOCKING, -5, 0},
    {3, 1, PROFILE_STREAM_PER_THREAD, 0, 2},
};

static const struct profile_module sample_modules[] = {
    {1, 1, 20480, 0xfedcba9876543210, true, "vectors.cu"}};

static const struct profile_kernel sample_kernels[] = {
    {1, 1, 16, 0, 0, "add(float*, float const*, int)", "_Z3addPfPKfi"},
    {2, 1, 12, 4096, 8, "scale(float*, float, int)", "_Z5scalePffi"},
};

static const struct profile_frame sample_frames_1[] = {
    {"allocate", "vectors.cu", 12, 1, 0x1234, true, 0, false},
    {"main", "vectors.cu", 40, 1, 0x1234, false, 0, false},
    {"__libc_start_main", NULL, 0, 2, 0x27000, false, 0, false},
};
static const struct profile_frame sample_frames_2[] = {
    {"main", "vectors.cu", 51, 1, 0x1300, false, 0x1200, false},
    {"__libc_start_main", NULL, 0, 2, 0x27000, false, 0, false},
};
static const struct profile_frame sample_frames_3[] = {{NULL, NULL, 0, 1, 0x2000, false, 0, false}};

static const struct profile_path sample_paths[] = {
    {1, sample_frames_1, 3, false, "cudaMalloc", PROFILE_RESULT_UNKNOWN},
    {2, sample_frames_2, 2, true, NULL, PROFILE_RESULT_LOOKED_AT},
    {3, NULL, 0, false, "cudaMemcpyAsync", PROFILE_RESULT_IGNORED},
    {4, sample_frames_3, 1, false, NULL, PROFILE_RESULT_UNKNOWN},
};

static const struct profile_node sample_nodes[] = {
    {.kind = PROFILE_NODE_SET,
     .set = {.address = 0x10000,
             .object = 1,
             .bytes = 4096,
             .pitch = 512,
             .width_bytes = 256,
             .height = 16,
             .value = 0,
             .value_bytes = 4}},
    {.kind = PROFILE_NODE_KERNEL, .launch = {2, {4, 2, 1}, {128, 1, 1}, 1024, 0}},
    {.kind = PROFILE_NODE_COPY,
     .copy = {.bytes = 4000,
              .from = 0x10000,
              .to = 0x20000,
              .from_object = 1,
              .to_object = 2,
              .from_pitch = 1,
              .to_pitch = 2,
              .width_bytes = 3,
              .height = 4,
              .depth = 5,
              .from_memory = PROFILE_MEMORY_DEVICE,
              .to_memory = PROFILE_MEMORY_ARRAY,
              .direction = PROFILE_DEVICE_TO_DEVICE}},
    {.kind = PROFILE_NODE_ALLOC, .range = {0x90000, 64, 6}},
    {.kind = PROFILE_NODE_FREE, .range = {0x90000, 0, 6}},
    {.kind = PROFILE_NODE_EVENT_RECORD, .event = 7},
    {.kind = PROFILE_NODE_EMPTY},
};

static const struct profile_graph sample_graphs[] = {{1, sample_nodes, 7}, {2, NULL, 0}};

static const struct profile_edge sample_edges[] = {{1, 1, 2}, {1, 1, 3}, {1, 2, 3}, {1, 3, 7}};

// Not in the order of their numbers, as if several threads called.
static const struct profile_call sample_calls[] = {
    {.number = 1,
     .start_ns = 1000,
     .end_ns = 51000,
     .function = 1,
     .thread = 1,
     .context = 1,
     .path = 1,
     .kind = PROFILE_CALL_ALLOC,
     .range = {0x10000, 4000, 1}},
    {.number = 3,
     .start_ns = 70000,
     .end_ns = 90000,
     .function = 2,
     .thread = 1,
     .context = 1,
     .stream = 1,
     .path = 2,
     .waited_ns = 15000,
     .kind = PROFILE_CALL_COPY,
     .flags = PROFILE_CALL_WAITED,
     .has_gpu_time = true,
     .gpu_start_ns = 75000,
     .gpu_end_ns = 88000,
     .copy = {.bytes = 4000,
              .from = 0x7fff0000,
              .to = 0x10000,
              .to_object = 1,
              .from_memory = PROFILE_MEMORY_PAGEABLE,
              .to_memory = PROFILE_MEMORY_DEVICE,
              .direction = PROFILE_HOST_TO_DEVICE,
              .host = PROFILE_HOST_ALLOCATED,
              .block = 1}},
    {.number = 2,
     .start_ns = 52000,
     .end_ns = 60000,
     .function = 1,
     .thread = 2,
     .context = 1,
     .path = 1,
     .kind = PROFILE_CALL_ALLOC,
     .range = {0x20000, 8000, 2}},
    {.number = 4,
     .start_ns = 95000,
     .end_ns = 99000,
     .function = 10,
     .thread = 1,
     .context = 1,
     .stream = 1,
     .path = 2,
     .kind = PROFILE_CALL_SET,
     .flags = PROFILE_CALL_ASYNC,
     .set = {.address = 0x20000,
             .object = 2,
             .bytes = 8000,
             .pitch = 100,
             .width_bytes = 80,
             .height = 100,
             .value = 0xffffffff,
             .value_bytes = 4}},
    {.number = 5,
     .start_ns = 100000,
     .end_ns = 104000,
     .function = 3,
     .thread = 1,
     .context = 1,
     .stream = 2,
     .path = 2,
     .kind = PROFILE_CALL_LAUNCH,
     .flags = PROFILE_CALL_ASYNC,
     .launch = {1, {8, 1, 1}, {128, 1, 1}, 0, 0}},
    {.number = 6,
     .start_ns = 105000,
     .end_ns = 108000,
     .function = 3,
     .thread = 1,
     .context = 1,
     .stream = 2,
     .path = 2,
     .result = 701,
     .kind = PROFILE_CALL_LAUNCH,
     .flags = PROFILE_CALL_ASYNC,
     .launch = {2, {1, 2, 3}, {4, 5, 6}, 49152, PROFILE_LAUNCH_COOPERATIVE}},
    {.number = 7,
     .start_ns = 110000,
     .end_ns = 111000,
     .function = 7,
     .thread = 1,
     .context = 1,
     .stream = 2,
     .path = 2,
     .kind = PROFILE_CALL_EVENT_RECORD,
     .flags = PROFILE_CALL_ASYNC,
     .sync = {7, 2, 1}},
    {.number = 8,
     .start_ns = 112000,
     .end_ns = 113000,
     .function = 8,
     .thread = 1,
     .context = 1,
     .stream = 1,
     .path = 2,
     .kind = PROFILE_CALL_EVENT_WAIT,
     .flags = PROFILE_CALL_ASYNC,
     .sync = {7, 1, 1}},
    {.number = 9,
     .start_ns = 120000,
     .end_ns = 130000,
     .function = 6,
     .thread = 1,
     .context = 1,
     .stream = 1,
     .path = 2,
     .kind = PROFILE_CALL_GRAPH_LAUNCH,
     .flags = PROFILE_CALL_ASYNC,
     .has_gpu_time = true,
     .gpu_start_ns = 140000,
     .gpu_end_ns = 180000,
     .graph = 1},
    {.number = 10,
     .start_ns = 131000,
     .end_ns = 200000,
     .function = 4,
     .thread = 1,
     .context = 1,
     .stream = 2,
     .path = 2,
     .waited_ns = 60000,
     .kind = PROFILE_CALL_SYNC,
     .flags = PROFILE_CALL_WAITED,
     .sync = {0, 2, 0}},
    {.number = 11,
     .start_ns = 201000,
     .end_ns = 220000,
     .function = 9,
     .thread = 1,
     .context = 1,
     .stream = 1,
     .path = 2,
     .waited_ns = 10000,
     .kind = PROFILE_CALL_COPY,
     .flags = PROFILE_CALL_WAITED,
     .has_gpu_time = true,
     .gpu_start_ns = 203000,
     .gpu_end_ns = 217000,
     .copy = {.bytes = 4000,
              .from = 0x10000,
              .to = 0x30000,
              .from_object = 1,
              .to_object = 4,
              .from_pitch = 512,
              .to_pitch = 400,
              .width_bytes = 400,
              .height = 10,
              .depth = 1,
              .from_memory = PROFILE_MEMORY_DEVICE,
              .to_memory = PROFILE_MEMORY_PINNED,
              .direction = PROFILE_DEVICE_TO_HOST}},
    {.number = 12,
     .start_ns = 221000,
     .end_ns = 222000,
     .function = 11,
     .thread = 1,
     .context = 1,
     .stream = 2,
     .path = 4,
     .kind = PROFILE_CALL_ALLOC,
     .flags = PROFILE_CALL_ASYNC,
     .range = {0x40000, 1 << 20, 3}},
    {.number = 13,
     .start_ns = 223000,
     .end_ns = 224000,
     .function = 5,
     .thread = 1,
     .context = 1,
     .path = 2,
     .kind = PROFILE_CALL_FREE,
     .range = {0x10000, 4000, 1}},
    {.number = 14,
     .start_ns = 225000,
     .end_ns = 226000,
     .thread = 1,
     .context = 1,
     .path = 3,
     .kind = PROFILE_CALL_OTHER,
     .flags = PROFILE_CALL_CAPTURED},
    {.number = 15,
     .start_ns = -5,
     .end_ns = 5,
     .kind = PROFILE_CALL_MEMORY,
     .range = {UINT64_MAX, UINT64_MAX, 0}},
};

static const struct profile_time sample_times[] = {
    {5, 0, 101000, 150000, true},  {6, 0, 150000, 150500, false}, {9, 1, 140000, 145000, false},
    {9, 2, 145000, 170000, false}, {9, 3, 170000, 180000, false},
};

static const struct profile_object sample_objects[] = {
    {.number = 1,
     .kind = PROFILE_OBJECT_DEVICE,
     .address = 0x10000,
     .bytes = 4000,
     .call = 1,
     .context = 1,
     .device = 1,
     .has_end = true,
     .end_call = 13,
     .name = "A_gpu",
     .name_source = PROFILE_NAME_SOURCE},
    {.number = 2,
     .kind = PROFILE_OBJECT_PITCHED,
     .address = 0x20000,
     .bytes = 8000,
     .call = 2,
     .pitch = 100,
     .width_bytes = 80,
     .height = 80,
     .depth = 1,
     .context = 1,
     .device = 1,
     .name = "vectors.cu:12",
     .name_source = PROFILE_NAME_PLACE},
    {.number = 3,
     .kind = PROFILE_OBJECT_POOL,
     .address = 0x40000,
     .bytes = 1 << 20,
     .call = 12,
     .context = 1,
     .device = 1,
     .stream = 2,
     .has_end = true,
     .end_stream = 1},
    {.number = 4, .kind = PROFILE_OBJECT_PINNED, .address = 0x30000, .bytes = 4000, .context = 1},
    {.number = 5,
     .kind = PROFILE_OBJECT_PART,
     .address = 0x40100,
     .bytes = 256,
     .parent = 3,
     .context = 1,
     .device = 1,
     .name = "tensor",
     .name_source = PROFILE_NAME_PROGRAM},
    {.number = 6, .kind = PROFILE_OBJECT_GRAPH, .address = 0x90000, .bytes = 64, .device = 1},
};

static const struct profile_nvtx_range sample_nvtx_ranges[] = {
    {.number = 1,
     .name = "step",
     .thread = 1,
     .start_ns = 10,
     .end_ns = 90000,
     .has_end = true,
     .pushed = true,
     .end_thread = 1},
    {.number = 2,
     .name = "load",
     .domain = "files",
     .thread = 1,
     .start_ns = 20,
     .end_ns = 30,
     .has_end = true,
     .end_thread = 2},
    {.number = 4, .name = "open", .thread = 2, .start_ns = 40, .pushed = true},
};

static const struct profile_note sample_notes[] = {
    {PROFILE_WARNING, "kernel foo: no PTX"},
    {PROFILE_INFO, "a note with a tab\tand a \"quote\", and a comma"},
};

static const struct profile_dropped sample_dropped[] = {{"call", 3}, {"time", 12}};

static const struct profile_setting sample_settings[] = {{"analyses", "objects,elements,counts"},
                                                         {"sample", "10"}};

// --- Rows from probes ----------------------------------------------------------------------------

static const struct profile_probe sample_probes[] = {
    {1,
     PROFILE_PROBE_OBJECTS | PROFILE_PROBE_ELEMENTS | PROFILE_PROBE_COUNTS |
         PROFILE_PROBE_ONLY_MEMORY,
     NULL},
    {2, 0, "it calls through a pointer"},
};

static const struct profile_kernel_site sample_kernel_sites[] = {
    {.kernel = 1,
     .number = 1,
     .function = "add(float*, float const*, int)",
     .opcode = "ld.global.v4.f32",
     .type = "f32",
     .type_count = 4,
     .bytes = 16,
     .access = PROFILE_SITE_LOAD,
     .instruction = 12,
     .ptx_line = 40,
     .file = "vectors.cu",
     .line = 20,
     .column = 9,
     .inlined_function = "load(float const*)",
     .at_file = "vectors.cu",
     .at_line = 31,
     .at_column = 5},
    {.kernel = 1,
     .number = 2,
     .opcode = "red.add.u64",
     .access = PROFILE_SITE_ATOMIC,
     .generic = true,
     .instruction = 13},
};

// Elements of the first launch, then again; an object observed only as a whole; one in a graph.
static const struct profile_access sample_accesses[] = {
    {.call = 5,
     .object = 1,
     .read = true,
     .bytes_read = 8000,
     .bytes_written = 0,
     .elements = 1000,
     .new_elements = 1000,
     .shared_elements = 0,
     .element_bytes = 4},
    {.call = 5,
     .object = 2,
     .read = true,
     .written = true,
     .bytes_read = PROFILE_UNKNOWN,
     .bytes_written = PROFILE_UNKNOWN,
     .elements = PROFILE_UNKNOWN,
     .new_elements = PROFILE_UNKNOWN,
     .shared_elements = PROFILE_UNKNOWN},
    {.call = 9,
     .object = 1,
     .node = 2,
     .written = true,
     .bytes_read = 0,
     .bytes_written = 400,
     .elements = 100,
     .new_elements = 0,
     .shared_elements = 100,
     .element_bytes = 4},
};

// 996 elements were touched once, 2 twice, 1 three times and 1 997 times.
static const struct profile_counts sample_counts[] = {{.call = 5,
                                                       .object = 1,
                                                       .most = 997,
                                                       .most_at = 7,
                                                       .sum = 2000,
                                                       .squares_low = 995022,
                                                       .bins = {996, 0, 2, 1, [19] = 1},
                                                       .hottest = {{0, 8, 1010}, {96, 8, 16}}}};

static const unsigned char sample_bits[125] = {0xff, 0x01, [124] = 0x80};

// In the order of copies, nodes, objects and synchronizations.
static const struct profile_use sample_uses[] = {
    {.sync = 9,
     .object = 1,
     .kind = PROFILE_USE_UNWATCHED,
     .address = 0x1000,
     .bytes = 4096,
     .time_ns = 700},
    {.sync = 4,
     .copy = 3,
     .kind = PROFILE_USE_READ,
     .address = 0x2010,
     .offset = 16,
     .bytes = 64,
     .unwatched_bytes = 8,
     .time_ns = 500,
     .thread = 1,
     .path = 1},
    {.sync = 5,
     .copy = 3,
     .node = 2,
     .object = 7,
     .kind = PROFILE_USE_SYSTEM,
     .address = 0x3000,
     .bytes = 8,
     .time_ns = 600,
     .thread = 1,
     .path = 2},
};

static const struct profile_hash sample_hashes[] = {
    {.copy = 3, .at = 5, .high = UINT64_MAX, .low = 0xabc, .took_ns = 70, .same = PROFILE_SAME_NO},
};

static const struct profile_copy_source sample_copy_sources[] = {
    {.copy = 3, .at = 6, .took_ns = 40, .same = PROFILE_SAME_YES},
};

static const struct profile_block sample_blocks[] = {
    {.number = 1,
     .address = 0x7000,
     .bytes = 65536,
     .allocated_ns = -100,
     .allocated_path = 1,
     .kind = PROFILE_HOST_ALLOCATED},
    {.number = 2, .address = 0x9000, .bytes = 4096, .kind = PROFILE_HOST_FILE},
};

static const struct profile_block_end sample_block_ends[] = {
    {.number = 1, .freed_ns = 800, .thread = 1, .freed_path = 2},
};

// Written in an order other than that of calls. The second has the same field twice.
static const struct profile_contents sample_contents[] = {
    {.call = 9,
     .object = 2,
     .pieces = 1,
     .bytes = 4000,
     .moved_bytes = 4000,
     .same_bytes = 4000,
     .known_pieces = 2,
     .all_pieces = 2,
     .hash_high = 0xfedcba9876543210,
     .hash_low = 0xabc,
     .node = 3,
     .flags = PROFILE_CONTENTS_CONCURRENT,
     .kind = PROFILE_CONTENTS_WRITTEN},
    {.call = 5,
     .object = 1,
     .pieces = 1,
     .bytes = 4000,
     .fresh_pieces = 1,
     .moved_bytes = 4000,
     .known_pieces = 1,
     .all_pieces = 1,
     .hash_high = 1,
     .hash_low = 2,
     .stride = 8,
     .kind = PROFILE_CONTENTS_FOUND,
     .field_count = 2,
     .fields = {{.elements = 500,
                 .zeros = 300,
                 .nans = 1,
                 .least = 0xc000000000000000,
                 .greatest = 0x3ff8000000000000,
                 .any_bits = 0xffc00000,
                 .all_bits = 0x1,
                 .integral = 400,
                 .narrow = 499,
                 .brief = 498,
                 .slope = 0x3fe0000000000000,
                 .intercept = 0x8000000000000001,
                 .linear = 2,
                 .distinct = 12,
                 .type = PROFILE_TYPE_F32,
                 .candidates = {{0, 300}, {0x7ff8000000000000, 1}},
                 .roundings = {{0x3ff0000000000000, 301, 3}, [6] = {0x4000000000000000, 400, 4}}},
                {.elements = 500,
                 .least = 3,
                 .greatest = UINT64_MAX,
                 .any_bits = UINT64_MAX,
                 .slope = UINT64_MAX,
                 .intercept = 7,
                 .linear = 500,
                 .distinct = 257,
                 .offset = 4,
                 .type = PROFILE_TYPE_U64,
                 .candidates = {{UINT64_MAX, 10}, {3, 9}}}}},
    {.call = 5,
     .object = 2,
     .pieces = 1,
     .bytes = 4000,
     .moved_bytes = 4000,
     .same_bytes = 4000,
     .known_pieces = 1,
     .all_pieces = 2,
     .stride = 4,
     .kind = PROFILE_CONTENTS_WRITTEN,
     .field_count = 1,
     .fields = {{.elements = 1000,
                 .least = 0x10,
                 .greatest = 0x10,
                 .any_bits = 0x10,
                 .all_bits = 0x10,
                 .distinct = 1,
                 .type = PROFILE_TYPE_RAW,
                 .candidates = {{0x10, 1000}}}}},
};

static const struct profile_stored sample_stores[] = {
    {.call = 5,
     .object = 2,
     .stores = 1000,
     .silent = 900,
     .still = 640,
     .kernel = 1,
     .site = 2,
     .bytes = 8},
    {.call = 9,
     .stores = 64,
     .still = PROFILE_UNKNOWN,
     .node = 2,
     .kernel = 2,
     .site = 1,
     .bytes = 4},
};

static const struct profile_requests sample_requests[] = {
    {.call = 5,
     .object = 1,
     .requests = 100,
     .taken = 3200,
     .needed = 1600,
     .lines = 400,
     .stride = 4096,
     .kernel = 1,
     .site = 1,
     .has_stride = true},
    {.call = 9,
     .requests = 3,
     .taken = 12,
     .needed = 3,
     .node = 2,
     .kernel = 1,
     .site = 2,
     .shared = true},
    {.call = 9,
     .requests = 4,
     .taken = 16,
     .needed = 16,
     .lines = 4,
     .node = 2,
     .kernel = 1,
     .site = 3,
     .local = true},
};

static const struct profile_shared_array sample_shared_arrays[] = {
    {.kernel = 1, .number = 1, .bytes = 1026, .name = "tile"},
    {.kernel = 1, .number = 2, .name = "rest"},
};

static const struct profile_site_array sample_site_arrays[] = {
    {.kernel = 1, .site = 2, .name = "tile"},
};

static const struct profile_shared_run sample_shared_runs[] = {{200, 32, 2}, {57, 0, 0}, {4, 0, 1}};
static const struct profile_shared_words sample_shared_words[] = {
    {.call = 5,
     .blocks = 8,
     .kernel = 1,
     .array = 1,
     .bytes = 1026,
     .missed = 3,
     .flags = PROFILE_SHARED_AT_LEAST,
     .runs = sample_shared_runs,
     .run_count = 2},
    {.call = 9,
     .blocks = 8,
     .lost = 7,
     .node = 2,
     .kernel = 1,
     .array = 2,
     .bytes = 1044,
     .flags = PROFILE_SHARED_INCOMPLETE,
     .runs = sample_shared_runs,
     .run_count = 2},
    {.call = 9,
     .blocks = 8,
     .lost = 7,
     .node = 2,
     .kernel = 1,
     .array = 2,
     .bytes = 1044,
     .first = 257,
     .flags = PROFILE_SHARED_INCOMPLETE,
     .runs = sample_shared_runs + 2,
     .run_count = 1},
};

// The live ranges of `tile`. Those of the other array are unknown.
static const struct profile_shared_ranges sample_shared_ranges[] = {
    {.call = 5,
     .ranges = 320,
     .loads = 6000,
     .again = 5700,
     .own = 200,
     .drained = 100,
     .kernel = 1,
     .array = 1,
     .site = 1,
     .words = 160,
     .fills = true},
    {.call = 5,
     .ranges = 80,
     .loads = 300,
     .again = 240,
     .kernel = 1,
     .array = 1,
     .site = 2,
     .words = 40},
};

static const struct profile_shared_lives sample_shared_lives[] = {
    {.call = 5,
     .unstored = 100,
     .ranges = 400,
     .loads = 6300,
     .again = 5940,
     .own = 200,
     .drained = 100,
     .fills = 320,
     .fills_max = 3,
     .fill_loads = 6000,
     .least_loads = 1,
     .least_fills = 2,
     .most_loads = 75,
     .most_fills = 3,
     .kernel = 1,
     .array = 1,
     .filled_words = 160},
};

static const struct profile_block_reuse sample_block_reuse[] = {
    {.call = 5,
     .object = 1,
     .blocks = 8,
     .loads = 4096,
     .moved = 1024,
     .words = 512,
     .most_words = 128,
     .extent = 130,
     .free_bytes = 28160,
     .kernel = 1,
     .looked = 8,
     .resident = 8,
     .site = 1},
    {.call = 9,
     .object = 1,
     .blocks = 1000,
     .loads = 4096000,
     .moved = 4096000,
     .words = 40000,
     .most_words = 25000,
     .stores = 7,
     .extent = 30000,
     .free_bytes = PROFILE_UNKNOWN,
     .node = 2,
     .kernel = 1,
     .looked = 64,
     .site = 2,
     .flags = PROFILE_REUSE_INCOMPLETE | PROFILE_REUSE_LARGE | PROFILE_REUSE_APART},
};

static const struct profile_weighed sample_weighed[] = {
    {.call = 5,
     .object = 1,
     .accesses = 900,
     .value = 0x4000000000000000u,
     .count = 500,
     .offset = 4,
     .stride = 12,
     .type = PROFILE_TYPE_F32},
    {.call = 9, .object = 2, .accesses = 7, .node = 2, .stride = 8, .type = PROFILE_TYPE_U64},
};

static const struct profile_accessed sample_accessed[] = {
    {.call = 5,
     .object = 1,
     .any_bits = 0x80000000,
     .stride = 8,
     .flags = PROFILE_ACCESSED_INCOMPLETE,
     .type = PROFILE_TYPE_F32,
     .way = PROFILE_ACCESSED_READ},
    {.call = 5,
     .object = 2,
     .any_bits = 7,
     .all_bits = 7,
     .most = 7,
     .stride = 4,
     .type = PROFILE_TYPE_S32,
     .way = PROFILE_ACCESSED_WRITTEN},
    {.call = 9,
     .object = 2,
     .any_bits = 0x7ff8000000000000,
     .all_bits = 0x3ff0000000000000,
     .most = 0x7ff8000000000000,
     .stride = 16,
     .offset = 8,
     .type = PROFILE_TYPE_F64,
     .way = PROFILE_ACCESSED_READ},
};

static const struct profile_stack sample_stacks[] = {
    {1, "2:9c40 1:11a4 1:1240"},
    {2, "0:7f0000001000 1:1250 ..."},
};

static const struct profile_source sample_sources[] = {
    {1, "src/main.cu", "/project/src/main.cu", "int main(void)\n{\n}\n", false},
    {2, "add.cuh", "/project/add.cuh", "", true},
};

static const struct profile_collective sample_collectives[] = {
    {.call = 3,
     .start_ns = 3000,
     .end_ns = 4500,
     .from = 0x10000,
     .to = 0x20000,
     .from_object = 1,
     .to_object = 2,
     .count = 256,
     .sent_bytes = 1024,
     .received_bytes = 1024,
     .communicator = 1,
     .rank = 0,
     .ranks = 8,
     .peer = -1,
     .status = 0,
     .type = PROFILE_COLLECTIVE_FLOAT32},
    {.call = 4,
     .start_ns = 5000,
     .end_ns = 5001,
     .to = 0x20000,
     .count = 10,
     .sent_bytes = 0,
     .received_bytes = PROFILE_UNKNOWN,
     .communicator = 2,
     .rank = -1,
     .ranks = -1,
     .peer = 3,
     .status = 7,
     .type = PROFILE_COLLECTIVE_NONE},
};

static const struct profile_correction sample_corrections[] = {
    {.row = 0, .paid = 7, .peak_bytes = 512, .native_peak_bytes = 864},
    {.row = 1,
     .remedy = PROFILE_REMEDY_ASYNC_COPY,
     .path = 2,
     .applied = 300,
     .left_alone = 4,
     .bytes = 1 << 20},
};

static const struct profile_map sample_maps[] = {
    {1, 0, 1000, 4, PROFILE_MAP_TOUCHED, sample_bits, 125},
    {1, 0, 1000, 4, PROFILE_MAP_SHARED, sample_bits, 125},
};

// --- Writing the rows ----------------------------------------------------------------------------

#define SAMPLE_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define SAMPLE_ADD(rows, add)                                          \
    for (size_t i = 0; i < SAMPLE_COUNT(rows) && code == BASE_OK; i++) \
    code = add(writer, &(rows)[i], error)

static inline enum base_code sample_add(struct profile_writer *writer, struct base_error *error)
{
    enum base_code code = profile_set_program(writer, &sample_program, error);
    SAMPLE_ADD(sample_images, profile_add_image);
    SAMPLE_ADD(sample_functions, profile_add_function);
    SAMPLE_ADD(sample_threads, profile_add_thread);
    SAMPLE_ADD(sample_devices, profile_add_device);
    SAMPLE_ADD(sample_contexts, profile_add_context);
    SAMPLE_ADD(sample_streams, profile_add_stream);
    SAMPLE_ADD(sample_modules, profile_add_module);
    SAMPLE_ADD(sample_kernels, profile_add_kernel);
    SAMPLE_ADD(sample_paths, profile_add_path);
    SAMPLE_ADD(sample_graphs, profile_add_graph);
    SAMPLE_ADD(sample_edges, profile_add_edge);
    SAMPLE_ADD(sample_calls, profile_add_call);
    SAMPLE_ADD(sample_objects, profile_add_object);
    for (size_t i = 0; i < SAMPLE_COUNT(sample_objects) && code == BASE_OK; i++) {
        const struct profile_object *object = &sample_objects[i];
        if (object->has_end)
            code = profile_end_object(writer, object->number, object->end_call, object->end_stream,
                                      error);
        if (object->name && code == BASE_OK)
            code = profile_name_object(writer, object->number, object->name, object->name_source,
                                       error);
    }
    SAMPLE_ADD(sample_times, profile_add_time);
    SAMPLE_ADD(sample_nvtx_ranges, profile_add_nvtx_range);
    for (size_t i = 0; i < SAMPLE_COUNT(sample_nvtx_ranges) && code == BASE_OK; i++) {
        const struct profile_nvtx_range *range = &sample_nvtx_ranges[i];
        if (range->has_end)
            code = profile_end_nvtx_range(writer, range->number, range->end_ns, range->end_thread,
                                          error);
    }
    SAMPLE_ADD(sample_notes, profile_add_note);
    SAMPLE_ADD(sample_dropped, profile_set_dropped);
    SAMPLE_ADD(sample_settings, profile_set_setting);
    SAMPLE_ADD(sample_probes, profile_add_probe);
    SAMPLE_ADD(sample_kernel_sites, profile_add_kernel_site);
    SAMPLE_ADD(sample_accesses, profile_add_access);
    SAMPLE_ADD(sample_counts, profile_add_counts);
    SAMPLE_ADD(sample_maps, profile_add_map);
    SAMPLE_ADD(sample_uses, profile_add_use);
    SAMPLE_ADD(sample_hashes, profile_add_hash);
    SAMPLE_ADD(sample_copy_sources, profile_add_copy_source);
    SAMPLE_ADD(sample_blocks, profile_add_block);
    SAMPLE_ADD(sample_block_ends, profile_add_block_end);
    SAMPLE_ADD(sample_contents, profile_add_contents);
    SAMPLE_ADD(sample_stores, profile_add_stored);
    SAMPLE_ADD(sample_weighed, profile_add_weighed);
    SAMPLE_ADD(sample_accessed, profile_add_accessed);
    SAMPLE_ADD(sample_requests, profile_add_requests);
    SAMPLE_ADD(sample_shared_arrays, profile_add_shared_array);
    SAMPLE_ADD(sample_site_arrays, profile_add_site_array);
    SAMPLE_ADD(sample_shared_words, profile_add_shared_words);
    SAMPLE_ADD(sample_shared_ranges, profile_add_shared_ranges);
    SAMPLE_ADD(sample_shared_lives, profile_add_shared_lives);
    SAMPLE_ADD(sample_block_reuse, profile_add_block_reuse);
    SAMPLE_ADD(sample_cache_launches, profile_add_cache_launch);
    SAMPLE_ADD(sample_cache, profile_add_cache);
    SAMPLE_ADD(sample_cache_reuse, profile_add_cache_reuse);
    SAMPLE_ADD(sample_stacks, profile_add_stack);
    SAMPLE_ADD(sample_sources, profile_add_source);
    SAMPLE_ADD(sample_collectives, profile_add_collective);
    SAMPLE_ADD(sample_corrections, profile_add_correction);
    return code;
}

// Writes the complete sample to the path.
static inline enum base_code sample_write(const char *path, struct base_error *error)
{
    struct profile_writer *writer;
    enum base_code code = profile_create(path, true, &writer, error);
    if (code != BASE_OK)
        return code;
    code = sample_add(writer, error);
    if (code == BASE_OK)
        return profile_finish(writer, PROFILE_EXITED, 3, error);
    profile_abandon(writer);
    return code;
}

#endif
