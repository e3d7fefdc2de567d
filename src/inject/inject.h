// SPDX-License-Identifier: Apache-2.0
// libglint.so, which lives in the watched program (LD_PRELOAD): stands between it and the CUDA
// driver, and writes what it sees into a ring that the recorder reads (event/event.h).
//
//   doors.c    how the program gets driver functions, and that it gets the hooks instead
//   hooks.def  which functions are hooked;  hook_*.c  the hooks, by subject
//   call.c     what all hooks do: numbers, times, what waited, the record
//   state.c    the one mutable state; meeting the recorder; fork, exit
//   names.c    numbers of threads, devices, contexts, streams, events, modules, kernels
//   objects.c  which object holds an address;  object_records.c  where they begin and end
//   globals.c  names of the variables in an image of device code
//   parts.c    parts of objects that the program tells;  nvtx.c  those that it tells by NVTX
//   graph_nodes.c  what a graph does;  gpu_time.c  when the GPU did it
//   stack.c    from where it was called, with unwind.c, cfi.c and images.c
//   next.c     the function behind one of ours;  inside.h  glint's other libraries in the program
//   first_use.h  when the program uses what the GPU gave it
//   correct.h  what is done otherwise, where the program runs by a plan
//   probe.h    kernels that tell what they touch, with probe_*.c;  shadow.h  the memory for it
//   code.c     which code of an image a device takes
//   clock.c    the time;  latency.c  how long the GPU takes to learn of a launch
//   pool.c     own memory
//
// It never prints, exits or waits, keeps errno, and takes no memory of the program's allocator. In
// a program that is not recorded (no GLINT_SOCKET) its doors lead straight to the driver.
#ifndef GLINT_INJECT_INJECT_H
#define GLINT_INJECT_INJECT_H

#include <stdint.h>

// What include/glint/glint.h finds in this library by name. 0: done; -1: there is no such object,
// or it cannot be (a part that overlaps another). Any thread.
#pragma GCC visibility push(default)
int glint_v1_name(const void *address, const char *name);
int glint_v1_suballoc(const void *address, uint64_t bytes);
int glint_v1_subfree(const void *address);

// What NVTX, compiled into a program, finds in the library that NVTX_INJECTION64_PATH names. 1: it
// is used. The first is told of all that is not an extension, and takes none of it.
struct nvtxExtModuleInfo_t;
int InitializeInjectionNvtx2(const void *get_export_table);
int InitializeInjectionNvtxExtension(struct nvtxExtModuleInfo_t *module);
#pragma GCC visibility pop

#endif
