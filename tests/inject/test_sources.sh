#!/bin/sh
# test_sources.sh PROGRAM CASE...: whether the sources of copies are the same when their object is
# first used, case by case. The program prints what glint must record. It prints and ends the same
# whether it is watched or not. GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1
shift
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for case in "$@"; do
    "$GLINT" run --device "$device" -- "$program" "$case" >"$work/wanted"
    for analyses in objects objects,sync none; do
        status=0
        "$GLINT" record -q -f --device "$device" --analyses $analyses -o "$work/profile" -- "$program" "$case" \
            >"$work/printed" || status=$?
        [ $status = 0 ] || { echo "$case: exit status $status with $analyses"; bad=1; }
        cmp -s "$work/wanted" "$work/printed" || { echo "$case: another output with $analyses"; bad=1; }
        "$GLINT" query --csv "$work/profile" "SELECT ifnull(source_same, '-') FROM v_copies
            WHERE direction = 'host-to-device' ORDER BY call" | tail -n +2 >"$work/found"
        [ $analyses != none ] || sed 's/.*/-/' "$work/printed" >"$work/wanted" # nothing is watched then
        diff -u "$work/wanted" "$work/found" || { echo "$case: with $analyses"; bad=1; }
    done
done
exit $bad
