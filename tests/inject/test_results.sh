#!/bin/sh
# test_results.sh PROGRAM CASE:USES...: the program's results are seen to be used as often as USES
# says ("3 system", "3 read"), though no function of the C library announces it. Skipped where
# userfaultfd does not let the system wait.
set -eu
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for asked; do
    case=${asked%%:*} wanted=${asked#*:}
    "$GLINT" record -q --device sim -a objects,sync --sync-tracking full -f -o "$work/profile" -- "$program" "$case" \
        >"$work/out" 2>"$work/told" || { cat "$work/out" "$work/told"; echo "$case: failed"; bad=1; }
    ! grep -q SKIP "$work/told" || { cat "$work/told"; exit 77; }
    found=$("$GLINT" query --csv "$work/profile" "SELECT count(*) || ' ' || how AS found FROM v_first_uses GROUP BY how" |
        tail -n +2 | tr -d '"')
    [ "$found" = "$wanted" ] || { echo "$case: uses are '$found', not '$wanted'"; bad=1; }
done
exit $bad
