#!/bin/sh
# test_backed.sh PROGRAM CASE: objects that are backed only while they are in use. The program's
# output and exit status are the same as without glint. GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1 case=$2
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
path_through() {
    echo "c.name = '$1' AND EXISTS (SELECT 1 FROM v_call_paths p WHERE p.id = c.call_path AND p.depth = 0 AND p.function = '$2')"
}

"$GLINT" run --device "$device" -- "$program" "$case" > "$work/native"
"$GLINT" record --device "$device" -o "$work/profile" -- "$program" "$case" > "$work/recorded"
diff -u "$work/native" "$work/recorded"
if [ "$case" = after ] || [ "$case" = random ] || [ "$case" = peak ]; then
    set -- last-use "$(path_through cuLaunchKernel last)" 'back =1 =2' "$(path_through cuMemAlloc_v2 early)"
else
    set -- 'back =0 =0' "$(path_through cuMemAlloc_v2 early)"
fi
"$GLINT_SOURCE_DIR/tests/inject/plan_of.sh" "$work/profile" "$@" > "$work/plan"
grep -q '^back' "$work/plan" || { echo "no path of the plan"; exit 1; }
GLINT_PLAN=$work/plan "$GLINT" record --device "$device" -o "$work/corrected" -- "$program" "$case" > "$work/found" ||
    { echo "ended with $?"; cat "$work/found"; exit 1; }
diff -u "$work/native" "$work/found"

ask() { "$GLINT" query -F tabs "$work/corrected" "$1" | tail -n +2; }
[ "$(ask "SELECT sum(applied) > 0 FROM v_corrections WHERE remedy = 'back'")" = 1 ] || { echo "nothing was done"; exit 1; }
case $case in
after) [ "$(ask "SELECT sum(bytes) FROM v_corrections WHERE remedy = 'back'")" -ge 8388608 ] || { echo "nothing went"; exit 1; } ;;
peak) [ "$(ask "SELECT peak_bytes || ' ' || native_peak_bytes FROM v_corrections WHERE row IS NULL")" = "9437184 18874368" ] ||
    { ask "SELECT * FROM v_corrections"; exit 1; } ;;
esac
