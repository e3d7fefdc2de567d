#!/bin/sh
# test_probed_threads.sh PROGRAM: threads launch, load modules and instantiate graphs at the same
# time. Every launch and every replay of a graph is recorded exactly once, with the right objects.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim GLINT_CACHE=
export LD_LIBRARY_PATH GLINT_CACHE
programs=$GLINT_BUILD_DIR/tests/inject

for probes in 0 1 3 7; do
    GLINT_PROBES=$probes "$programs/inject_watch" "$work/records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$1" threads \
        >"$work/out"
    [ "$(grep -c 'right$' "$work/out")" = 6 ]
    [ "$probes" != 0 ] || continue
    # With "|| exit 1": set -e ignores the status of "!".
    ! grep '^note\|ERROR\|MISSING\|DROPPED' "$work/records" || exit 1
    # Each of 6 threads makes 60 launches and 6 replays, which read and write one object and read
    # another.
    [ "$(grep -c '^access .* read written' "$work/records")" = 396 ]
    [ "$(grep -c '^access' "$work/records")" = 792 ]
    [ "$(grep '^access' "$work/records" | sed 's/ object.*//' | sort | uniq | wc -l)" = 396 ]
    [ "$(grep -o '^access .* object [0-9]* read' "$work/records" | sed 's/.* object //' | sort | uniq -c |
        awk '$1 == 66' | wc -l)" = 12 ]
    [ "$(grep -c '^call .* watched' "$work/records")" = 360 ]
done
echo "792 accesses by 6 threads, at each level"
