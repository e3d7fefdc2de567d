#!/bin/sh
# glint cannot allocate memory in the program, from the start or later. The program's output and
# exit status are the same as without glint, and the records say once that something is missing.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim
GLINT_TIMESTAMPS=1
WATCH_SCARCE=1 # a process may have no memory for a ring
export LD_LIBRARY_PATH GLINT_TIMESTAMPS WATCH_SCARCE
programs=$GLINT_BUILD_DIR/tests/inject
library=$GLINT_BUILD_DIR/lib/glint/libglint.so
scarce=$1
note='note glint ran out of memory in the program'

# run WANTED [LIMIT]: runs "hoard" under a ulimit; it must print WANTED. Its records are in
# $work/records.
run() {
    status=0
    # shellcheck disable=SC2016
    "$programs/inject_watch" "$work/records" "$library:$scarce" \
        sh -c 'ulimit $1; exec "$2" hoard' sh "${2:--S -c 0}" "$programs/inject_program" \
        >"$work/out" 2>"$work/err" || status=$?
    [ ! -s "$work/err" ] || { cat "$work/err"; exit 1; }
    if [ "$status" != 0 ] || [ "$(cat "$work/out")" != "$1" ]; then
        echo "${SCARCE_MAPPINGS-all} mappings, ${2-no limit}: exit status $status, output:"
        cat "$work/out"
        exit 1
    fi
}

hoard=$("$programs/inject_program" hoard)
run "$hoard"
! grep "$note" "$work/records" || exit 1
grep -q '^object 30000 ' "$work/records"

# One more allocation succeeds each time, until there is enough memory.
said=0
SCARCE_MAPPINGS=0
export SCARCE_MAPPINGS
while run "$hoard" && { ! grep -q '^process' "$work/records" || grep -q "$note" "$work/records"; }; do
    if [ -s "$work/records" ]; then # else there was none even for the ring
        [ "$(grep -c "$note" "$work/records")" = 1 ]
        grep -q '^call 30000 cuMemAlloc_v2' "$work/records"
        grep -q '^finish' "$work/records"
        said=$((said + 1))
    fi
    SCARCE_MAPPINGS=$((SCARCE_MAPPINGS + 1))
    [ "$SCARCE_MAPPINGS" -lt 100 ]
done
[ $said -ge 3 ] || { echo "said with $said numbers of mappings"; exit 1; }
unset SCARCE_MAPPINGS

# Limits of the system: an address space hardly larger than the program, and a file size beyond
# which the system sends a signal.
for limit in '-v 400000' '-f 1000' '-f 10'; do
    run "$hoard" "$limit"
done

# The profile says so, too.
LD_PRELOAD=$scarce SCARCE_MAPPINGS=4 "$GLINT_BUILD_DIR/bin/glint" record -q -o "$work/p.glint" --device sim -- \
    "$programs/inject_program" hoard >"$work/out"
[ "$(cat "$work/out")" = "$hoard" ]
"$GLINT_BUILD_DIR/bin/glint" query "$work/p.glint" "SELECT severity, text FROM v_notes" |
    grep -q '^error.*glint ran out of memory in the program'

# With probes, glint needs more memory; without it, glint records less.
probed=$("$programs/inject_probed" samples)
GLINT_PROBES=7 GLINT_CACHE=''
export GLINT_PROBES GLINT_CACHE
SCARCE_MAPPINGS=0
export SCARCE_MAPPINGS
while [ "$SCARCE_MAPPINGS" -lt 60 ]; do
    "$programs/inject_watch" "$work/records" "$library:$scarce" "$programs/inject_probed" samples >"$work/out"
    [ "$(cat "$work/out")" = "$probed" ]
    SCARCE_MAPPINGS=$((SCARCE_MAPPINGS + 1))
done
grep -q '^access' "$work/records"
