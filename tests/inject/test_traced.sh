#!/bin/sh
# test_traced.sh PROGRAM: a program that lets its parent trace it gets its signals and runs to its
# end, and is recorded until then.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
timeout 60 "$GLINT" record -q --device sim -f -o "$work/profile" -- "$program" >"$work/out" 2>"$work/told" || status=$?
[ "$status" = 5 ] || { cat "$work/out" "$work/told"; echo "status $status, not 5"; exit 1; }
printf 'traced 0\nsignal 10\n' | diff - "$work/out"
copies=$("$GLINT" query --csv "$work/profile" "SELECT count(*) FROM v_calls WHERE kind = 'copy'" | tail -n 1)
[ "$copies" = 1 ] || { echo "$copies copies are recorded, not 1"; exit 1; }
