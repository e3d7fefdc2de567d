#!/bin/sh
# test_held.sh PROGRAM CASE...: a thread is held between a fault and the fault's handler. The
# program prints and ends as it does natively, both recorded with sync and run by glint fix. With
# sync, the thread must have been held.
set -eu
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

run() { # OUTPUT COMMAND...
    output=$1
    shift
    status=0
    timeout 120 "$@" >"$output" 2>"$output.err" || status=$?
    echo "exit $status" >>"$output"
}
same() { # CASE HOW
    diff "$work/native" "$work/found" || { echo "$1: not as natively, $2"; cat "$work/found.err"; bad=1; }
}

for case; do
    run "$work/native" "$GLINT" run --device sim -- "$program" "$case"
    ! grep -q SKIP "$work/native.err" || { cat "$work/native.err"; exit 77; }
    run "$work/found" "$GLINT" record -q --device sim -a objects,sync --sync-tracking full -f -o "$work/profile" -- \
        "$program" "$case"
    same "$case" "with sync"
    grep -q '^held [1-9]' "$work/found.err" || { echo "$case: no thread was held"; cat "$work/found.err"; bad=1; }
    run "$work/found" "$GLINT" fix -q --device sim -- "$program" "$case"
    same "$case" "by glint fix"
done
exit $bad
