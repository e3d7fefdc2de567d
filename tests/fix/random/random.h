// SPDX-License-Identifier: Apache-2.0
// A program determined by a number, its seed: memory of all kinds, copies, kernels, streams,
// events, graphs and threads, in an order that differs between seeds. It is always a correct
// program: the contents of its memory follow from the seed alone, and the program checks them.
//
//   main.c        worlds, the sites that statements are called from, and the end
//   statements.c  what a statement does
//   device.c      memory of the device, and kernels
//   host.c        memory of the host, and the ways in which it is read
//   order.c       streams: what must be waited for, and ways to wait for it
//
// A *world* is all that one thread works with; worlds share only the context. Statements are called
// from *sites*, each with its own call path, and the seed does not change the kind of statement at
// a site. So what glint learns about a call path with one seed applies to calls with another seed,
// but the purpose of these calls differs.
//
// The host keeps a model of every piece of memory and updates it when work is issued; order.c
// ensures that work on a piece is executed in the order of issue. If a piece differs from its
// model, the program exits with status 3. A digest of everything read is printed.
#ifndef GLINT_TESTS_FIX_RANDOM_H
#define GLINT_TESTS_FIX_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../inject/program.h"

enum {
    STREAM_COUNT = 4, // the legacy stream, two that order with it, and one that does not
    DEVICE_COUNT = 8,
    HOST_COUNT = 16,
    LATER_COUNT = 16,
    PAGE = 4096,
};

// The last work on a piece of memory, as the nth on a stream; n is 0 if there is none.
struct work {
    unsigned stream;
    uint64_t number;
};

struct stream {
    CUstream handle;
    uint64_t issued, done; // done: the last one that the program knows to be done
};

enum device_kind { DEVICE_PLAIN, DEVICE_POOL, DEVICE_MANAGED, DEVICE_LARGE, DEVICE_KINDS };

struct device_piece {
    enum device_kind kind;
    CUdeviceptr start;   // of the allocation
    CUdeviceptr address; // address of the used words within it; 0: not allocated
    unsigned words;
    bool defined; // all of it was written
    uint32_t *model;
    struct work last;
};

// How a kernel gets addresses, if not as they are.
enum form {
    FORM_LOWER,    // A - lower, and the lower bound of the array's indices
    FORM_DISTANCE, // another object's address, and the distance from it
    FORM_END,      // A + N, and N, to walk backwards
    FORM_XORED,    // A xor a mask, and the mask
    FORM_TAGGED,   // with a tag in the upper byte
    FORM_HALVES,   // two parameters of 32 bits
    FORMS,
};

enum host_kind {
    HOST_HEAP,       // small: shares its pages with other data
    HOST_TINY,       // a few words of the heap
    HOST_CORNER,     // a few words within a variable, between others
    HOST_BLOCK,      // large: has its own pages
    HOST_MAPPED,     // by mmap
    HOST_STATIC,     // a variable of the executable
    HOST_PINNED,     // by the driver
    HOST_REGISTERED, // large, and registered with the driver
    HOST_KINDS,
};

struct host_piece {
    enum host_kind kind;
    uint32_t *data;
    unsigned words;
    uint32_t *model;
    struct work last; // copies that may still write or read it
};

struct later {
    unsigned host, offset, words;
};

struct world {
    unsigned number; // 0: the main thread
    uint32_t random;
    uint64_t digest;
    const char *doing; // for messages
    bool hides;        // kernels get addresses in other forms; all memory is then backed
    int file;          // written in all possible ways
    struct stream streams[STREAM_COUNT];
    struct device_piece devices[DEVICE_COUNT];
    struct host_piece hosts[HOST_COUNT];
    struct later later[LATER_COUNT];
    unsigned later_count;
    unsigned round;
    CUmodule module;
    CUfunction fill, mix, follow, hidden[FORMS];
};

// A statement: the choices of the seed for its site.
struct statement {
    unsigned device[2], host, stream, choice;
    enum { USE_NEVER, USE_LATER, USE_NOW } use[2]; // in the first rounds, and in the last
};
typedef void statement_function(struct world *world, const struct statement *statement);
struct kind {
    const char *name;
    statement_function *run;
    bool alone; // captures a graph, or frees twice memory that another thread may get
};
extern const struct kind kinds[];
extern const unsigned kind_count;

// --- Numbers -------------------------------------------------------------------------------------

uint32_t next_random(struct world *world);
static inline uint32_t below(struct world *world, uint32_t limit)
{
    return (uint32_t)(((uint64_t)next_random(world) * limit) >> 32);
}
// Prints what is wrong, and ends the process with status 3.
_Noreturn void wrong(const struct world *world, const char *what);
void digest_words(uint64_t *digest, const uint32_t *words, size_t count);

// --- order.c -------------------------------------------------------------------------------------

void open_streams(struct world *world);
void close_streams(struct world *world);
CUstream handle_of(const struct world *world, unsigned stream);
bool is_pending(const struct world *world, const struct work *work);
// Ensures that the next work on the stream runs after this work.
void order_after(struct world *world, const struct work *work, unsigned stream);
// Notes that work on a piece was issued on the stream.
void issued(struct world *world, struct work *work, unsigned stream);
// Waits until the work is done, in one of many ways.
void wait_for(struct world *world, const struct work *work);
void wait_for_all(struct world *world);

// --- device.c ------------------------------------------------------------------------------------

void load_kernels(struct world *world);
// Returns the piece, allocated; with `defined`, also written.
struct device_piece *device_piece(struct world *world, unsigned index, bool defined,
                                  unsigned stream);
void free_device(struct world *world, struct device_piece *piece);
void launch_fill(struct world *world, struct device_piece *to, unsigned stream);
void launch_mix(struct world *world, struct device_piece *from, struct device_piece *to,
                unsigned stream);
// The same, with addresses in another form.
void launch_hidden(struct world *world, enum form form, struct device_piece *from,
                   struct device_piece *to, unsigned stream);
// The kernels themselves, with plain addresses, and models that may be NULL.
void fill_words(struct world *world, CUdeviceptr to, unsigned words, uint32_t key, CUstream stream);
void mix_words(struct world *world, CUdeviceptr from, CUdeviceptr to, unsigned words, uint32_t key,
               CUstream stream);
void follow_words(struct world *world, CUdeviceptr pointers, unsigned words, uint32_t key,
                  CUstream stream);
uint32_t filled(unsigned i, uint32_t key);
uint32_t mixed(uint32_t word, unsigned i, uint32_t key);

// --- host.c --------------------------------------------------------------------------------------

void allocate_host(struct world *world, unsigned index, enum host_kind kind);
void free_host(struct world *world, unsigned index);
bool is_pinned(const struct host_piece *piece);
// Writes a part of it, after pending work.
void write_host(struct world *world, struct host_piece *piece, unsigned offset, unsigned words);
// Reads a part of it, in one of many ways, after pending work.
void look(struct world *world, struct host_piece *piece, unsigned offset, unsigned words);
// Reads words that have no pending work.
void look_at(struct world *world, const uint32_t *words, const uint32_t *model, unsigned count);
void look_later(struct world *world, unsigned host, unsigned offset, unsigned words);
void look_at_some(struct world *world, unsigned most); // of deferred reads

#endif
