#!/bin/sh
# test_mapped.sh PROGRAM: a copy or set touches all objects that it reaches, not only the one in
# which it begins. Nothing is found in objects that may be used in ways that no call shows.
# Objects of one line are one finding, which has the first. GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# found PATTERN: prints the objects of findings.
found() {
    grep -o "\"pattern\":\"$1\",\"object\":[0-9]*" "$work/json" | sed 's/.*://' | sort -u | tr '\n' ' '
}

# found_in NAME ANALYSES: records the program, for found().
found_in() {
    "$GLINT" record --device "$device" --analyses "$2" -q -f -o "$work/profile" -- "$program" "$1"
    "$GLINT" report --format json "$work/profile" >"$work/json"
}

for name in nothing set copy move rows graph unmapped twice exported bound bound_address; do
    found_in $name objects
    echo "$name: unused $(found unused-allocation)dead $(found dead-write)"
done >"$work/found"
for name in again between; do
    found_in $name values
    echo "$name: redundant $(found redundant-values)"
done >>"$work/found"
diff -u - "$work/found" <<END
nothing: unused 1 dead 4 
set: unused 1 dead 4 
copy: unused 3 dead 4 
move: unused 3 dead 2 4 
rows: unused 3 dead 4 
graph: unused 1 2 dead 4 
unmapped: unused 1 2 5 dead 4 
twice: unused 1 dead 
exported: unused 1 dead 
bound: unused 1 dead 
bound_address: unused 1 dead 
again: redundant 2 
between: redundant 
END
