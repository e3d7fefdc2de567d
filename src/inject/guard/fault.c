// SPDX-License-Identifier: Apache-2.0
// The first touch of a closed page. The handler runs on the program's stack, allocates nothing,
// takes only the table's lock, and opens what was touched.
//
// Two threads may touch the same page: the second finds it open, or closed again by a third. It
// tries again while the page is closed by guard, or allows the access. Only a fault that the page's
// own protection explains belongs to the program. System calls that access the page and fail with
// EFAULT tell the two apart: unlike /proc/self/maps, they work if no more files can be opened.
#include "fault.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "closing.h"
#include "guard.h"
#include "kernel.h"
#include "memory.h"
#include "pager.h"
#include "ranges.h"
#include "signals.h"
#include "tell.h"
#include "touches.h"
#include "worth.h"

// --- The machine ---------------------------------------------------------------------------------

struct touch {
    struct stack_unwind_registers registers; // pc: one byte after the start of the instruction
    uint64_t link;                           // of aarch64: the link register
    bool write;
};

static struct touch touch_of(const ucontext_t *context)
{
    const mcontext_t *machine = &context->uc_mcontext;
    struct touch touch = {{0}, 0, false};
#if defined(__x86_64__)
    touch.registers.pc = (uint64_t)machine->gregs[REG_RIP] + 1;
    touch.registers.sp = (uint64_t)machine->gregs[REG_RSP];
    touch.registers.fp = (uint64_t)machine->gregs[REG_RBP];
    touch.write = machine->gregs[REG_ERR] & 2;
#elif defined(__aarch64__)
    touch.registers.pc = machine->pc + 1;
    touch.registers.sp = machine->sp;
    touch.registers.fp = machine->regs[29];
    touch.link = machine->regs[30];
    // Records follow one another in the reserved space; one has the syndrome of the fault.
    for (size_t at = 0; at + sizeof(struct _aarch64_ctx) <= sizeof(machine->__reserved);) {
        struct _aarch64_ctx head;
        memcpy(&head, (const char *)machine->__reserved + at, sizeof(head));
        if (!head.magic || head.size < sizeof(head))
            break;
        if (head.magic == ESR_MAGIC) {
            struct esr_context syndrome;
            memcpy(&syndrome, (const char *)machine->__reserved + at, sizeof(syndrome));
            touch.write = syndrome.esr >> 6 & 1;
        }
        at += head.size;
    }
#endif
    return touch;
}

uint64_t guard_stack_pointer(const void *context)
{
    return touch_of(context).registers.sp;
}

// The kernel copies what the second argument points to before it finds that there is no signal 0.
bool guard_can_be_read(uint64_t address)
{
    enum { COPIED_BYTES = 32, SET_BYTES = 8 };
    const uint64_t page = guard_page_bytes(), last = (address & ~(page - 1)) + page - COPIED_BYTES;
    const uint64_t at = address < last ? address : last;
    return guard_system_call(SYS_rt_sigaction, 0, (long)at, 0, SET_BYTES) != -EFAULT;
}

// The kernel atomically adds 0 to the word, or fails with EFAULT. It then wakes a thread that waits
// at `nobody`, where none does, and one that waits at the word if the word is RARE, which is a
// spurious wake-up that every user of futexes expects.
static bool can_be_written(uint64_t address)
{
    enum { RARE = 0x800 };
    const uint32_t add = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, RARE);
    return guard_system_call6(SYS_futex, (long)(uintptr_t)&guard_state.nobody,
                              FUTEX_WAKE_OP_PRIVATE, 0, 0, (long)(address & ~UINT64_C(3)),
                              (long)add) != -EFAULT;
}

// Returns whether the access would succeed now. Pages that glint closes are not executable, so an
// instruction fetch never would.
static bool may_touch(uint64_t address, const struct touch *touch)
{
    const bool fetch = touch->registers.pc - 1 == address;
    return !fetch && guard_can_be_read(address) && (!touch->write || can_be_written(address));
}

// --- Attribution of the touch --------------------------------------------------------------------

// Returns whether the driver itself accesses memory, which is not a use by the program: within a
// call, or in a thread of the simulated GPU, but not in a function of the program that it calls.
static bool is_drivers(void)
{
    const int who = guard_state.driver_asks ? guard_state.driver_asks() : CUDAABI_SIM_ELSEWHERE;
    return who == CUDAABI_SIM_AT_WORK || (who != CUDAABI_SIM_IN_HOST_FUNCTION && core_thread.depth);
}

static bool open_page(uint64_t address)
{
    const uint64_t page = guard_page_bytes(), low = address & ~(page - 1);
    if (!guard_holds_page(address))
        return false;
    guard_tell_open(low, low + page);
    guard_open(low, low + page);
    return true;
}

static bool handle(uint64_t address, const struct touch *touch)
{
    struct guard_range *range = is_drivers() ? NULL : guard_find(address);
    if (!range)
        return open_page(address);
    const uint32_t stack = core_state.stacks ? stack_interrupted(core_state.stacks, core_state.ring,
                                                                 touch->registers, touch->link)
                                             : 0;
    guard_tell(range, touch->write ? EVENT_USE_WRITE : EVENT_USE_READ, address, stack);
    guard_count(range);
    guard_end_used(range);
    return true;
}

// Opens the pages there, if guard has closed them.
static void open_touched(uint64_t address, const struct touch *touch)
{
    const uint64_t page = guard_page_bytes(), low = address & ~(page - 1);
    if (!core_is_on()) { // a child of fork that the C library has not announced
        guard_forked();
    } else if (core_thread.tracking) {
        guard_force_open(low, low + page);
    } else if (!core_layers_touched(low, low + page)) {
        guard_lock();
        handle(address, touch);
        guard_unlock();
    }
}

// Returns whether guard has closed the page. A fault that repeats at the same place was either
// caused by a page that was closed again meanwhile, or is the program's own. A system call then
// tries the access, while no page is opened or closed.
static bool take(uint64_t address, const ucontext_t *context)
{
    const struct touch touch = touch_of(context);
    const uint64_t pc = touch.registers.pc;
    if (address < atomic_load(&guard_state.table.low) ||
        address >= atomic_load(&guard_state.table.high))
        return false;
    const bool again = core_thread.tried_pc == pc && core_thread.tried_address == address;
    const bool locks = core_is_on() && !core_thread.tracking;
    open_touched(address, &touch);
    bool ours = true;
    if (again || !guard_can_be_read(address)) {
        if (locks)
            guard_lock();
        ours = may_touch(address, &touch) ||
               (locks && guard_is_closed(address) && !guard_can_be_read(address));
        if (locks)
            guard_unlock();
    }
    core_thread.tried_pc = ours ? pc : 0;
    core_thread.tried_address = address;
    return ours;
}

// --- Pages that are away -------------------------------------------------------------------------

// Brings the page back if it belongs to no data any more. Needs the lock.
static void open_left(uint64_t address)
{
    const uint64_t page = guard_page_bytes(), low = address & ~(page - 1);
    if (guard_pager_has(address) && !guard_holds_page(address))
        guard_pager_open(low, low + page);
}

// The pager has sent the signal. Another thread may have brought the page back meanwhile.
static void take_touch(const siginfo_t *info, const ucontext_t *context)
{
    const uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
    struct touch touch = touch_of(context);
    touch.write = info->si_code == GUARD_TOUCHED_WRITE;
    if (!guard_pager_has(address))
        return;
    open_touched(address, &touch);
    if (!core_is_on() || core_thread.tracking)
        return;
    guard_lock();
    open_left(address);
    guard_unlock();
}

// If the lock's holder itself waits for the page, the page is brought back by force.
void guard_answer(const struct guard_touch *touch)
{
    enum { PATIENCE_NS = 200000000 };
    const uint64_t address = touch->address;
    const uint64_t page = guard_page_bytes(), low = address & ~(page - 1);
    if (!guard_pager_has(address) || core_layers_touched(low, low + page))
        return;
    if (!guard_lock_within(PATIENCE_NS)) {
        guard_force_open(low, low + page);
        return;
    }
    struct guard_range *range = guard_pager_has(address) ? guard_find(address) : NULL;
    if (range && !range->owed) {
        const uint64_t frame = touch->pc + 1;
        guard_tell_of(range,
                      touch->system  ? EVENT_USE_SYSTEM
                      : touch->write ? EVENT_USE_WRITE
                                     : EVENT_USE_READ,
                      address, 0,
                      touch->pc && core_state.stacks
                          ? stack_of(core_state.stacks, core_state.ring, &frame, 1, true)
                          : 0);
        guard_count(range);
        guard_end_used(range);
    }
    open_left(address);
    guard_unlock();
}

void guard_handler(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const bool touched =
        info->si_code == GUARD_TOUCHED_READ || info->si_code == GUARD_TOUCHED_WRITE;
    if (touched)
        take_touch(info, context);
    const bool ours = touched || (info->si_code == SEGV_ACCERR &&
                                  take((uint64_t)(uintptr_t)info->si_addr, context));
    errno = error;
    if (!ours)
        guard_pass_signal(number, info, context);
}
