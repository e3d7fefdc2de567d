// SPDX-License-Identifier: Apache-2.0
// The records that a recorded program sends to the recorder, and the ring in shared memory that
// carries them. The program's side never waits and never allocates: if the ring is full, it drops
// the record and counts it by kind. The recorder's side survives the death of the program at any
// moment: it reads every record that was written completely.
//
// A record is a C structure, followed by bytes that belong to it (a name, a list). Program and
// recorder are of the same build; both check EVENT_VERSION first. Numbers (of calls, objects,
// streams, ...) start at 1 and are unique within a process; 0 means none. Times are CLOCK_MONOTONIC
// nanoseconds. In the order of the ring, the record that defines a number precedes every record
// that uses it.
//
// Enumerations and fields that profiles have too come from src/facts, which explains them.
#ifndef GLINT_EVENT_EVENT_H
#define GLINT_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "facts/facts.h"
#include "rank.h"

#define EVENT_VERSION 14u

enum event_kind {
    EVENT_NONE = 0,
    // Definitions.
    EVENT_PROCESS,  // struct event_process, "executable\0folder\0argument\0...\0": the first record
    EVENT_IMAGE,    // struct event_image, path: a mapped executable or library. Holds for the call
                    // paths that follow, until another image takes its addresses
    EVENT_FUNCTION, // struct event_name, name: an API function, "cuMemAlloc_v2"
    EVENT_THREAD,   // struct event_thread, name
    EVENT_DEVICE,   // struct event_device, name
    EVENT_CONTEXT,  // struct event_context
    EVENT_STREAM,   // struct event_stream
    EVENT_MODULE,   // struct event_module, name or path
    EVENT_KERNEL,   // struct event_kernel, mangled name
    EVENT_STACK,    // struct event_stack, u64 return addresses, innermost first. Two threads may
                    // each send the same stack or image
    EVENT_CODE,     // struct event_code, file, name, table of lines: a function, class or module
                    // that Python runs
    EVENT_PYTHON,   // struct event_python, u64 Python frames, innermost first: a call path through
                    // Python code. Two threads may each send the same
    EVENT_GRAPH,    // struct event_graph, struct event_node...: what a launch of the graph does. If
                    // the nodes do not fit, more records of the same number follow immediately
    EVENT_EDGES,    // struct event_edges, struct event_edge...: the order of a graph's nodes. More
                    // records of the same number may follow
    EVENT_PROBE,    // struct event_probe, reason if there are none: what a kernel's probes measure
    EVENT_SITE,     // struct event_site, "function\0opcode\0type\0file\0inlined function\0
                    // file where it was inlined\0array of shared memory\0": a memory instruction of
                    // a kernel
    EVENT_ARRAY,    // struct event_array, name in the PTX: an array of shared memory of a kernel
    // What happens.
    EVENT_CALL,        // struct event_call, then the structure that its kind requires
    EVENT_OBJECT,      // struct event_object: an object begins. Precedes the call that makes it,
                       // or is part of that call: event_begins
    EVENT_OBJECT_END,  // struct event_object_end; or part of the call: event_ends
    EVENT_OBJECT_NAME, // struct event_name, name that the program gave the object
    EVENT_TIME,        // struct event_time: when the GPU did the work of a call
    EVENT_ACCESS,      // struct event_access: what a launch did to an object, as probes measured;
                       // call 0: something that no call shows may use it
    EVENT_TOLD,        // struct event_told: no more accesses of this launch will follow
    EVENT_COUNTS,      // struct event_counts: how often it touched the elements of an object
    EVENT_CONTENTS,    // struct event_contents, struct event_field...: what an object held
    EVENT_STORED,      // struct event_stored: how many stores of a site changed nothing
    EVENT_WEIGHED,     // struct event_weighed: the value that most reads of a launch got
    EVENT_ACCESSED,    // struct event_accessed: which values loads or stores moved
    EVENT_REQUESTS,    // struct event_requests: what requests of warps took at a site
    EVENT_WORDS,       // struct event_words, struct event_run...: how often words of shared memory
                       // were loaded and stored. More records may follow, which continue it
    EVENT_RANGES,      // struct event_ranges: which live ranges stores of a site began there
    EVENT_LIVES,       // struct event_lives: the live ranges of an array; follows all of its sites
    EVENT_BLOCK_REUSE, // struct event_block_reuse: what blocks loaded of an object
    EVENT_TRACE,       // struct event_trace: which lines of memory the warps of a launch reached
    EVENT_TRACE_PART,  // struct event_trace_part, bytes: follows it; the last part has no bytes
    EVENT_MAP,         // struct event_map, bytes: which elements of an object were touched
    EVENT_USE,         // struct event_use: the program's first use of data from the GPU
    EVENT_HASH,        // struct event_hash: the content of a copy between host and device
    EVENT_COPY_SOURCE, // struct event_copy_source: whether the source of a copy has changed
    EVENT_BLOCK,       // struct event_block: host memory; precedes the first copy from or to it
    EVENT_BLOCK_END,   // struct event_block_end
    EVENT_COLLECTIVE,  // struct event_collective: a call of NCCL; follows its call and those in it
    EVENT_CORRECTION,  // struct event_correction: how often a row of the plan was applied
    EVENT_NVTX_RANGE,  // struct event_nvtx_range, "name\0domain\0": a range of NVTX begins
    EVENT_NVTX_RANGE_END, // struct event_nvtx_range_end
    EVENT_NOTE,           // struct event_note, text for the report
    EVENT_FINISH,         // struct event_finish: the process ends by exit or by returning from main
    EVENT_KINDS
};

// Fields of src/facts/fields.def as a record has them.
#define EVENT_AS_SAME(type, name)                     type name;
#define EVENT_AS_TRIPLE(type, name)                   type name[3];
#define EVENT_AS_KIND(list, name)                     uint8_t name; // enum event_LIST
#define EVENT_AS_WIDER(record_type, row_type, name)   record_type name;
#define EVENT_AS_RENAMED(type, record_name, row_name) type record_name;
#define EVENT_AS_TIME(record_name, row_name)          uint64_t record_name;
#define EVENT_AS_RECORD_ONLY(type, name)              type name;

struct event_process {
    uint32_t version; // EVENT_VERSION
    int32_t pid, parent;
    uint32_t driver_version; // 13000; 0: not known yet
    uint64_t start_ns;       // when recording began
    uint64_t start_unix_ns;  // the same moment by CLOCK_REALTIME
    uint32_t simulated;      // the driver is glint's simulated GPU
    uint32_t timestamps;     // GPU times are recorded
};

struct event_image {
    FACTS_IMAGE(EVENT_AS)
    uint32_t build_id_bytes;
    unsigned char build_id[32];
};

struct event_name { // of what the kind of the record says
    uint64_t number;
};

struct event_thread {
    FACTS_THREAD(EVENT_AS)
};

struct event_device {
    FACTS_DEVICE(EVENT_AS)
    unsigned char uuid[16];
};

struct event_context {
    FACTS_CONTEXT(EVENT_AS)
};

enum { FACTS_STREAM_FLAGS(FACTS_VALUE, EVENT_STREAM_) };
struct event_stream {
    FACTS_STREAM(EVENT_AS)
};

struct event_module {
    FACTS_MODULE(EVENT_AS)
};

struct event_kernel {
    FACTS_KERNEL(EVENT_AS)
};

struct event_stack {
    uint32_t number, depth;
    uint32_t truncated; // the call path had more frames
};

// How a table of lines is to be read.
enum event_lines {
    EVENT_LINES_LNOTAB = 1, // Python 3.9: pairs of steps, of instructions and of lines
    EVENT_LINES_RANGES,     // 3.10: the same pairs, but of ranges of instructions
    EVENT_LINES_LOCATIONS,  // 3.11 and later: with columns
};

struct event_code {
    uint32_t number;
    uint32_t first_line;
    uint32_t file_bytes, name_bytes; // in UTF-8; the rest of the record is the table
    uint32_t lines;                  // enum event_lines
    uint32_t padding;
    int64_t seen_unix_s; // when it was first seen, by CLOCK_REALTIME
};

struct event_python {
    uint32_t number, below; // below: the number of the stack with the return addresses
    uint32_t depth;
    uint32_t truncated; // there were more Python frames
};

// A Python frame: bit 63 says that a frame of C runs it and those inside of it, up to the next with
// this bit. Below are 31 bits of the code's number, and the offset of the instruction in bytes.
enum { EVENT_PYTHON_CODES_MOST = 0x7FFFFFFF };
#define EVENT_PYTHON_START UINT32_C(0xFFFFFFFF) // instead of an offset: before the first one
static inline uint64_t event_python_frame(uint32_t code, uint32_t offset, bool entry)
{
    return (uint64_t)entry << 63 | (uint64_t)(code & EVENT_PYTHON_CODES_MOST) << 32 | offset;
}

enum { FACTS_PROBE_FACTS(FACTS_VALUE, EVENT_PROBE_) };

// Of several records of a kernel, the last one holds.
struct event_probe {
    FACTS_PROBE(EVENT_AS)
};

enum event_site_access { FACTS_SITE_ACCESSES(FACTS_VALUE, EVENT_SITE_) };

struct event_site {
    FACTS_SITE(EVENT_AS)
    uint8_t padding;
};

enum event_node_kind { FACTS_NODE_KINDS(FACTS_VALUE, EVENT_NODE_) };

// WATCHED holds only if an EVENT_TOLD record of the launch follows and reports no doubt.
enum { FACTS_LAUNCH_FLAGS(FACTS_VALUE, EVENT_LAUNCH_) };
struct event_launch {
    FACTS_LAUNCH(EVENT_AS)
};

enum event_memory { FACTS_MEMORIES(FACTS_VALUE, EVENT_MEMORY_) };
enum event_host { FACTS_HOSTS(FACTS_VALUE, EVENT_HOST_) EVENT_HOST_KINDS };
enum event_direction { FACTS_DIRECTIONS(FACTS_VALUE, EVENT_) };

struct event_copy {
    FACTS_COPY(EVENT_AS)
    uint8_t padding[4];
};

struct event_set {
    FACTS_SET(EVENT_AS)
};

struct event_node {
    uint8_t kind; // enum event_node_kind
    uint8_t padding[7];
    union {
        struct event_launch launch;
        struct event_copy copy;
        struct event_set set;
        struct {
            uint64_t object, bytes;
        } memory;
        struct {
            uint64_t event;
        } event;
    };
};

struct event_graph {
    uint64_t number; // of an executable graph; an update gives it a new number
    uint32_t node_count;
};

struct event_edges {
    uint64_t number; // of the graph
    uint32_t edge_count;
};

// The first nodes of a child graph follow the node of the child graph. What comes after the child
// graph follows its last nodes.
struct event_edge {
    FACTS_EDGE(EVENT_AS)
};

// The structure behind struct event_call: ALLOC, FREE, MEMORY event_alloc; COPY event_copy; SET
// event_set; LAUNCH event_launch; GRAPH_LAUNCH event_graph; SYNC, EVENT_RECORD, EVENT_WAIT
// event_sync; none for the others.
enum event_call_kind { FACTS_CALL_KINDS(FACTS_VALUE, EVENT_CALL_) EVENT_CALL_KINDS };

enum { FACTS_CALL_FLAGS(FACTS_VALUE, EVENT_CALL_) };

struct event_call {
    FACTS_CALL(EVENT_AS)
    uint8_t padding[6];
};

// An object that has only an address and a size needs no separate records: it begins and ends
// with calls.
struct event_alloc {
    FACTS_RANGE(EVENT_AS)
    uint8_t begins; // enum event_object_kind of the object that begins with the call; 0: none does
    uint8_t ends;   // 1: the object ends with the call
    uint8_t padding[2];
    uint32_t device; // of the object that begins
};

struct event_sync {
    FACTS_SYNC(EVENT_AS)
};

enum event_object_kind { FACTS_OBJECT_KINDS(FACTS_VALUE, EVENT_OBJECT_) EVENT_OBJECT_KINDS };

struct event_object {
    FACTS_OBJECT(EVENT_AS)
    uint8_t padding[3];
};

struct event_object_end {
    uint64_t number;
    uint64_t call;   // that ended it; 0: the end of the process did
    uint32_t stream; // of pool memory: the stream in whose order its life ends
    uint32_t padding;
};

struct event_time {
    FACTS_TIME(EVENT_AS)
    uint32_t flags;            // EVENT_TIME_*
    uint64_t start_ns, end_ns; // GPU times, converted to CLOCK_MONOTONIC
};

enum { EVENT_TIME_ESTIMATED = 1 }; // start_ns is inferred from when the launch was submitted

// PASSED: the object is known only because an argument of the launch points to it; it may have been
// read and written. With call 0: launches that are known by their arguments may also find the
// object's address in memory. SAMPLED, with PASSED: the launch was seen to do what READ and WRITTEN
// say, which takes the place of what was known of the object by its arguments.
enum {
    EVENT_ACCESS_READ = 1,
    EVENT_ACCESS_WRITTEN = 2,
    EVENT_ACCESS_PASSED = 4,
    EVENT_ACCESS_SAMPLED = 8
};

#define EVENT_UNKNOWN FACTS_UNKNOWN
struct event_access {
    FACTS_ACCESS(EVENT_AS)
};

enum event_doubt { FACTS_DOUBTS(FACTS_VALUE, EVENT_DOUBT_) EVENT_DOUBT_KINDS };

// Follows the accesses of each watched launch. Without this record, nothing is known about a
// launch that said it was watched. Nodes of graphs have one only to report a doubt: nothing is
// known about a node without accesses.
struct event_told {
    uint64_t call;
    uint32_t node;   // of a graph launch: 1 + index
    uint32_t doubts; // sum of 1 << enum event_doubt
};

enum { FACTS_COUNT_SIZES(FACTS_VALUE, EVENT_) };

// bins[b] is the number of elements whose count is at least 2^(b/2) if b is even, at least
// 3 * 2^((b-1)/2 - 1) if b is odd, and below the least count of the next bin.
struct event_counts {
    FACTS_COUNTS(EVENT_AS)
    uint64_t bins[EVENT_COUNT_BINS];
    struct event_range {
        FACTS_HOT_RANGE(EVENT_AS)
    } hottest[EVENT_HOT_RANGES]; // hottest first
};

enum event_value_type { FACTS_VALUE_TYPES(FACTS_VALUE, EVENT_TYPE_) EVENT_TYPES };
enum event_contents_kind { FACTS_CONTENTS_KINDS(FACTS_VALUE, EVENT_CONTENTS_) };
enum { FACTS_CONTENTS_FLAGS(FACTS_VALUE, EVENT_CONTENTS_) };
enum { FACTS_VALUE_SIZES(FACTS_VALUE, EVENT_) };

struct event_contents {
    FACTS_CONTENTS(EVENT_AS)
    uint8_t field_count;
    uint8_t padding[2];
};

struct event_field {
    FACTS_VALUE_FIELD(EVENT_AS)
    uint8_t padding[7];
    struct event_candidate {
        FACTS_CANDIDATE(EVENT_AS)
    } candidates[EVENT_CANDIDATES]; // the most frequent first
    struct event_rounding {
        FACTS_ROUNDING(EVENT_AS)
    } roundings[EVENT_ROUNDINGS]; // 10 bits first; all 0 unless the field is a float
};

struct event_stored {
    FACTS_STORED(EVENT_AS)
};

struct event_weighed {
    FACTS_WEIGHED(EVENT_AS)
    uint8_t padding[3];
};

enum event_accessed_way { FACTS_ACCESSED_WAYS(FACTS_VALUE, EVENT_ACCESSED_) };
enum { FACTS_ACCESSED_FLAGS(FACTS_VALUE, EVENT_ACCESSED_) };

struct event_accessed {
    FACTS_ACCESSED(EVENT_AS)
    uint8_t padding[6];
};

struct event_requests {
    FACTS_REQUESTS(EVENT_AS)
};

struct event_array {
    FACTS_SHARED_ARRAY(EVENT_AS)
};

enum { FACTS_SHARED_FLAGS(FACTS_VALUE, EVENT_SHARED_) };

struct event_words {
    FACTS_SHARED_WORDS(EVENT_AS)
};

struct event_run {
    FACTS_SHARED_RUN(EVENT_AS)
};

struct event_ranges {
    FACTS_SHARED_RANGES(EVENT_AS)
};

struct event_lives {
    FACTS_SHARED_LIVES(EVENT_AS)
};

enum { FACTS_REUSE_FLAGS(FACTS_VALUE, EVENT_REUSE_) };

struct event_block_reuse {
    FACTS_BLOCK_REUSE(EVENT_AS)
};

// How the lines that warps reach were traced. Its parts follow.
struct event_trace {
    uint64_t call;
    uint64_t blocks;  // of the grid
    uint64_t records; // that follow
    uint32_t node, kernel;
    uint32_t threads;      // of a block
    uint32_t resident;     // blocks of the program's kernel that a multiprocessor runs; 0: unknown
    uint32_t shared_bytes; // of a block
    int32_t carveout;      // percent of L1 that the program wants as shared memory; -1: any
    uint32_t share;        // of 65536 lines, of which there are records; 0: of none
    uint32_t device;
};

// Its bytes are struct event_traced if is_records, or else struct event_traced_block, of the next
// blocks of the grid.
struct event_trace_part {
    uint64_t call;
    uint32_t node;
    uint8_t is_records, is_last, reserved[2];
};
enum { // bits of `what` and `length`
    EVENT_TRACED_LINE_BITS = 42,
    EVENT_TRACED_SECTORS_AT = 42,
    EVENT_TRACED_WHOLE_AT = 46,
    EVENT_TRACED_SITE_AT = 50,
    EVENT_TRACED_PROCESSOR_BITS = 10,
};
struct event_traced {
    uint64_t what;        // line: 42 bits; sectors: 4; those that were written whole: 4; site
    uint32_t warp, steps; // its number in the grid; basic blocks that it had executed
};
struct event_traced_block {
    uint32_t began;  // nanoseconds, modulo 2^32
    uint32_t length; // multiprocessor: 10 bits; basic blocks that its longest thread executed
};

enum event_map_kind { FACTS_MAP_KINDS(FACTS_VALUE, EVENT_MAP_) };

// A piece of a map that covers the whole life of the object. Pieces that are all zeros are not
// sent.
struct event_map {
    FACTS_MAP(EVENT_AS)
    uint8_t padding[3];
};

enum event_use_kind { FACTS_USE_KINDS(FACTS_VALUE, EVENT_USE_) EVENT_USE_KINDS };

// The program's first use of data that a synchronization made safe: the destination of a copy to
// the host, or managed memory that kernels may have written. Data that the program never used has
// no record. A later record of the same sync, copy, node and object replaces an earlier one.
struct event_use {
    FACTS_USE(EVENT_AS)
    uint8_t padding[3];
};

enum event_same { FACTS_SAMES(FACTS_VALUE, EVENT_SAME_) };

// The hash is of the bytes at the host's end, row by row, before the program could change them.
struct event_hash {
    FACTS_HASH(EVENT_AS)
    uint8_t padding[7];
};

struct event_copy_source {
    FACTS_COPY_SOURCE(EVENT_AS)
    uint8_t padding[7];
};

struct event_block {
    FACTS_BLOCK(EVENT_AS)
    uint8_t padding[3];
};

struct event_block_end {
    FACTS_BLOCK_END(EVENT_AS)
};

enum event_collective_type {
    FACTS_COLLECTIVE_TYPES(FACTS_VALUE, EVENT_COLLECTIVE_) EVENT_COLLECTIVE_TYPES
};

struct event_collective {
    FACTS_COLLECTIVE(EVENT_AS)
    uint8_t padding[3];
};

#define EVENT_CORRECTION_COUNT(name, field) EVENT_CORRECTION_##name,
enum event_correction_count {
    FACTS_CORRECTION_COUNTS(EVENT_CORRECTION_COUNT) //
    EVENT_CORRECTION_COUNTS
};

// What a row of the plan has done so far in this process. A later record of the same row replaces
// an earlier one.
struct event_correction {
    uint32_t row;    // of the plan, from 1; 0: the process as a whole
    uint32_t remedy; // enum plan_remedy
    uint32_t stack;  // its call path; 0: the program did not reach it
    uint64_t counts[EVENT_CORRECTION_COUNTS];
};

enum event_severity { FACTS_SEVERITIES(FACTS_VALUE, EVENT_) };

struct event_nvtx_range {
    uint64_t number;
    uint64_t start_ns;
    uint32_t thread;
    uint32_t pushed; // it is one of the thread; else of the process
};

struct event_nvtx_range_end { // of a range whose begin may not have been recorded
    uint64_t number;
    uint64_t end_ns;
    uint32_t thread, padding;
};

struct event_note {
    uint32_t severity;
};

struct event_finish {
    uint64_t end_ns;
    uint64_t calls, objects; // made in all, so that the recorder knows how many records are missing
};

// Derive the record of the object that begins or ends with a call. Return false if none does.
bool event_begins(const struct event_call *call, const struct event_alloc *alloc,
                  struct event_object *object);
bool event_ends(const struct event_call *call, const struct event_alloc *alloc,
                struct event_object_end *end);

// --- The ring ------------------------------------------------------------------------------------

// Shared memory of whole pages: a header, then slots of 64 bytes. ring.c explains the layout.
struct event_ring;

// Returns the bytes to map for a ring of `slots` slots, which must be a power of two.
size_t event_ring_bytes(uint32_t slots);

// Initializes an empty ring in zeroed memory. Returns NULL if event_ring_bytes never returns this
// size. The ring lies in the memory; there is nothing to free.
struct event_ring *event_ring_make(void *memory, size_t bytes);

// Writes a record: its structure and the bytes that belong to it. Called on the program's side, by
// any thread, also in a signal handler. Returns false if the ring was full; the record is then
// counted as dropped.
bool event_put(struct event_ring *ring, enum event_kind kind, const void *record, size_t bytes,
               const void *more, size_t more_bytes);
// The same for a record in up to three pieces: head, detail, and the bytes that belong to it.
struct event_piece {
    const void *bytes;
    size_t length;
};
bool event_put_pieces(struct event_ring *ring, enum event_kind kind,
                      const struct event_piece *pieces, unsigned count);
// Writes an EVENT_CALL record with its struct event_alloc in half the space. Returns false, without
// writing, if the call failed or its numbers are too large: use event_put_pieces then.
bool event_put_short(struct event_ring *ring, const struct event_call *call,
                     const struct event_alloc *alloc);
// Returns true if half of the ring is unread: records that can wait should be sent later.
bool event_is_busy(const struct event_ring *ring);
enum { EVENT_MOST_BYTES = 56 * 4096 - 4 }; // of one record with the bytes that belong to it

// The recorder's side, used by one thread. The program can overwrite everything in the ring, so
// whatever decides where the reader looks is kept here, in the recorder's memory. Initialize it
// with event_reader_init.
struct event_reader {
    struct event_ring *ring;
    uint32_t slot_count;
    uint64_t tail;       // the next slot to read
    uint64_t released;   // the tail as the writers know it
    uint64_t unfinished; // how often unfinished records were skipped
};

// Attaches to a ring that event_ring_make made in this memory. The memory must stay mapped; if it
// is a file, the file must keep its size (seal it with F_SEAL_SHRINK). Returns false if the memory
// holds no ring of this version or the size is wrong.
bool event_reader_init(struct event_reader *reader, void *memory, size_t bytes);

// Replaces the contents of `out` with the next record and returns its kind, or EVENT_NONE if there
// is none yet. If memory runs out, out->failed is set and the record is lost. Set `abandoned` when
// all writers are dead: the reader then skips records that were begun and never finished, and
// counts each run of them once.
enum event_kind event_take(struct event_reader *reader, struct base_buf *out, bool abandoned);

// Returns how many records of this kind were dropped because the ring was full.
uint64_t event_dropped(const struct event_reader *reader, enum event_kind kind);
// Returns the number of unread slots, from which the recorder decides how long to sleep.
uint32_t event_waiting(const struct event_reader *reader);

const char *event_kind_name(enum event_kind kind); // for people: "call"

// --- How the recorder gets the ring --------------------------------------------------------------

// Environment variables of the recorded program. The recorder's socket, also for child processes:
#define EVENT_SOCKET_VARIABLE        "GLINT_SOCKET"
// "1": record GPU times.
#define EVENT_TIMESTAMPS_VARIABLE    "GLINT_TIMESTAMPS"
// What probes measure: a sum of EVENT_PROBE_*.
#define EVENT_PROBES_VARIABLE        "GLINT_PROBES"
// Which kernels: an extended regular expression that is searched in the mangled name, and in the
// qualified function name without template arguments and parameters.
#define EVENT_KERNELS_VARIABLE       "GLINT_KERNELS"
#define EVENT_NO_PROBES_VARIABLE     "GLINT_NO_PROBES"
// Which launches of a kernel: every Nth.
#define EVENT_SAMPLE_VARIABLE        "GLINT_SAMPLE"
// How many launches that are alike are watched.
#define EVENT_LAUNCHES_VARIABLE      "GLINT_LAUNCHES"
// Which launches of a kernel without probes run patched code: the first and every Nth; the library
// of the Sanitizer API that patches it, and the patch, by their paths; and how much GPU time that
// may take, as a percentage of that of other launches, to test it without a limit (100; default
// 10).
#define EVENT_SAMPLE_NATIVE_VARIABLE "GLINT_SAMPLE_NATIVE"
#define EVENT_SANITIZER_VARIABLE     "GLINT_SANITIZER"
#define EVENT_PATCH_VARIABLE         "GLINT_SAMPLED_PATCH"
#define EVENT_BUDGET_VARIABLE        "GLINT_SAMPLED_BUDGET"
// The same library where the recorder has found one. It serves NVIDIA's GPUs only.
#define EVENT_FOUND_VARIABLE         "GLINT_SANITIZER_FOUND"
// Which part of the run: event_capture_parse.
#define EVENT_CAPTURE_VARIABLE       "GLINT_CAPTURE_RANGE"
// How to count words of shared memory, to compare what it costs: "basic", or a list of "sa", "na",
// "sm", "th", which needs "sm", and "ranges"; see enum instrument_word_ways. Without it:
// "sa,sm,ranges".
#define EVENT_COUNTING_VARIABLE      "GLINT_SHARED_COUNTING"
// How many bytes of GPU memory probes may use.
#define EVENT_MAX_SHADOW_VARIABLE    "GLINT_MAX_SHADOW"
// "1": send maps.
#define EVENT_MAPS_VARIABLE          "GLINT_MAPS"
// "1": track first uses of data from the GPU; "2": track all of it, whatever that costs.
#define EVENT_SYNC_TRACKING_VARIABLE "GLINT_SYNC_TRACKING"
// "1": close pages by protecting them where they cannot be moved away, which programs may notice.
#define EVENT_PROTECT_VARIABLE       "GLINT_PROTECT_PAGES"
// The folder for rewritten modules; empty: none are kept.
#define EVENT_CACHE_VARIABLE         "GLINT_CACHE"
// Which ranks of a job are recorded: event_ranks_valid. Other processes are not recorded.
#define EVENT_RANKS_VARIABLE         "GLINT_RANKS"
// Names of environment variables, separated by commas, whose values name profiles.
#define EVENT_NAMING_VARIABLE        "GLINT_NAMING"

// "profiler": launches between cuProfilerStart and cuProfilerStop. "nvtx:NAME": launches inside an
// NVTX range of that name in the default domain; "nvtx:NAME@DOMAIN": in that domain. A backslash
// before an "@" makes it part of the name.
enum event_capture_kind { EVENT_CAPTURE_ALL, EVENT_CAPTURE_PROFILER, EVENT_CAPTURE_NVTX };
enum { EVENT_CAPTURE_TEXT = 1024 };
struct event_capture {
    enum event_capture_kind kind;
    char name[EVENT_CAPTURE_TEXT], domain[EVENT_CAPTURE_TEXT]; // UTF-8; domain "": the default
};

// Returns false, and EVENT_CAPTURE_ALL, if the text is none of these: a name or domain is empty, or
// is too long.
bool event_capture_parse(const char *text, struct event_capture *capture);

// What failed when a process offered its ring.
enum event_refusal { EVENT_REFUSED_NOTHING, EVENT_REFUSED_CONNECTION, EVENT_REFUSED_MEMORY };

// Environment variables of a process by which the recorder knows its rank and names its profile:
// each "NAME=VALUE", followed by a NUL. They are sent with the ring because /proc is gone when a
// process has ended early.
enum { EVENT_INTRODUCTION = 4096 };

// Called on the program's side: allocates a ring, hands it to the recorder at the socket with the
// introduction, of which nothing beyond EVENT_INTRODUCTION bytes is sent, and keeps no file
// descriptor. Starts with `slots` slots and halves that, down to `least`, while there is
// too little memory or the program may not write files of that size. Returns NULL with errno set if
// there is no recorder or no memory, and says in *refusal what failed. Calls only functions that
// are safe between fork and exec.
struct event_ring *event_ring_offer(const char *socket_path, struct base_str introduction,
                                    uint32_t slots, uint32_t least, size_t *bytes,
                                    enum event_refusal *refusal);

// Called on the recorder's side: maps the ring that a process offers on the connection, and adds
// its introduction to a buffer, unless that is NULL. *pid is the process id that the kernel
// reports. The memory cannot shrink while it is mapped. Returns NULL if
// it is no ring of this version, or the peer belongs to another user. Free the ring with
// event_ring_release.
struct event_ring *event_ring_accept(int connection, size_t *bytes, int *pid,
                                     struct base_buf *introduction, struct base_error *error);
void event_ring_release(struct event_ring *ring, size_t bytes);

// --- Which processes the library was loaded into -------------------------------------------------

// A process has a ring only once it uses CUDA. The recorder therefore shares a small file, beside
// its socket, with all processes of the program: each process in which libglint.so was loaded has a
// slot in it. So the recorder can tell a program that has not used CUDA from one that it could not
// watch. Both sides keep the file mapped and need no descriptor.
enum {
    EVENT_PRESENT_CALLED = 1,   // it has called a function of CUDA
    EVENT_PRESENT_RECORDED = 2, // the recorder's socket has taken its ring
    EVENT_PRESENT_ENDED = 4,    // it has run its exit handlers
    EVENT_PRESENT_DRIVER = 8,   // libcuda.so.1 was loaded when it ended
    EVENT_PRESENT_RUNTIME = 16, // a libcudart.so was loaded when it ended
    EVENT_PRESENT_NVTX = 32,    // it uses NVTX, and ranges of NVTX are to be watched
    EVENT_PRESENT_RANGE = 64,   // a range that is to be watched began
    EVENT_PRESENT_OTHER = 128,  // one of that name began in another domain
    EVENT_PRESENT_INSIDE = 256, // a launch was inside such a range
    EVENT_PRESENT_NAME = 16,
    EVENT_PRESENT_SLOTS = 1024,
};

// Only the process itself writes its slot, and children of fork until they have their own. A
// process that becomes another program by exec, and has the library again, takes a new slot. The
// program's first process always has the first slot.
struct event_presence_slot {
    _Atomic int32_t pid;    // written last; 0: unused
    _Atomic uint32_t flags; // EVENT_PRESENT_*
    _Atomic uint32_t refusal;
    _Atomic int32_t error;         // errno of the refusal
    uint64_t device, inode;        // of its executable
    char name[EVENT_PRESENT_NAME]; // of its first thread when it was loaded
};

struct event_presence {
    _Atomic int32_t root;   // process id of the program's first process; has the first slot
    _Atomic uint32_t count; // slots taken by others, also beyond the last
    struct event_presence_slot slots[EVENT_PRESENT_SLOTS];
};

// Called by the recorder before the program starts, once; NULL with errno set on failure.
struct event_presence *event_presence_make(const char *socket_path);
// Called in the program; NULL on failure, with errno set.
struct event_presence *event_presence_join(const char *socket_path);
// Returns the calling process's new slot; NULL: there is none left.
struct event_presence_slot *event_presence_take(struct event_presence *presence);
void event_presence_release(struct event_presence *presence);

#endif
