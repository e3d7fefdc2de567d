#!/bin/sh
# test_hidden.sh PROGRAM CASE: objects that are backed only while in use, with kernels that get
# their addresses in a form that glint cannot recognize. With the profile of the case itself and
# with that of the plain case, the program behaves as it does natively. A plain kernel saves memory.
# GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1 case=$2
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$GLINT" run --device "$device" -- "$program" "$case" >"$work/native"
for recorded in "$case" plain; do
    "$GLINT" record -q -f --device "$device" -o "$work/profile" -- "$program" "$recorded" >/dev/null
    "$GLINT" fix -q -f --device "$device" --only early-allocation,late-deallocation -p "$work/profile" -o "$work/corrected" -- \
        "$program" "$case" >"$work/found" || { echo "recorded as $recorded: ended with $?"; cat "$work/found"; exit 1; }
    diff -u "$work/native" "$work/found" || { echo "recorded as $recorded"; exit 1; }
done
[ "$case" != plain ] ||
    "$GLINT" query -F tabs "$work/corrected" "SELECT peak_bytes < native_peak_bytes FROM v_corrections WHERE row IS NULL" | grep -qx 1 ||
    { echo "nothing was saved"; exit 1; }
