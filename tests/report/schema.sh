#!/bin/sh
# schema.sh WRITE_SAMPLE WRITE_SAMPLES WRITE_WASTE: validates the JSON of glint report against
# docs/reference/report.schema.json, and compares docs/reference/json.md with that schema. The
# command-line tests report the same profiles; tests/analyze and tests/examples validate their
# reports, too.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
python=$("$GLINT_SOURCE_DIR/scripts/have" jsonschema) || exit 77
schema=$GLINT_SOURCE_DIR/docs/reference/report.schema.json
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
"$1" --unfinished "$scratch/unfinished.glint"
"$2" "$scratch"
"$3" "$scratch/waste.glint"
"${3%/*}/write_flow" "$scratch/flow.glint"
"${3%/*}/write_caches" "$scratch/caches.glint"
bad=0

wrong() { "$python" -W ignore "$(dirname "$0")/validate.py" --closed "$schema" "$@"; }

count=0
for profile in "$scratch"/*.glint; do
    count=$((count + 1))
    "$GLINT" report -f --format json -o "${profile%.glint}.json" "$profile" || { echo "no report of $profile"; bad=1; }
done
[ $count -ge 10 ] || { echo "too few profiles"; bad=1; }
wrong "$scratch"/*.json || bad=1

# No array of the sample's report is empty, so that every part of the schema was used.
jq -e '[.objects, .calls, .graphs, .paths, .kernels, .kernels[0].sites, .kernels[0].caches.objects, .kernels[0].caches.objects[0].sites, .kernels[0].caches.objects[0].l2_reuse.distances, .calls[4].accesses, .profile.settings, .notes, .dropped, .devices, .summary.peaks, .findings, (.findings[] | select(.pattern == "non-uniform-access") | .evidence.hottest), .value_flow.vertices, .value_flow.edges] | all(length > 0)' \
    "$scratch/sample.json" >/dev/null || { echo "the sample lacks something"; bad=1; }

# The graph of figure 3 of the ValueExpert paper: its writes, with what was compared and what was the same.
jq -c '[.value_flow.edges[] | select(.redundant_bytes != null) | [.from, .to, .bytes, .compared_bytes, .redundant_bytes]]' \
    "$scratch/flow.json" >"$scratch/compared"
[ "$(cat "$scratch/compared")" = '[[5,7,16384,16384,16384],[6,8,8192,8192,4096],[8,9,16384,16384,0]]' ] ||
    { echo "wrong redundancy: $(cat "$scratch/compared")"; bad=1; }

# Changes of a valid report that the schema must reject, with words of the validator's error.
cat >"$scratch/changes" <<'END'
del(.summary.peak_bytes)|$.summary: 'peak_bytes' is a required property
.summary.peak_bytes = "1"|$.summary.peak_bytes: '1' is not of type 'integer'
.summary.calls = 1.5|$.summary.calls: 1.5 is not of type 'integer'
.schema = 2|$.schema: 1 was expected
.more = 1|('more' was unexpected)
.objects[0].kind = "tape"|$.objects[0].kind: 'tape' is not one of
.objects[0].bytes = -1|$.objects[0].bytes: -1 is less than the minimum of 0
.calls[4].grid = [1, 1]|$.calls[4].grid: [1, 1] is too short
del(.calls[4].kernel)|$.calls[4]: 'kernel' is a required property
.calls[4].accesses[1].elements = "1"|$.calls[4].accesses[1].elements: '1' is not of type
del(.kernels[0].sites[0].requests.sectors)|$.kernels[0].sites[0].requests: 'sectors' is a required property
del(.kernels[0].sites[1].inlined_at)|$.kernels[0].sites[1]: 'inlined_at' is a required property
del(.kernels[0].caches.objects[0].l2_reuse)|$.kernels[0].caches.objects[0]: 'l2_reuse' is a required property
.kernels[0].caches.share = 0|$.kernels[0].caches.share: 0 is less than or equal to the minimum of 0
.objects[0].accesses.reads = null|$.objects[0].accesses.reads: None is not of type 'integer'
.profile.settings.mode = "x"|$.profile.settings: Additional properties are not allowed
.paths[0].frames[0].line = "7"|$.paths[0].frames[0].line: '7' is not of type
.findings[0].pattern = "waste"|$.findings[0].pattern: 'waste' is not one of
del(.findings[0].worth.ms)|$.findings[0].worth: 'ms' is a required property
.findings[0].evidence.more = 1|$.findings[0].evidence: Additional properties are not allowed
.value_flow.vertices[0].kind = "guest"|$.value_flow.vertices[0].kind: 'guest' is not one of
del(.value_flow.edges[0].bytes_at_most)|$.value_flow.edges[0]: 'bytes_at_most' is a required property
.value_flow.edges[0].times = 0|$.value_flow.edges[0].times: 0 is less than the minimum of 1
.notes[0].severity = "bad"|$.notes[0].severity: 'bad' is not one of
END
number=0
while IFS='|' read -r change words; do
    number=$((number + 1))
    jq "$change" "$scratch/sample.json" >"$scratch/changed-$number.json"
done <"$scratch/changes"
wrong "$scratch"/changed-*.json >"$scratch/wrong" || true
number=0
while IFS='|' read -r change words; do
    number=$((number + 1))
    grep -F "/changed-$number.json: " "$scratch/wrong" | grep -qF -- "$words" || { echo "not noticed: $change"; bad=1; }
done <"$scratch/changes"
[ $number -ge 10 ] || { echo "too few changes"; bad=1; }

# Every member is described.
jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >"$scratch/members"
[ "$(wc -l <"$scratch/members")" -ge 80 ] || { echo "too few members: the question is wrong"; bad=1; }
while read -r member; do
    grep -Eq "\`([a-z]+\.)?$member\`" "$GLINT_SOURCE_DIR/docs/reference/json.md" "$GLINT_SOURCE_DIR/docs/reference/patterns.md" ||
        { echo "docs/reference/json.md and patterns.md do not describe $member"; bad=1; }
done <"$scratch/members"
exit $bad
