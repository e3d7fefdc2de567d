#!/bin/sh
# test_pooled.sh PROGRAM CASE: allocations and frees that a pool serves. The program's output is the
# same as without the pool, and freed memory is reused, in some cases a minimum number of times.
# GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1 case=$2
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# does OUTPUT GLINT_COMMAND...: runs the program; shows its messages if it fails.
does() {
    printed=$1
    shift
    "$GLINT" "$@" -- "$program" "$case" > "$work/$printed" 2> "$work/told" || {
        echo "$printed: exit status $?"
        cat "$work/told"
        exit 1
    }
}

does native run --device "$device"
does recorded record --device "$device" -o "$work/profile"
"$GLINT_SOURCE_DIR/tests/inject/plan_of.sh" "$work/profile" pool "c.name IN ('cuMemAlloc_v2', 'cuMemFree_v2') AND
    EXISTS (SELECT 1 FROM v_call_paths p WHERE p.id = c.call_path AND p.depth = 0 AND p.function IN ('take', 'give'))" > "$work/plan"
grep -c '^pool' "$work/plan" > /dev/null || { echo "no path of the plan"; exit 1; }
export GLINT_PLAN="$work/plan"
does found record --device "$device" -o "$work/corrected"
unset GLINT_PLAN
diff -u "$work/native" "$work/recorded"
diff -u "$work/native" "$work/found" || { cat "$work/told"; exit 1; }
ask() { "$GLINT" query -F tabs "$work/corrected" "$1" | tail -n +2; }
[ "$(ask "SELECT sum(applied) > 0 FROM v_corrections WHERE remedy = 'pool'")" = 1 ] || { echo "nothing was done"; exit 1; }
waited="SELECT count(*) FROM v_calls c JOIN v_call_paths p ON p.id = c.call_path AND p.depth = 0
    WHERE p.function = 'give' AND c.waited"
[ "$case" != order ] || [ "$(ask "$waited")" = 0 ] || { echo "frees waited"; exit 1; }
case $case in
order) least=8 ;; destroyed) least=2 ;; several) least=3 ;; asks | contexts | contexts_meanwhile | captures) least=1 ;; *) least=0 ;;
esac
if grep "of another context" "$work/told"; then exit 1; fi
reused=$(grep -c '^reused' "$work/told" || true)
[ "$reused" -ge "$least" ] || { cat "$work/told"; echo "only $reused were had again"; exit 1; }
echo "$case: $reused were had again while their work was pending"
