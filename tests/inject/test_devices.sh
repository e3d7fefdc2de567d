#!/bin/sh
# test_devices.sh PROGRAM: random programs over two to four devices print the same natively and recorded, and their
# profiles have the objects, launches, copies between devices and peaks of each device that they say. Environment:
# GLINT_TEST_SEED, the first seed, and GLINT_TEST_SEEDS, how many there are.
set -eu
program=$1
first=${GLINT_TEST_SEED:-1} count=${GLINT_TEST_SEEDS:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query -F tabs "$work/profile" "$1" | tail -n +2 | tr '\t' ' '; }

# What the profile says, as the program prints it.
facts() {
    ask "SELECT 'object', kind, CASE kind WHEN 'pinned' THEN '-' ELSE device - 1 END, bytes, freed_by IS NOT NULL
        FROM v_objects ORDER BY allocated_by"
    ask "WITH o AS (SELECT number, row_number() OVER (ORDER BY allocated_by) AS place FROM v_objects)
        SELECT 'peer', f.place, t.place, c.bytes FROM v_copies c JOIN o f ON f.number = c.from_object
        JOIN o t ON t.number = c.to_object WHERE direction = 'peer-to-peer' ORDER BY call"
    ask "SELECT 'launches', d.number - 1, (SELECT count(*) FROM v_launches l JOIN v_contexts c ON c.number = l.context
        WHERE c.device = d.number) FROM v_device d ORDER BY d.number"
    "$GLINT" report --format json "$work/profile" | python3 -c '
import json, sys
for peak in json.load(sys.stdin)["summary"]["peaks"]:
    if peak["rank"] == 1:
        print("peak", peak["device"] - 1, peak["bytes"])'
}

seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    device="sim:h200*$((2 + seed % 3))"
    analyses=objects
    [ $((seed % 4)) != 0 ] || analyses=all
    echo "seed $seed, $device, analyses $analyses"
    "$GLINT" run --device "$device" -- "$program" "$seed" 500 >"$work/native"
    "$GLINT" record -q -f -o "$work/profile" --device "$device" --analyses "$analyses" -- "$program" "$seed" 500 >"$work/recorded"
    cmp "$work/native" "$work/recorded" || exit 1
    sed '$d' "$work/native" >"$work/expected"
    facts >"$work/actual"
    diff -u "$work/expected" "$work/actual" || exit 1
    for fact in object peer launches peak; do
        grep -q "^$fact .*[1-9]" "$work/expected" || { echo "the program does nothing of: $fact"; exit 1; }
    done
    seed=$((seed + 1))
done
