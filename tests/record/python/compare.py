# SPDX-License-Identifier: Apache-2.0
"""compare.py GLINT PROFILE SAID: compares the Python frames in a profile with what program.py said of itself.

Prints the differences, or how many allocations and frames are equal.
"""
import json
import subprocess
import sys

MOST = 128  # frames of a path


def query(glint, profile, sql):
    rows = subprocess.run([glint, "query", "--format", "json", profile, sql], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(rows)


def main(glint, profile, said):
    paths = {}
    for row in query(glint, profile,
                     "SELECT o.bytes, c.function, c.file, c.line FROM v_objects o JOIN v_calls k"
                     " ON k.number = o.allocated_by LEFT JOIN v_call_paths c ON c.id = k.call_path AND c.python"
                     " ORDER BY o.number, c.depth"):
        paths.setdefault(row["bytes"], []).append([row["file"], row["line"], row["function"]])
    frames = allocations = different = 0
    with open(said, encoding="utf-8") as lines:
        for line in lines:
            size, expected = json.loads(line)
            # A byte of a file name that is not UTF-8 cannot be in the JSON of the query.
            expected = [[f.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), n, q]
                        for f, n, q in expected[:MOST]]
            found = paths.get(size)
            allocations += 1
            frames += len(expected)
            if found != expected:
                different += 1
                print(f"{size}:\n  said  {expected}\n  found {found}")
    print(f"{allocations} allocations, {frames} frames, {different} different")
    return different > 0 or allocations == 0


sys.exit(main(*sys.argv[1:]))
