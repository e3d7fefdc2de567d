// SPDX-License-Identifier: Apache-2.0
// How a profile is written, in profile.h.
#ifndef GLINT_PROFILE_WRITING_H
#define GLINT_PROFILE_WRITING_H

#include "measured.h"

// A writer belongs to one thread. What it has been given survives a SIGKILL of this process after
// at most 50 ms, as long as the writer keeps being called: call profile_tick when there is nothing
// to write.
struct profile_writer;

// A file name that is reserved for a profile, for as long as this process lives.
struct profile_place;

// Reserves a file name, so that errors appear before there is anything to write. A new name becomes
// an empty profile; an existing file stays until profile_create_at. Follows links; never replaces
// anything but a regular file. An empty profile that a killed process reserved does not count as
// existing. Returns BASE_CONFLICT if the file exists and may not be replaced. Sets *taken if that
// is because another process has reserved or is writing it, in which case `overwrite` does not
// help. Returns BASE_IO if the system refused.
enum base_code profile_reserve(const char *path, bool overwrite, struct profile_place **place,
                               bool *taken, struct base_error *error);
// Gives up the name and removes what reserving it created. NULL is allowed.
void profile_release(struct profile_place *place);
// Removes what killed processes left beside the path when they had reserved it, and nothing that a
// living process uses. Reserving a name does this too.
void profile_sweep(const char *path);
// Creates the profile. Consumes the place, also on failure.
enum base_code profile_create_at(struct profile_place *place, struct profile_writer **writer,
                                 struct base_error *error);

// Reserves and creates in one step. Returns BASE_CONFLICT if the file exists and `overwrite` is
// false, BASE_IO if the system refused; then nothing was created. The caller ends the writer with
// profile_finish or profile_abandon.
enum base_code profile_create(const char *path, bool overwrite, struct profile_writer **writer,
                              struct base_error *error);

// All of these may fail with BASE_IO or BASE_NO_MEMORY, at once or in a later call. The writer then
// accepts nothing more and keeps returning the same error; what was committed before stays
// readable, for instance when the disk is full. Definitions (program to graph), ends, names, times
// and what probes measured may be written again: the last row of a number wins. Of calls and
// objects the first row wins.
enum base_code profile_set_program(struct profile_writer *writer,
                                   const struct profile_program *program, struct base_error *error);
enum base_code profile_add_image(struct profile_writer *writer, const struct profile_image *image,
                                 struct base_error *error);
enum base_code profile_add_function(struct profile_writer *writer,
                                    const struct profile_function *function,
                                    struct base_error *error);
enum base_code profile_add_thread(struct profile_writer *writer,
                                  const struct profile_thread *thread, struct base_error *error);
enum base_code profile_add_device(struct profile_writer *writer,
                                  const struct profile_device *device, struct base_error *error);
enum base_code profile_add_context(struct profile_writer *writer,
                                   const struct profile_context *context, struct base_error *error);
enum base_code profile_add_stream(struct profile_writer *writer,
                                  const struct profile_stream *stream, struct base_error *error);
enum base_code profile_add_module(struct profile_writer *writer,
                                  const struct profile_module *module, struct base_error *error);
enum base_code profile_add_kernel(struct profile_writer *writer,
                                  const struct profile_kernel *kernel, struct base_error *error);
enum base_code profile_add_path(struct profile_writer *writer, const struct profile_path *path,
                                struct base_error *error);
enum base_code profile_add_stack(struct profile_writer *writer, const struct profile_stack *stack,
                                 struct base_error *error);
enum base_code profile_add_source(struct profile_writer *writer,
                                  const struct profile_source *source, struct base_error *error);
enum base_code profile_add_graph(struct profile_writer *writer, const struct profile_graph *graph,
                                 struct base_error *error);
enum base_code profile_add_edge(struct profile_writer *writer, const struct profile_edge *edge,
                                struct base_error *error);
enum base_code profile_add_call(struct profile_writer *writer, const struct profile_call *call,
                                struct base_error *error);
enum base_code profile_add_time(struct profile_writer *writer, const struct profile_time *time,
                                struct base_error *error);
// Sets how long a call waited, if that was unknown when the call was added.
enum base_code profile_set_waited(struct profile_writer *writer, uint64_t call, uint64_t waited_ns,
                                  struct base_error *error);
enum base_code profile_add_object(struct profile_writer *writer,
                                  const struct profile_object *object, struct base_error *error);
enum base_code profile_end_object(struct profile_writer *writer, uint64_t number, uint64_t call,
                                  uint32_t stream, struct base_error *error);
enum base_code profile_name_object(struct profile_writer *writer, uint64_t number, const char *name,
                                   enum profile_name_source source, struct base_error *error);
// Of a range only what is known when it begins is written; the end follows apart.
enum base_code profile_add_nvtx_range(struct profile_writer *writer,
                                      const struct profile_nvtx_range *range,
                                      struct base_error *error);
enum base_code profile_end_nvtx_range(struct profile_writer *writer, uint64_t number,
                                      int64_t end_ns, uint32_t thread, struct base_error *error);
enum base_code profile_add_note(struct profile_writer *writer, const struct profile_note *note,
                                struct base_error *error);
enum base_code profile_set_dropped(struct profile_writer *writer,
                                   const struct profile_dropped *dropped, struct base_error *error);
enum base_code profile_set_setting(struct profile_writer *writer,
                                   const struct profile_setting *setting, struct base_error *error);
enum base_code profile_add_probe(struct profile_writer *writer, const struct profile_probe *probe,
                                 struct base_error *error);
enum base_code profile_add_kernel_site(struct profile_writer *writer,
                                       const struct profile_kernel_site *site,
                                       struct base_error *error);
enum base_code profile_add_access(struct profile_writer *writer,
                                  const struct profile_access *access, struct base_error *error);
enum base_code profile_add_counts(struct profile_writer *writer,
                                  const struct profile_counts *counts, struct base_error *error);
// Adds a piece to its map; where pieces overlap, the last one wins. If the size or the number of
// elements changes, the map starts over. Returns BASE_INVALID if the piece does not fit the map
// that it describes.
enum base_code profile_add_map(struct profile_writer *writer, const struct profile_map *piece,
                               struct base_error *error);
// Contents are kept in the order in which they are added. Of the stores of the same call, node,
// site and object the last row wins.
enum base_code profile_add_contents(struct profile_writer *writer,
                                    const struct profile_contents *contents,
                                    struct base_error *error);
enum base_code profile_add_stored(struct profile_writer *writer,
                                  const struct profile_stored *stored, struct base_error *error);
// Of the same call, node, object and offset the last row wins.
enum base_code profile_add_weighed(struct profile_writer *writer,
                                   const struct profile_weighed *weighed, struct base_error *error);
// Of the same call, node, object, way, stride, offset and type the last row wins.
enum base_code profile_add_requests(struct profile_writer *writer,
                                    const struct profile_requests *requests,
                                    struct base_error *error);
enum base_code profile_add_shared_array(struct profile_writer *writer,
                                        const struct profile_shared_array *array,
                                        struct base_error *error);
enum base_code profile_add_site_array(struct profile_writer *writer,
                                      const struct profile_site_array *array,
                                      struct base_error *error);
// Of the same call, node, array and first word the last row wins.
enum base_code profile_add_shared_words(struct profile_writer *writer,
                                        const struct profile_shared_words *words,
                                        struct base_error *error);
// Of the same call, node, array and site the last row wins.
enum base_code profile_add_shared_ranges(struct profile_writer *writer,
                                         const struct profile_shared_ranges *row,
                                         struct base_error *error);
enum base_code profile_add_shared_lives(struct profile_writer *writer,
                                        const struct profile_shared_lives *row,
                                        struct base_error *error);
// Of the same call, node and object the last row wins.
enum base_code profile_add_block_reuse(struct profile_writer *writer,
                                       const struct profile_block_reuse *reuse,
                                       struct base_error *error);
// Of the same call and node the last row wins.
enum base_code profile_add_cache_launch(struct profile_writer *writer,
                                        const struct profile_cache_launch *launch,
                                        struct base_error *error);
// Of the same call, node, object and site the last row wins.
enum base_code profile_add_cache(struct profile_writer *writer, const struct profile_cache *cache,
                                 struct base_error *error);
// Of the same call, node, object and level the last row wins.
enum base_code profile_add_cache_reuse(struct profile_writer *writer,
                                       const struct profile_cache_reuse *reuse,
                                       struct base_error *error);
enum base_code profile_add_accessed(struct profile_writer *writer,
                                    const struct profile_accessed *accessed,
                                    struct base_error *error);
enum base_code profile_add_doubt(struct profile_writer *writer, const struct profile_doubt *doubt,
                                 struct base_error *error);
// Of the same sync, copy, node and object the last row wins.
enum base_code profile_add_use(struct profile_writer *writer, const struct profile_use *use,
                               struct base_error *error);
// Of the same copy or block the first row wins.
enum base_code profile_add_hash(struct profile_writer *writer, const struct profile_hash *hash,
                                struct base_error *error);
enum base_code profile_add_copy_source(struct profile_writer *writer,
                                       const struct profile_copy_source *source,
                                       struct base_error *error);
enum base_code profile_add_block(struct profile_writer *writer, const struct profile_block *block,
                                 struct base_error *error);
enum base_code profile_add_block_end(struct profile_writer *writer,
                                     const struct profile_block_end *end, struct base_error *error);
// Of the same call the last row wins.
enum base_code profile_add_collective(struct profile_writer *writer,
                                      const struct profile_collective *collective,
                                      struct base_error *error);
enum base_code profile_add_correction(struct profile_writer *writer,
                                      const struct profile_correction *correction,
                                      struct base_error *error);

// Commits what is 50 ms old. Call it while there is nothing else to write.
enum base_code profile_tick(struct profile_writer *writer, struct base_error *error);
// Commits everything that the writer was given.
enum base_code profile_commit(struct profile_writer *writer, struct base_error *error);

// Writes how the program ended, marks the profile complete and makes it one self-contained file.
// Frees the writer, also on failure. If a reader holds the file open or the disk is full, the
// profile is complete but its "-wal" file stays beside it, which SQLite reads with it.
enum base_code profile_finish(struct profile_writer *writer, enum profile_ending ending,
                              int32_t code, struct base_error *error);

// Frees the writer and leaves the profile as if the recorder had been killed. NULL is allowed.
void profile_abandon(struct profile_writer *writer);

#endif
