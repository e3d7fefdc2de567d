#!/bin/sh
# Four threads allocate, set memory on their own default streams and free at once. Every record
# arrives, every object ends once, and each thread has its own stream.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim
export LD_LIBRARY_PATH
records=$work/records
"$GLINT_BUILD_DIR/tests/inject/inject_watch" "$records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" \
    "$GLINT_BUILD_DIR/tests/inject/inject_program" threads

count() { # count WHAT PATTERN EXPECTED
    found=$(grep -c "$2" "$records" || true)
    [ "$found" = "$3" ] || { echo "$1: $found, not $3"; exit 1; }
}
count objects '^object ' 4000
count ends '^end ' 4000
count fills '^call .* cuMemsetD8Async_ptsz set ' 4000
count 'fills of known objects' '^call .* cuMemsetD8Async_ptsz set .* object [1-9]' 4000
count frees '^call .* cuMemFree_v2 free ' 4000
count streams '^stream .* per-thread' 4
count 'ends of the process' '^finish$' 1
count 'lost records' DROPPED 0
[ "$(sed -n 's/^end \([0-9]*\) .*/\1/p' "$records" | sort -u | wc -l)" = 4000 ]
