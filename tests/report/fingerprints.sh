#!/bin/sh
# fingerprints.sh SAME MOVED LARGER RENAMED: a finding that persists keeps its fingerprint. The
# programs are builds of changes.c: unchanged, with shifted lines, with larger objects, and with one
# object renamed.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# record NAME PROGRAM: writes NAME.sarif, NAME.all (rule and fingerprint of each result) and
# NAME.lines.
record() {
    "$GLINT" record -q -f -o "$scratch/$1.glint" --no-cache --analyses objects --device sim -- "$2" || { echo "$2 failed"; exit 1; }
    "$GLINT" report -f --format sarif -o "$scratch/$1.sarif" "$scratch/$1.glint"
    jq -r '.runs[0].results[] | "\(.ruleId) \(.partialFingerprints[])"' "$scratch/$1.sarif" | sort >"$scratch/$1.all"
    jq -r '.runs[0].results[] | "\(.ruleId) \(.locations[0].physicalLocation.region.startLine)"' "$scratch/$1.sarif" |
        sort >"$scratch/$1.lines"
}
record once "$1"
record again "$1"
record moved "$2"
record larger "$3"
record renamed "$4"

for pattern in early-allocation memory-leak dead-write; do
    grep -q "^$pattern " "$scratch/once.all" || { echo "no $pattern is found: $(cat "$scratch/once.all")"; bad=1; }
done
for name in again moved larger; do
    cmp "$scratch/once.all" "$scratch/$name.all" || { echo "fingerprints are others: $name"; bad=1; }
done
! cmp -s "$scratch/once.lines" "$scratch/moved.lines" || { echo "lines were to be others"; bad=1; }
[ "$(jq .runs[0].properties.peak_bytes "$scratch/larger.sarif")" -gt "$(jq .runs[0].properties.peak_bytes "$scratch/once.sarif")" ] ||
    { echo "objects were to be larger"; bad=1; }

# Fingerprints of findings on first_gpu stay; those on the renamed object change.
of() { jq -r --arg name "$2" '.runs[0].results[] | select(.message.text | test("`" + $name + "`")) |
    "\(.ruleId) \(.partialFingerprints[])"' "$scratch/$1.sarif" | sort; }
of once first_gpu >"$scratch/first"
of renamed first_gpu | cmp - "$scratch/first" || { echo "what is about first_gpu changed"; bad=1; }
of once second_gpu >"$scratch/second"
of renamed other_gpu >"$scratch/other"
[ -s "$scratch/first" ] && [ -s "$scratch/second" ] && [ -s "$scratch/other" ] || { echo "names are others"; bad=1; }
[ "$(comm -12 "$scratch/second" "$scratch/other")" = "" ] || { echo "what is about other_gpu is taken for second_gpu's"; bad=1; }
exit $bad
