#!/bin/sh
# test_given_back.sh PROGRAM: a program that needs all memory of the GPU gets it, with all analyses. What launches touch
# afterwards is unknown, with a note, and no finding relies on it. A program that can have what it asks for, or that
# cannot have it at all, is watched to its end.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# look WHAT ANALYSES: prints how many launches were watched, how many objects they touched, whether the third object is
# found to be unused, and the note.
look() {
    "$GLINT" run --device sim -- "$program" "$1" >"$work/plain"
    "$GLINT" record --device sim -q -f -a "$2" -o "$work/profile" -- "$program" "$1" >"$work/out"
    cmp "$work/plain" "$work/out" || bad=1
    "$GLINT" report --format json "$work/profile" >"$work/json"
    told=$("$GLINT" query --csv "$work/profile" 'SELECT count(DISTINCT object) FROM v_accesses' | tail -n 1)
    unused=$(grep -c '"pattern":"unused-allocation","object":3' "$work/json" || :)
    notes=$("$GLINT" query --csv "$work/profile" "SELECT count(*) FROM v_notes WHERE text LIKE
        'what kernels touch is unknown from here on: the program needs all memory of the GPU%'" | tail -n 1)
    echo "$1 $2: $told objects, unused: $unused, noted: $notes"
}

{
    for what in some more all graph; do
        look $what objects
        look $what elements
        look $what all
    done
} >"$work/found"
diff -u - "$work/found" <<END || bad=1
some objects: 2 objects, unused: 1, noted: 0
some elements: 2 objects, unused: 1, noted: 0
some all: 2 objects, unused: 1, noted: 0
more objects: 2 objects, unused: 1, noted: 0
more elements: 2 objects, unused: 1, noted: 0
more all: 2 objects, unused: 1, noted: 0
all objects: 1 objects, unused: 0, noted: 1
all elements: 1 objects, unused: 0, noted: 1
all all: 1 objects, unused: 0, noted: 1
graph objects: 1 objects, unused: 0, noted: 1
graph elements: 1 objects, unused: 0, noted: 1
graph all: 1 objects, unused: 0, noted: 1
END
exit $bad
