#!/bin/sh
# test_dying.sh PROGRAM: a program that ends right after launches, in whichever way, does not lose
# what they touched: it is recorded, or the launches are unknown and the report says so. It calls
# `idle` unused only if all launches are known, and `out` never. The exit status is the program's.
# GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

ask() {
    "$GLINT" query --csv "$work/profile" "$1" | tail -n +2
}

# look STATUS ANALYSES END LAUNCHES
look() {
    status=0
    rm -f "$work"/profile*
    "$GLINT" record --device "$device" --analyses "$2" -q -o "$work/profile" -- "$program" "$3" "$4" \
        >"$work/out" 2>&1 || status=$?
    untold=$(ask "SELECT count(*) FROM v_unknown_launches WHERE why = 'untold'")
    touched=$(ask "SELECT count(*) FROM v_accesses WHERE object = 2")
    "$GLINT" report --format json "$work/profile" >"$work/json"
    unused=$(grep -o '"pattern":"unused-allocation","object":[0-9]*' "$work/json" | sed 's/.*://' | tr '\n' ' ')
    says=$("$GLINT" report --verbose "$work/profile" | tr '\n' ' ' | tr -s ' ' |
        grep -c 'did to memory is unknown, so nothing is reported' || :)
    if [ "$untold" -eq 0 ]; then
        [ "$touched" -gt 0 ] && [ "$unused" = '3 ' ] && [ "$says" -eq 0 ] && right=1 || right=0
    else
        [ -z "$unused" ] && [ "$says" -eq 1 ] && right=1 || right=0
        lost=$((lost + 1))
    fi
    if [ $right -eq 0 ] || [ $status -ne "$1" ]; then
        echo "$*: status $status, $untold launches untold, $touched accesses of out, unused: ${unused:-none}, noted: $says"
        bad=1
    fi
}

lost=0
for launches in one streams graph; do
    look 3 objects exit $launches
    look 3 objects exit-handler $launches
done
[ $lost -eq 0 ] || { echo "exit() loses launches" && bad=1; }
for launches in one streams graph; do
    look 3 objects _exit $launches
    look 3 objects quick_exit $launches
    look 134 objects abort $launches
    look 137 objects kill $launches
    look 143 objects term $launches
    look 139 objects fault $launches
    look 3 objects handler $launches
    look 0 objects exec $launches
    look 0 objects exec-itself $launches
    look 3 objects thread $launches
    look 137 elements kill $launches
done
[ $lost -gt 0 ] || { echo "nothing was lost, so nothing was tested" && bad=1; }
exit $bad
