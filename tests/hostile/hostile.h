// SPDX-License-Identifier: Apache-2.0
// Programs that do to results of the GPU, and to the process around them, whatever a correct
// program may do. programs.def lists them; each is a function THEME_NAME in THEME.c, and runs as
// `hostile THEME.NAME`. `run` compares what each prints, how it ends and the files that it writes,
// natively and with glint.
//
// A program prints only what is the same in every native run: so no addresses, times or process
// numbers, but whether they are right. It prints a line "not here: ..." where the system lacks what
// it needs.
#ifndef GLINT_TESTS_HOSTILE_H
#define GLINT_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../inject/program.h"

// --- Programs ------------------------------------------------------------------------------------

struct result;
#define PROGRAM(theme, name, what) void theme##_##name(void);
#define EARLY(theme, name, what)   void theme##_##name(void);
#define EACH(theme, name, what)    void theme##_##name(const struct result *result, unsigned key);
#define PAGES(theme, name, what)   void theme##_##name(char *memory);
#include "programs.def"
#undef PROGRAM
#undef EARLY
#undef EACH
#undef PAGES

// Makes a context and loads the kernel. Only programs that are EARLY in programs.def call it.
void start(void);
// Runs this executable again, as another program; returns only if it fails.
int run_again(const char *program);
extern const char *own_path;
extern int errno_at_start; // what main found

// --- Results -------------------------------------------------------------------------------------

// Where results of the GPU lie. Once there is memory that the GPU and the host share, glint fix
// corrects less; so this comes after the others.
enum place { BLOCK, STATIC, MAPPED, HEAP, REGISTERED, PINNED, MANAGED, STACK, PLACES };

struct result {
    enum place place;
    unsigned *words; // at the start of a page, except in HEAP and STACK
    unsigned count;
};
enum { PAGE = 4096, PAGE_WORDS = PAGE / 4, WORDS = 40 * PAGE_WORDS, FEW_WORDS = 700 };

// Returns memory for results, which lasts until the program ends; STACK is for on_each only.
struct result place_result(enum place place);
// Has the GPU compute the words of a result, copies them to it, and gives the GPU other work. The
// program has then waited for the words, more often than it had to, and has not used them.
void bring(const struct result *result, unsigned key);
// The same without waiting, on a stream; the words are there after a wait for it.
void bring_async(const struct result *result, unsigned key, CUstream stream);
unsigned word_of(unsigned index, unsigned key);
// How many of the words are what `bring` brought.
unsigned count_good(const unsigned *words, unsigned count, unsigned key);
// Calls `use` with a result in each kind of memory, twice. The words have the given key.
void on_each(void (*use)(const struct result *result, unsigned key));
// Calls `use` with 2 KiB of memory in each kind of memory, as structures.c says.
void in_pages(void (*use)(char *memory));
const char *name_of(enum place place);
// Has a kernel write word_of(i, key) to word i at `to`, after that many nanoseconds.
void fill(CUdeviceptr to, unsigned words, unsigned key, uint64_t wait_ns, CUstream stream);
extern CUfunction fill_function;
extern CUmodule fill_module;
extern CUdeviceptr device_words; // WORDS words

// --- Output --------------------------------------------------------------------------------------

// Prints the result of a system call, and the error if it is negative.
void say(const char *what, long result);
// Prints how many of the words are right.
void say_good(const char *what, const unsigned *words, unsigned count, unsigned key);
// Prints that the program cannot run here; the caller returns.
void not_here(const char *what);
// Copies a text to memory that has room for it.
static inline void put_text(char *memory, const char *text)
{
    memcpy(memory, text, strlen(text) + 1);
}
// Writes where no memory is.
void cause_fault(void);
// Ends the program with status 1 if the pointer is NULL or MAP_FAILED.
void *sure(void *pointer);

#endif
