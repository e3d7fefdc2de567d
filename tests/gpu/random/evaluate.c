// SPDX-License-Identifier: Apache-2.0
// Computes the results of a random kernel. Each statement runs for all active threads of
// the block, or of the cluster, before the next statement. A thread that leaves a loop or function
// is inactive until that loop or function ends.
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { MOST_STEPS = 100000 };

struct thread {
    struct registers regs;
    unsigned leaving; // how many enclosing loops it is leaving
    bool skipping;    // skips the rest of the loop's body
    bool returned;    // returned from the function, or ended
};

// The blocks that run together: one, or those of a cluster. Their threads follow one another.
struct block {
    const struct kernel *kernel;
    const uint32_t *input;
    struct results *results;
    unsigned number; // of the first block
    unsigned blocks, steps;
    uint32_t words[MOST_TOGETHER]; // what each thread last exchanged
    struct thread *threads;        // in the function that runs
};

typedef bool lanes[MOST_TOGETHER];

static unsigned count_of(const struct block *block)
{
    return block->blocks * block->kernel->threads;
}

static uint64_t value(const struct thread *thread, char class, struct operand operand)
{
    if (operand.immediate)
        return operand.value;
    switch (class) {
    case 'r': return thread->regs.r[operand.value];
    case 'd': return thread->regs.d[operand.value];
    case 'f': return thread->regs.f[operand.value];
    default: return thread->regs.g[operand.value];
    }
}

static void set(struct thread *thread, char class, unsigned to, uint64_t bits)
{
    switch (class) {
    case 'r': thread->regs.r[to] = (uint32_t)bits; break;
    case 'd': thread->regs.d[to] = bits; break;
    case 'f': thread->regs.f[to] = (uint32_t)bits; break;
    default: thread->regs.g[to] = bits;
    }
}

static bool guarded(const struct thread *thread, const struct statement *it)
{
    return it->guard < 0 || thread->regs.p[it->guard] != it->negated;
}

static bool compared(unsigned comparison, uint32_t a, uint32_t b)
{
    switch (comparison) {
    case 0: return a == b;
    case 1: return a != b;
    case 2: return (int32_t)a < (int32_t)b;
    case 3: return (int32_t)a <= (int32_t)b;
    case 4: return (int32_t)a > (int32_t)b;
    case 5: return (int32_t)a >= (int32_t)b;
    case 6: return a < b;
    case 7: return a <= b;
    case 8: return a > b;
    default: return a >= b;
    }
}

static void compute(struct thread *thread, const struct statement *it)
{
    const char *signature = it->op->signature;
    uint64_t from[ARGUMENTS] = {0};
    for (unsigned i = 0; signature[1 + i]; i++)
        from[i] = value(thread, signature[1 + i], it->from[i]);
    set(thread, signature[0], it->to, it->op->evaluate(from[0], from[1], from[2]));
}

// Runs statements that concern one thread only.
static void run_thread(struct block *block, unsigned number, struct thread *thread,
                       const struct statement *it)
{
    const bool holds = guarded(thread, it);
    const uint32_t a = (uint32_t)value(thread, 'r', it->from[0]);
    const uint32_t b = (uint32_t)value(thread, 'r', it->from[1]);
    switch (it->kind) {
    case COMPUTE:
        if (holds)
            compute(thread, it);
        break;
    case COMPARE: thread->regs.p[it->to] = compared(it->comparison, a, b); break;
    case SELECT: thread->regs.r[it->to] = holds ? a : b; break;
    case BREAK: thread->leaving = holds ? it->to : 0; break;
    case CONTINUE: thread->skipping = holds; break;
    case EXIT:
    case RETURN: thread->returned = holds; break;
    case LOCAL_STORE: thread->regs.local[a % LOCALS] = b; break;
    case LOCAL_LOAD: thread->regs.r[it->to] = thread->regs.local[a % LOCALS]; break;
    case INPUT: thread->regs.r[it->to] = block->input[a % INPUTS]; break;
    case ADD_SHARED: block->results->shared[number][a % BINS] += b; break;
    case ADD_GLOBAL: block->results->global[a % BINS] += b; break;
    default: break;
    }
}

static bool run(struct block *block, const struct body *body, const lanes there);

static bool present(const struct block *block, const lanes there, unsigned i)
{
    const struct thread *thread = &block->threads[i];
    return there[i] && !thread->leaving && !thread->skipping && !thread->returned;
}

static bool run_loop(struct block *block, const struct statement *it, const lanes there)
{
    const unsigned threads = count_of(block);
    unsigned left[MOST_TOGETHER] = {0};
    bool some = false;
    for (unsigned i = 0; i < threads; i++) {
        if (there[i])
            left[i] = it->kind == REPEAT ? it->to : block->threads[i].regs.r[it->from[0].value] & 7;
        some |= left[i] > 0;
    }
    while (some) {
        lanes now = {0};
        for (unsigned i = 0; i < threads; i++)
            now[i] = left[i] > 0;
        if (!run(block, it->first, now))
            return false;
        some = false;
        for (unsigned i = 0; i < threads; i++) {
            struct thread *thread = &block->threads[i];
            if (!now[i])
                continue;
            thread->skipping = false;
            left[i] = thread->leaving || thread->returned ? 0 : left[i] - 1;
            if (thread->leaving)
                thread->leaving--;
            some |= left[i] > 0;
        }
    }
    return true;
}

static bool run_call(struct block *block, const struct statement *it, unsigned callee,
                     const lanes there)
{
    const unsigned threads = count_of(block);
    struct thread *outer = block->threads, *inner = calloc(threads, sizeof(*inner));
    for (unsigned i = 0; i < threads; i++) {
        for (unsigned k = 0; k < ARGUMENTS; k++)
            inner[i].regs.r[k] = outer[i].regs.r[it->from[k].value];
    }
    block->threads = inner;
    const bool good = run(block, block->kernel->functions[callee], there);
    block->threads = outer;
    for (unsigned i = 0; i < threads; i++) {
        if (there[i])
            outer[i].regs.r[it->to] = inner[i].regs.r[0];
    }
    free(inner);
    return good;
}

static unsigned lane_of(const struct statement *it, unsigned lane, uint32_t by)
{
    by &= 31;
    switch (it->comparison) {
    case 0: return by;
    case 1: return lane < by ? lane : lane - by;
    case 2: return lane + by > 31 ? lane : lane + by;
    default: return lane ^ by;
    }
}

static void exchange(struct block *block, const struct statement *it, const lanes there)
{
    const unsigned threads = block->kernel->threads;
    for (unsigned i = 0; i < count_of(block); i++) {
        if (there[i])
            block->words[i] = block->threads[i].regs.r[it->from[0].value];
    }
    for (unsigned i = 0; i < count_of(block); i++) {
        const unsigned me = i % threads, from = (me * it->other + it->callee) % threads;
        if (there[i])
            block->threads[i].regs.r[it->to] = block->words[i - me + from];
    }
}

// The index of the first thread in the block that this one's statement reaches.
static unsigned first_of_other(const struct block *block, const struct statement *it, unsigned i)
{
    const unsigned threads = block->kernel->threads;
    return (i / threads + 1 + it->other % block->blocks) % block->blocks * threads;
}

// Returns false if a thread reaches a block that has ended.
static bool reach_others(struct block *block, const struct statement *it, const lanes there)
{
    const unsigned threads = block->kernel->threads, count = count_of(block);
    bool lives[MOST_CLUSTER] = {false};
    for (unsigned i = 0; i < count; i++)
        lives[i / threads] |= there[i];
    for (unsigned i = 0; i < count; i++) {
        if (there[i] && !lives[first_of_other(block, it, i) / threads])
            return false;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct registers *regs = &block->threads[i].regs;
        const unsigned other = first_of_other(block, it, i);
        const uint32_t a = regs->r[it->from[0].value];
        if (there[i] && it->kind == READ_OTHER)
            block->words[i] = a;
        else if (there[i] && it->kind == SEND_OTHER)
            block->words[other + (i + it->callee) % threads] = a;
        else if (there[i])
            block->results->shared[block->number + other / threads][a % BINS] +=
                (uint32_t)value(&block->threads[i], 'r', it->from[1]);
    }
    for (unsigned i = 0; i < count; i++) {
        const unsigned from =
            first_of_other(block, it, i) + (i % threads * it->other + it->callee) % threads;
        if (there[i] && it->kind != ADD_OTHER)
            block->threads[i].regs.r[it->to] = block->words[it->kind == READ_OTHER ? from : i];
    }
    return true;
}

// Runs statements in which the lanes of a warp, except those that have ended, see each other.
static void run_warps(struct block *block, const struct statement *it, const lanes there)
{
    const unsigned threads = block->kernel->threads, count = count_of(block);
    uint32_t sent[MOST_TOGETHER], ballot[MOST_CLUSTER][MOST_THREADS / 32] = {0};
    for (unsigned i = 0; i < count; i++) {
        const unsigned me = i % threads;
        sent[i] = block->threads[i].regs.r[it->from[0].value];
        ballot[i / threads][me / 32] |= (uint32_t)(there[i] && guarded(&block->threads[i], it))
                                        << me % 32;
    }
    for (unsigned i = 0; i < count; i++) {
        struct thread *thread = &block->threads[i];
        if (!there[i])
            continue;
        const unsigned me = i % threads, first = i - me; // of the block
        const uint32_t lanes_there = ballot[i / threads][me / 32];
        uint32_t *to = &thread->regs.r[it->to];
        const unsigned from =
            me / 32 * 32 + lane_of(it, me % 32, (uint32_t)value(thread, 'r', it->from[1]));
        if (it->kind == SHUFFLE)
            *to = sent[from < threads && there[first + from] ? first + from : i];
        else if (it->kind == BALLOT)
            *to = lanes_there;
        else if (guarded(thread, it))
            *to = sent[first + me / 32 * 32 + 31 - (unsigned)__builtin_clz(lanes_there)];
    }
}

static void split(struct block *block, const struct statement *it, const lanes there, lanes yes,
                  lanes no)
{
    for (unsigned i = 0; i < count_of(block); i++) {
        yes[i] = there[i] && guarded(&block->threads[i], it);
        no[i] = there[i] && !yes[i];
    }
}

static bool run_switch(struct block *block, const struct statement *it, const lanes there)
{
    unsigned arm[MOST_TOGETHER] = {0};
    for (unsigned i = 0; i < count_of(block); i++)
        arm[i] = block->threads[i].regs.r[it->from[0].value] & 3;
    for (unsigned k = 0; k < 4; k++) {
        lanes now = {0};
        for (unsigned i = 0; i < count_of(block); i++)
            now[i] = there[i] && arm[i] == k;
        if (!run(block, it->arms[k], now))
            return false;
    }
    return true;
}

static bool run_statement(struct block *block, const struct statement *it, const lanes there)
{
    lanes yes = {0}, no = {0};
    switch (it->kind) {
    case IF:
        split(block, it, there, yes, no);
        return run(block, it->first, yes) && (!it->second || run(block, it->second, no));
    case SWITCH: return run_switch(block, it, there);
    case LOOP:
    case REPEAT: return run_loop(block, it, there);
    case CALL: return run_call(block, it, it->callee, there);
    case CALL_ONE_OF:
        split(block, it, there, yes, no);
        return run_call(block, it, it->callee, yes) && run_call(block, it, it->other, no);
    case EXCHANGE: exchange(block, it, there); return true;
    case READ_OTHER:
    case SEND_OTHER:
    case ADD_OTHER: return reach_others(block, it, there);
    case SHUFFLE:
    case SHUFFLE_WHERE:
    case BALLOT: run_warps(block, it, there); return true;
    default:
        for (unsigned i = 0; i < count_of(block); i++) {
            if (there[i])
                run_thread(block, block->number + i / block->kernel->threads, &block->threads[i],
                           it);
        }
        return true;
    }
}

static bool run(struct block *block, const struct body *body, const lanes there)
{
    for (unsigned k = 0; k < body->count; k++) {
        lanes now = {0};
        bool some = false;
        for (unsigned i = 0; i < count_of(block); i++)
            some |= now[i] = present(block, there, i);
        if (!some)
            return true;
        if (++block->steps > MOST_STEPS || !run_statement(block, &body->items[k], now))
            return false;
    }
    return true;
}

static uint32_t float_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static uint64_t double_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static void begin_thread(const struct block *block, unsigned number, unsigned i,
                         struct registers *regs)
{
    const uint32_t a = block->input[i], b = block->input[(i * 7 + number) % INPUTS];
    const uint32_t parameter = block->kernel->parameter, threads = block->kernel->threads;
    *regs = (struct registers){
        .r = {i, number, parameter, i * 4 + 3, a, b, threads, 0x1234},
        .d = {i, (uint64_t)a * b, 0, (uint64_t)parameter * 8},
        .f = {float_bits((float)(i * 4 + 3)), float_bits((float)(int32_t)a), float_bits(1),
              float_bits((float)(int32_t)b)},
        .g = {double_bits((int32_t)a), double_bits(i), double_bits((int32_t)b), double_bits(1)},
        .p = {i < 5, (int32_t)a < 0, false, number == 0},
    };
}

static void end_thread(const struct registers *regs, uint32_t *to)
{
    memcpy(to, regs->r, sizeof(regs->r));
    memcpy(to += WORDS, regs->f, sizeof(regs->f));
    memcpy(to += FLOATS, regs->d, sizeof(regs->d));
    memcpy(to + 2 * WIDES, regs->g, sizeof(regs->g));
}

bool evaluate_kernel(const struct kernel *kernel, const uint32_t input[INPUTS],
                     struct results *results)
{
    bool good = true;
    lanes all = {0};
    memset(all, true, sizeof(all));
    const unsigned together = kernel->cluster ? kernel->cluster : 1, threads = kernel->threads;
    for (unsigned k = 0; k < kernel->blocks && good; k += together) {
        struct thread *all_threads = calloc((size_t)together * threads, sizeof(*all_threads));
        struct block block = {kernel, input, results, k, together, .threads = all_threads};
        for (unsigned i = 0; i < together * threads; i++)
            begin_thread(&block, k + i / threads, i % threads, &all_threads[i].regs);
        good = run(&block, kernel->main, all);
        for (unsigned i = 0; i < together * threads; i++) {
            if (!all_threads[i].returned)
                end_thread(&all_threads[i].regs, results->threads[k * threads + i]);
            else if (i % threads == 0) // it would write the block's sums
                memset(results->shared[k + i / threads], 0, sizeof(results->shared[0]));
        }
        free(all_threads);
    }
    return good;
}
