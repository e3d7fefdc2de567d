// SPDX-License-Identifier: Apache-2.0
// Sources: the text of source files, as the recorder found them. Reports show only these, because a
// profile may come from somebody else: it must not make them show other files. Profiles older than
// version 1.15 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_sources_schema[] =
    "CREATE TABLE sources(number INTEGER PRIMARY KEY, name, path, text, changed);"

    "CREATE VIEW v_sources AS SELECT n.text AS file, p.text AS path, s.changed, t.text AS text"
    " FROM sources s LEFT JOIN strings n ON n.id = s.name LEFT JOIN strings p ON p.id = s.path"
    " LEFT JOIN strings t ON t.id = s.text;";
// clang-format on

enum base_code profile_add_source(struct profile_writer *writer,
                                  const struct profile_source *source, struct base_error *error)
{
    int64_t values[] = {source->number, 0, 0, 0, source->changed};
    return PROFILE_PUT(writer, SOURCES, values, error, {1, source->name}, {2, source->path},
                       {3, source->text});
}

PROFILE_DEFINE_EACH(source, source, SOURCES,
                    "SELECT number, name, path, text, changed FROM sources ORDER BY number",
                    .number = KEY32(0), .name = TEXT(1), .path = TEXT(2), .text = TEXT(3),
                    .changed = BOOL(4))
