// SPDX-License-Identifier: Apache-2.0
// What every report needs of a job profile: its profiles, and each kernel, wait, object, copy
// direction, collective, range of NVTX and finding with how it spreads over them. Rows of single
// profiles are not kept; they can be read again. Inner header of src/report.
#ifndef GLINT_REPORT_JOB_DATA_H
#define GLINT_REPORT_JOB_DATA_H

#include "job/job.h"
#include "report.h"

// Returned where a profile is asked for and there is none.
#define REPORT_JOB_NONE SIZE_MAX

struct report_job_profile {
    bool has_rank, has_ranks, has_code, has_run, has_possible;
    uint64_t rank, ranks; // ranks: in the whole job
    const char *host, *job, *launcher, *file, *executable, *arguments, *ended, *glint;
    int64_t pid, code, start_unix_ns, clock_offset_ns;
    bool complete, simulated, unsearched;
    bool shares_rank; // another profile has the same rank
    uint64_t calls, failed_calls, launches, objects, dropped, peak_bytes, achievable_bytes;
    uint64_t run_ns, possible_ns, kernel_ns, waits, waited_ns, findings, worthwhile;
    uint64_t all_waits;   // calls that waited, or would have if the GPU had had work
    const char *recorded; // names of analyses, separated by commas
    uint64_t observed[3]; // launches by probes, by arguments and not at all
};

// How a number spreads over profiles. Those without it count as 0, but not for findings.
struct report_job_spread {
    uint64_t least, most, sum, median;
    size_t least_at, most_at; // profiles
    uint64_t profiles;        // over which it spreads
};

enum { REPORT_JOB_MEASURES = 4, REPORT_JOB_OUTLIERS = 4, REPORT_JOB_DIFFERENCE_PERCENT = 20 };

struct report_job_outlier {
    size_t profile;
    uint64_t value;
};

enum report_job_kind {
    REPORT_JOB_KERNEL,     // measures: launches, GPU time
    REPORT_JOB_WAIT,       // waits, waiting time
    REPORT_JOB_OBJECT,     // objects, bytes, bytes of the highest peak
    REPORT_JOB_COPY,       // copies, bytes, GPU time
    REPORT_JOB_COLLECTIVE, // calls, bytes sent, bytes received, time in the function
    REPORT_JOB_RANGE,      // ranges of NVTX: ranges, time
    REPORT_JOB_KINDS
};

struct report_job_row {
    const char *name; // of the kernel, function, object, ...; "" if an object has none
    const char *kind; // of an object; the type of a collective's elements; the domain of a range
    uint64_t communicator_ranks; // of a collective; 0: unknown
    const struct job_place *place;
    bool is_explicit, is_timed; // a synchronization; all times are known
    uint64_t profiles;          // that have it
    struct report_job_spread measures[REPORT_JOB_MEASURES];
    unsigned main; // the measure by which profiles are compared
    bool compared; // there is such a measure
    bool differs;  // by more than REPORT_JOB_DIFFERENCE_PERCENT, and enough to matter
    // Profiles whose main measure differs from the median by more than that, the farthest first.
    struct report_job_outlier outliers[REPORT_JOB_OUTLIERS];
    size_t outlier_count; // of all, also those that are not in the array
};

enum report_job_worth { // what fixing a finding saves
    REPORT_JOB_RUN,
    REPORT_JOB_PEAK,
    REPORT_JOB_TRAFFIC,
    REPORT_JOB_GPU,
    REPORT_JOB_WAITS,
    REPORT_JOB_TOGETHER_PEAK,
    REPORT_JOB_TOGETHER_RUN,
    REPORT_JOB_WORTHS
};

struct report_job_finding_row { // a finding of one profile
    const char *pattern;
    uint64_t identity, ordinal;
    size_t profile;
    const struct job_place *place; // its call path; NULL: unknown
    const char *at;                // "2mm.cu:31", "" if unknown
    const char *file, *object, *kernel, *message, *suggestion, *brief, *remedy;
    uint32_t line;
    bool worthwhile, only_together, unestimated, hard, bound;
    uint64_t count, share_ppm;
    uint64_t worth[REPORT_JOB_WORTHS];
};

struct report_job_finding {               // of all profiles that have it
    struct report_job_finding_row worst;  // that with the largest share
    uint64_t profiles, worthwhile, count; // profiles: that have it; that have it as worthwhile
    uint64_t share_ppm;                   // sum
    struct report_job_spread worth[REPORT_JOB_WORTHS];
};

struct report_job_unmerged {
    const char *file, *reason;
};

struct report_job_note { // a note that profiles have
    const char *severity, *text;
    uint64_t profiles; // that have it
};

struct report_job {
    struct profile *profile;
    struct base_arena arena;
    BASE_ARRAY(const char *) texts;      // by number - 1
    BASE_ARRAY(struct job_place) places; // likewise
    BASE_ARRAY(struct report_job_profile) profiles;
    BASE_ARRAY(struct report_job_row) rows[REPORT_JOB_KINDS]; // those that differ most first
    BASE_ARRAY(struct report_job_finding) findings;           // ranked
    BASE_ARRAY(struct report_job_unmerged) unmerged;
    BASE_ARRAY(struct report_job_note) notes;                   // by severity, the worst first
    BASE_ARRAY(uint64_t) missing;                               // ranks
    struct report_job_spread peak, kernel_ns, waited_ns, found; // over all profiles
    uint64_t ranks;    // in the job, as most profiles say; 0: unknown
    uint64_t hosts;    // different ones that are known
    size_t worthwhile; // findings
    size_t suppressed; // findings that a file of rules removed
    bool simulated;    // some profile is of the simulated GPU: no times are compared
    bool mixed_jobs;   // profiles name different jobs, or numbers of ranks
    bool shared_ranks; // several profiles have the same rank
};

// Loads a job that profile_open_job opened, which must stay open. The job starts as {0}; the caller
// calls report_job_fini, also after a failure. Findings that the rules suppress are left out; rules
// may be NULL. Fails with BASE_INVALID if the rules have other thresholds than the defaults, by
// which findings were made; with BASE_CORRUPT if the file is damaged.
enum base_code report_job_load(struct report_job *job, struct profile *profile,
                               const struct report_rules *rules, struct base_error *error);
void report_job_fini(struct report_job *job);

// Calls `each` for every finding of every profile, by pattern and identity.
enum base_code report_job_each_finding(struct report_job *job,
                                       bool (*each)(void *user,
                                                    const struct report_job_finding_row *row),
                                       void *user, struct base_error *error);

// Calls `each` for the rows of a kind of every profile, which come together if they are of one row
// of the job.
struct report_job_use {
    size_t profile;
    struct report_job_row row; // what tells it from others
    uint64_t count, amount;    // amount: nanoseconds, or bytes that a collective sends and receives
};
// Returns whether two rows of a kind are the same one.
bool report_job_same_row(const struct report_job_row *one, const struct report_job_row *other);
enum base_code report_job_each_use(struct report_job *job, enum report_job_kind kind,
                                   bool (*each)(void *user, const struct report_job_use *use),
                                   void *user, struct base_error *error);

// Returns whether the suppression matches the finding.
bool report_job_is_suppressed_by(const struct report_suppression *rule,
                                 const struct report_job_finding_row *row);

// Returns the mean, rounded down.
uint64_t report_job_mean(const struct report_job_spread *spread);
// Returns the worth by which the finding is described; REPORT_JOB_WORTHS: it has none.
enum report_job_worth report_job_main_worth(const struct report_job_finding *finding);

// Adds "rank 3", or "process 4711 on node1" if the rank is unknown.
void report_job_put_name(const struct report_job *job, size_t profile, struct base_buf *out);
// Adds "ranks 3, 5-7 and 9", or "rank 3".
void report_job_put_ranks(const uint64_t *ranks, size_t count, struct base_buf *out);
// Adds a measure's value with its unit.
void report_job_put_measure(enum report_job_kind kind, unsigned measure, uint64_t value,
                            struct base_buf *out);
// Adds "stencil<float>", "cudaStreamSynchronize at halo.cu:31" or "ncclAllReduce of float32 among
// 8 ranks at train.cu:60".
void report_job_put_row(enum report_job_kind kind, const struct report_job_row *row,
                        struct base_buf *out);
// Adds how a worth spreads over the profiles: "9.0 MiB off the peak in the mean (8.0 MiB to 16.0
// MiB), 72.0 MiB in all; most: rank 5".
void report_job_put_worth(const struct report_job *job, const struct report_job_finding *finding,
                          enum report_job_worth worth, struct base_buf *out);
// Adds "on 3 of 8 ranks", or of profiles, if some ranks have several.
void report_job_put_profiles(const struct report_job *job, uint64_t profiles, struct base_buf *out);
// Adds how a row that differs does, with at most so many outliers: "waiting: rank 2 14.9 ms; median
// 1.5 ms".
void report_job_put_difference(const struct report_job *job, enum report_job_kind kind,
                               const struct report_job_row *row, size_t most, struct base_buf *out);
// Adds a place for people: the file without folders, and the line; else the function.
void report_job_put_place(const struct job_place *place, struct base_buf *out);

// The problems of the job as sentences: missing ranks, killed ones, files that were left out, and
// profiles that do not belong together. Returns how many there are.
size_t report_job_put_problems(const struct report_job *job, struct base_buf *out,
                               const char *separator);

#endif
