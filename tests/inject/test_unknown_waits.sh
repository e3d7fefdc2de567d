#!/bin/sh
# test_unknown_waits.sh PROGRAM CASE:REASON...: the report gives the reason why it is unknown whether
# a wait of the program was needed, in JSON, in text and in a note. REASON none: it is known.
set -eu
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
for asked; do
    case=${asked%%:*} wanted=${asked#*:}
    "$GLINT" record -q --device sim -a objects,sync --sync-tracking full -f -o "$work/profile" -- "$program" "$case" \
        >"$work/out" 2>&1 || true # the status says nothing
    "$GLINT" report --format json "$work/profile" >"$work/json"
    found=$(jq -r '[.summary.unknown_waits[].reason] | join(" ") | if . == "" then "none" else . end' "$work/json")
    [ "$found" = "$wanted" ] || { echo "$case: the reason is '$found', not '$wanted'"; bad=1; }
    if [ "$wanted" = none ]; then expected=0; else expected=1; fi
    notes=$(jq '[.notes[] | select(.text | contains("it is unknown whether"))] | length' "$work/json")
    [ "$notes" = $expected ] || { echo "$case: $notes notes, not $expected"; bad=1; }
    lines=$(COLUMNS=400 "$GLINT" report --verbose "$work/profile" | grep -c '^  sync .*it is unknown whether' || true)
    [ "$lines" = $expected ] || { echo "$case: $lines lines of text, not $expected"; bad=1; }
done
exit $bad
