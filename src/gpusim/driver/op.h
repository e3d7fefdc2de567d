// SPDX-License-Identifier: Apache-2.0
// Operations: what a command of a stream or a node of a graph does.
#ifndef GLINT_GPUSIM_DRIVER_OP_H
#define GLINT_GPUSIM_DRIVER_OP_H

#include "driver.h"

enum driver_op_kind {
    DRIVER_OP_EMPTY,
    DRIVER_OP_LAUNCH,
    DRIVER_OP_COPY,
    DRIVER_OP_FILL,
    DRIVER_OP_HOST,
    DRIVER_OP_CALLBACK,
    DRIVER_OP_RECORD, // only in graphs: on a stream, the event refers to the command itself
    DRIVER_OP_WAIT,   // only in graphs
    DRIVER_OP_ALLOC,
    DRIVER_OP_FREE,
    DRIVER_OP_GRAPH,
    DRIVER_OP_CONDITIONAL, // only in graphs
    DRIVER_OP_WRITE_VALUE,
    DRIVER_OP_WAIT_VALUE,
};

// A copy of rows of bytes in slices.
struct driver_box {
    char *dst;
    const char *src;
    size_t dst_pitch, src_pitch, dst_slice, src_slice;
    size_t width, height, depth; // bytes, rows, slices
};

struct driver_op {
    enum driver_op_kind kind;
    union {
        struct {
            struct driver_function *function;
            uint32_t grid[3], block[3];
            uint32_t cluster[3]; // blocks of a cluster, as the launch asks; zeros: it does not
            int cluster_policy;
            uint32_t shared_bytes;
            bool cooperative;
            sim_watch *watch; // as the function had it when the launch was enqueued
            void *watch_user;
            void *params; // owned, packed
        } launch;
        struct {
            struct driver_box box;
            void *staging;  // owned: the source's bytes at the time of the call; NULL: not copied
            bool on_device; // source and destination are device memory
            bool is_peer;   // of different devices
        } copy;
        struct {
            char *dst;
            size_t pitch, width, height; // width in elements
            uint32_t value;
            uint8_t element_bytes;
        } fill;
        struct {
            CUhostFn function;
            void *user;
        } host;
        struct {
            CUstreamCallback function;
            CUstream stream;
            void *user;
        } callback;
        struct {
            struct driver_event *event;
            struct driver_command *command; // held; set when the graph is launched
        } mark;
        struct {
            uint64_t address, size_bytes;
            struct driver_pool *pool;
            uint32_t admitted; // of a graph: devices with access besides those of the pool
            struct driver_graph_memory *of_graph; // held; NULL on a stream
        } memory;
        struct {
            struct driver_exec *exec; // held
            // The commands that the events of its event-record nodes refer to, in order: held, and
            // the array is owned. NULL: nothing waits for them before they run.
            struct driver_command **records;
            size_t record_count;
            bool frees_first; // memory that earlier launches allocated and the program did not free
        } graph;
        struct {
            struct driver_condition *condition; // held
            CUgraphConditionalNodeType type;
            struct driver_exec **bodies; // held, and the array is owned
            unsigned count;
        } conditional;
        struct {
            uint64_t address, value;
            unsigned flags;
            bool is_64;
        } value;
    };
};

// Makes a deep copy. Returns false when memory runs out.
bool driver_op_copy(struct driver_op *to, const struct driver_op *from);
void driver_op_fini(struct driver_op *op);
// Executes the operation on the calling thread. *duration_ns is simulated time. Not locked.
CUresult driver_op_run(struct driver_op *op, uint64_t start_ns, uint64_t *duration_ns);

#endif
