// SPDX-License-Identifier: Apache-2.0
// Where things stand in the source, for hosts that show findings beside the code: which frame of a
// call path to show, its file as seen from the root of the sources, and files as URIs. Paths are
// compared as they are written: no file is looked at. Inner header of src/report.
#ifndef GLINT_REPORT_SOURCE_H
#define GLINT_REPORT_SOURCE_H

#include "data.h"

// The frame to show of a call path: the innermost with a source file under the root, an absolute
// path; else the innermost with a source file. NULL: none has one.
const struct profile_frame *report_source_frame(const struct report_data *data, uint32_t path,
                                                const char *root);

// The file as a path without "." and ".." in it: relative to the root where it lies under it, and
// then true; else absolute. What is relative already is meant from the root.
bool report_put_file(struct base_buf *out, const char *file, const char *root);

// The path, absolute or relative, as a URI. Folders end in a slash.
void report_put_uri(struct base_buf *out, const char *path);

#endif
