// SPDX-License-Identifier: Apache-2.0
// The first touch of a closed page. The handler runs on the program's stack, takes no memory and
// no lock but the table's, and opens what was touched.
//
// Two threads may touch the same page: the second finds it open. It tries again, and is believed
// to have a fault of its own where the page cannot be read, or trying did not help.
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "correct.h"
#include "first_use_inner.h"

int (*use_driver_asks)(void);

// --- The machine ---------------------------------------------------------------------------------

struct touch {
    struct unwind_registers registers; // pc: behind the first byte of the instruction
    uint64_t link;                     // of aarch64: the link register
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

uint64_t use_stack_pointer(const void *context)
{
    return touch_of(context).registers.sp;
}

// The kernel copies what the second argument points to before it
// finds that there is no signal 0.
bool use_can_be_read(uint64_t address)
{
    enum { COPIED_BYTES = 32, SET_BYTES = 8 };
    const uint64_t page = use_page_bytes(), last = (address & ~(page - 1)) + page - COPIED_BYTES;
    const uint64_t at = address < last ? address : last;
    return use_system(SYS_rt_sigaction, 0, (long)at, 0, SET_BYTES) != -EFAULT;
}

// --- Whose touch it is ---------------------------------------------------------------------------

// What the driver does itself is no use by the program: within a call, or in a thread of the
// simulated GPU's, but not in a function of the program that it calls.
static bool is_drivers(void)
{
    const int who = use_driver_asks ? use_driver_asks() : CUDAABI_SIM_ELSEWHERE;
    return who == CUDAABI_SIM_AT_WORK ||
           (who != CUDAABI_SIM_IN_HOST_FUNCTION && inject_thread.depth);
}

static bool open_page(uint64_t address)
{
    const uint64_t page = use_page_bytes(), low = address & ~(page - 1);
    if (!use_holds_page(address))
        return false;
    use_tell_open(low, low + page);
    use_open(low, low + page);
    return true;
}

static bool handle(uint64_t address, const struct touch *touch)
{
    struct use_range *range = is_drivers() ? NULL : use_find(address);
    if (!range)
        return open_page(address);
    const uint32_t stack =
        state.stacks ? stack_interrupted(state.stacks, state.ring, touch->registers, touch->link)
                     : 0;
    use_tell(range, touch->write ? EVENT_USE_WRITE : EVENT_USE_READ, address, stack);
    use_count(range);
    use_end_used(range);
    return true;
}

// Whether it was ours.
static bool take(uint64_t address, const ucontext_t *context)
{
    static __thread uint64_t tried_pc __attribute__((tls_model("initial-exec")));
    static __thread uint64_t tried_address __attribute__((tls_model("initial-exec")));
    const uint64_t page = use_page_bytes();
    const struct touch touch = touch_of(context);
    if (address < atomic_load(&use_table.low) || address >= atomic_load(&use_table.high))
        return false;
    bool ours = false;
    if (!state_is_on()) { // a child of fork, which the C library has not told us of
        first_use_forked();
        ours = use_can_be_read(address);
    } else if (inject_thread.tracking) {
        use_force_open(address & ~(page - 1), (address & ~(page - 1)) + page);
        ours = use_can_be_read(address);
    } else {
        const uint64_t low = address & ~(page - 1);
        if (correct_touch(low, low + page)) {
            tried_pc = 0;
            return true;
        }
        use_lock();
        ours = handle(address, &touch);
        use_unlock();
        if (ours) {
            tried_pc = 0;
            return true;
        }
        ours = use_can_be_read(address);
    }
    if (ours && tried_pc == touch.registers.pc && tried_address == address)
        ours = false;
    tried_pc = ours ? touch.registers.pc : 0;
    tried_address = address;
    return ours;
}

void use_handler(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    const bool ours =
        info->si_code == SEGV_ACCERR && take((uint64_t)(uintptr_t)info->si_addr, context);
    errno = error;
    if (!ours)
        use_pass_signal(number, info, context);
}
