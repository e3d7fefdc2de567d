#!/bin/sh
# fixtures.sh PROGRAM EXPECTED: records each program of fixture.c, or of fixture_parts.c, on the
# simulated GPU and compares its findings with the file EXPECTED in this folder. Each finding has a
# line with its pattern, object, distance, bytes off the peak, bytes of traffic, number of times,
# and the size of its group. Its sentence and its suggestion follow, without line numbers.
# Unexpected findings are failures, too. GLINT_TEST_UPDATE=1 rewrites EXPECTED.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
expected=$(dirname "$0")/$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" --list >"$scratch/names"
while read -r name; do
    echo "$name"
    "$GLINT" record -f -o "$scratch/$name.glint" --no-cache --analyses objects,elements,counts --maps --device sim -- "$1" "$name" \
        2>"$scratch/errors" || { echo "  it failed:"; cat "$scratch/errors"; exit 1; }
    "$GLINT" report --format json "$scratch/$name.glint" >"$scratch/$name.json"
    jq -r '(.objects | map({key: (.id | tostring), value: .name}) | from_entries) as $names | .findings[] |
        "  \(.pattern) \(if $names[.object | tostring] then $names[.object | tostring] else "-" end) distance \(.distance // "-") peak \(.worth.peak_bytes) traffic \(.worth.traffic_bytes) times \(.evidence.times)\(if .count > 1 then " of \(.count)" else "" end)\n    \(.message)\n    \(.suggestion)"' \
        "$scratch/$name.json" | sed 's/\(fixture[a-z_]*\.[ch]\):[0-9]*/\1:N/g'
    jq -r '.summary | "  of \(.peak_bytes) bytes \(.achievable_peak_bytes) would do, and not fewer than \(.least_peak_bytes)"' \
        "$scratch/$name.json"
done <"$scratch/names" >"$scratch/seen"
if [ "${GLINT_TEST_UPDATE:-}" = 1 ]; then
    cp "$scratch/seen" "$expected"
fi
diff -u "$expected" "$scratch/seen"
if python=$("$GLINT_SOURCE_DIR/scripts/have" jsonschema); then
    "$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" --closed \
        "$GLINT_SOURCE_DIR/docs/reference/report.schema.json" "$scratch"/*.json
fi
