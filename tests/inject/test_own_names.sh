#!/bin/sh
# test_own_names.sh PROGRAM: functions of the program that have the C library's names are called by
# nobody but the program, by default, with all analyses and by glint fix, and the program is
# recorded all the same.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$GLINT" run --device sim -- "$program" >"$work/native" 2>&1 || { cat "$work/native"; exit 1; }
grep -qx '0 calls of own functions' "$work/native" || { echo "natively:"; cat "$work/native"; exit 1; }
for options in "" "-a sync" "-a all" "-a elements --maps"; do
    # shellcheck disable=SC2086 # several options
    "$GLINT" record -q --device sim -f -o "$work/profile" $options -- "$program" >"$work/recorded" 2>&1
    diff "$work/native" "$work/recorded" || { echo "not as natively with '$options'"; exit 1; }
    launches=$("$GLINT" query --csv "$work/profile" "SELECT count(*) FROM v_launches" | tail -n 1)
    [ "$launches" = 3 ] || { echo "'$options': $launches launches are recorded"; exit 1; }
done
"$GLINT" fix -q --device sim -- "$program" >"$work/fixed" 2>&1
diff "$work/native" "$work/fixed" || { echo "not as natively by glint fix"; exit 1; }
