// SPDX-License-Identifier: Apache-2.0
// The function has had three forms. Their last argument is a c10::Device, a class of two integers
// without a constructor for copies, which the C++ ABIs of x86_64 and aarch64 pass in one register
// for integers, like a uint64_t. The first of the two is the type of the device, and its low byte
// is that of the register in all versions of PyTorch. The second is the index of the GPU, whose
// size and place differ between versions; glint does not need it, because the memory says where it
// lies.
//
// The allocator calls under its lock, so glint calls neither the driver nor PyTorch here. Older
// versions passed the address of a structure instead of the block's, for which there is no
// object, and no part begins.
#include "tensors.h"

#include <stdatomic.h>

#include "inject/core/parts.h"
#include "inject/core/state.h"
#include "inject/util/imports.h"

enum { TYPE_CUDA = 1 }; // c10::DeviceType::CUDA

// A block of a pool that CUDA manages (PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync) is an
// object already.
static bool is_object(uint64_t address)
{
    struct core_object object;
    return core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object) &&
           object.kind == EVENT_OBJECT_POOL && object.start == address;
}

static void no_place(void)
{
    if (!atomic_exchange(&core_state.no_tensor_place, true))
        core_note(EVENT_INFO,
                  "some memory that PyTorch reported is left out: it lies outside of known CUDA "
                  "memory, or overlaps what was announced otherwise");
}

// bytes: negative if the block was taken back.
static void reported(uint64_t address, int64_t bytes, uint64_t device,
                     struct stack_unwind_registers caller)
{
    const bool begins = bytes > 0;
    const uint64_t size = begins ? (uint64_t)bytes : 0 - (uint64_t)bytes;
    struct core_part_call call;
    if ((uint8_t)device != TYPE_CUDA || !address || !bytes || !core_is_on() || is_object(address))
        return;
    core_part_call_begin(&call, begins ? HOOK_torch_alloc : HOOK_torch_free, caller);
    if (!begins)
        core_parts_end(&call, EVENT_OBJECT_TENSOR, address, size);
    else if (!core_parts_begin(&call, EVENT_OBJECT_TENSOR, address, size))
        no_place();
    core_part_call_end(&call);
}

// --- The three forms -----------------------------------------------------------------------------

enum { FORM_SIZES, FORM_SIGNED, FORM_SHORT, FORMS };

static void report_sizes(uint64_t block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                         uint64_t device);
static void report_signed(uint64_t block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                          uint64_t device);
static void report_short(uint64_t block, int64_t bytes, uint64_t device);

static struct util_import functions[FORMS] = {
    // (void *, int64_t, size_t, size_t, c10::Device), since PyTorch 2.0
    [FORM_SIZES] = {.name = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
                    .hook = (void *)report_sizes},
    // (void *, int64_t, int64_t, int64_t, c10::Device), since 1.8
    [FORM_SIGNED] = {.name = "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
                     .hook = (void *)report_signed},
    // (void *, int64_t, c10::Device)
    [FORM_SHORT] = {.name = "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE",
                    .hook = (void *)report_short},
};
static struct util_imports imports = {
    .items = functions, .count = FORMS, .prefix = "_ZN3c1027reportMemoryUsageToProfilerE"};

typedef void long_form(uint64_t block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                       uint64_t device);
typedef void short_form(uint64_t block, int64_t bytes, uint64_t device);

static void *real(unsigned form)
{
    return atomic_load_explicit(&functions[form].real, memory_order_acquire);
}

static void report_sizes(uint64_t block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                         uint64_t device)
{
    reported(block, bytes, device, UNWIND_CALLER);
    ((long_form *)real(FORM_SIZES))(block, bytes, allocated, reserved, device);
}

static void report_signed(uint64_t block, int64_t bytes, uint64_t allocated, uint64_t reserved,
                          uint64_t device)
{
    reported(block, bytes, device, UNWIND_CALLER);
    ((long_form *)real(FORM_SIGNED))(block, bytes, allocated, reserved, device);
}

static void report_short(uint64_t block, int64_t bytes, uint64_t device)
{
    reported(block, bytes, device, UNWIND_CALLER);
    ((short_form *)real(FORM_SHORT))(block, bytes, device);
}

void tensors_look(void)
{
    util_imports_redirect(&imports);
}
