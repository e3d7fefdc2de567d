// SPDX-License-Identifier: Apache-2.0
// libglint.so, which is loaded into the watched program (LD_PRELOAD). It stands between the program
// and the CUDA driver, and writes what it sees into a ring that the recorder reads (event/event.h).
// Its rooms, bottom up; src/parts.txt states which may use which:
//
//   util      clock, locks and their ranks, allocator, names: what knows neither state nor driver
//   python    the Python frames of a thread
//   stack     call paths: unwinding, images
//   core      state, the driver's functions, calls, objects, contexts, kernels, GPU times, layers
//   guard     pages that are closed until the program touches them
//   uses      when the program uses what the GPU gave it
//   shadow    GPU memory that probes write to;  probe  kernels with probes
//   correct   what is done otherwise where the program runs by a plan
//   hooks     the hooked functions, how the program gets them, and the list of layers
//   libc, mpi  libraries of their own, which stand before the C library and MPI
//   template  a layer that does nothing, to be copied
//
// It never prints, exits or waits, keeps errno, and takes no memory from the program's allocator.
// In a program that is not recorded (GLINT_SOCKET is not set) its functions lead straight to the
// driver.
#ifndef GLINT_INJECT_INJECT_H
#define GLINT_INJECT_INJECT_H

#include <stdint.h>

// The functions that include/glint/glint.h looks up in this library by name. They return 0, or -1
// if there is no such object, or a part would overlap another. Any thread may call them.
#pragma GCC visibility push(default)
int glint_v1_name(const void *address, const char *name);
int glint_v1_suballoc(const void *address, uint64_t bytes);
int glint_v1_subfree(const void *address);

// The functions that NVTX, compiled into a program, looks up in the library that
// NVTX_INJECTION64_PATH names. They return 1 to say that the library is used. The first is offered
// everything that is not an extension.
struct nvtxExtModuleInfo_t;
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t));
int InitializeInjectionNvtxExtension(struct nvtxExtModuleInfo_t *module);
#pragma GCC visibility pop

#endif
