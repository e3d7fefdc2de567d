// SPDX-License-Identifier: Apache-2.0
// Places in the source, for hosts that show findings beside the code: which frame of a call path to
// show, its file relative to the root of the sources, and files as URIs. Paths are compared as
// text; no file is opened. Inner header of src/report.
#ifndef GLINT_REPORT_SOURCE_H
#define GLINT_REPORT_SOURCE_H

#include "data.h"

// Returns the frame of a call path to show: the innermost with a source file under the root, an
// absolute path; else the innermost with a source file; NULL if none has one.
const struct profile_frame *report_source_frame(const struct report_data *data, uint32_t path,
                                                const char *root);

// Stores the place of a finding to show, as a frame: its line in a kernel, if it is at one, else
// that of its call. A place under the root is preferred. Returns false if there is none.
bool report_finding_frame(const struct report_data *data, const struct analyze_finding *finding,
                          const char *root, struct profile_frame *frame);

// Adds the file as a path without "." and "..". If it is under the root, adds it relative to the
// root and returns true; otherwise adds it absolute. A relative path is taken to be relative to the
// root.
bool report_put_file(struct base_buf *out, const char *file, const char *root);

// Adds the path, absolute or relative, as a URI. Folders end in a slash.
void report_put_uri(struct base_buf *out, const char *path);

#endif
