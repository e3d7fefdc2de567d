// SPDX-License-Identifier: Apache-2.0
// The public face of the simulated GPU. What it does for programs it does through libraries that
// stand in for NVIDIA's (libcuda.so.1, libcudart.so.*, libglint-redirect.so); what is declared here
// is for the command line, which starts programs on it: what must be known of an executable first.
#ifndef GLINT_GPUSIM_GPUSIM_H
#define GLINT_GPUSIM_GPUSIM_H

#include <stdbool.h>

#include "base/base.h"

// The names of the GPUs that can be simulated, the default first; NULL past the last.
const char *gpusim_preset_name(unsigned index);

// How an executable file is tied to CUDA.
struct gpusim_program {
    bool is_elf;     // else a script, or whatever the system makes of it; nothing more is known
    bool is_native;  // made for the processor that this glint is made for
    bool is_dynamic; // started by the loader, which heeds LD_PRELOAD and LD_LIBRARY_PATH
    bool has_device_code; // fatbins
    bool has_runtime;     // the static CUDA runtime, with its symbols
    bool is_stripped;     // the static CUDA runtime, without
    bool has_rpath;       // folders that the loader searches before LD_LIBRARY_PATH
    unsigned runtime;     // which shared CUDA runtime it names: 11, 12, 13; 0: none
    bool needs_driver;    // names libcuda.so.1
    bool needs_asan;      // names the library of the address sanitizer, which wants to be first
    const char *vendor_library; // the first it names that needs NVIDIA's own driver; NULL: none
};

// Reads the file's headers and symbols. BASE_IO, BASE_NO_MEMORY.
enum base_code gpusim_program_read(const char *path, struct gpusim_program *program,
                                   struct base_error *error);

#endif
