#!/bin/sh
# Holds the JSON of glint report to docs/report.schema.json, and docs/json.md to that schema:
# schema.sh WRITE_SAMPLE WRITE_SAMPLES.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
schema=$GLINT_SOURCE_DIR/docs/report.schema.json
validate=$(dirname "$0")/validate.jq
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
"$1" --unfinished "$scratch/unfinished.glint"
"$2" "$scratch"
bad=0

wrong() { jq -r --slurpfile schema "$schema" -f "$validate" "$1"; }

count=0
for profile in "$scratch"/*.glint; do
    count=$((count + 1))
    "$GLINT" report --format json -o "$scratch/report.json" "$profile" || { echo "no report of $profile"; bad=1; }
    wrong "$scratch/report.json" >"$scratch/wrong"
    [ ! -s "$scratch/wrong" ] || { echo "$profile:"; head -n 20 "$scratch/wrong"; bad=1; }
done
[ $count -ge 10 ] || { echo "too few profiles"; bad=1; }

# Of the sample, every array has something in it, so that the schema was held to it.
"$GLINT" report --format json -o "$scratch/report.json" "$scratch/sample.glint"
jq -e '[.objects, .calls, .graphs, .paths, .kernels, .kernels[0].sites, .calls[4].accesses, .profile.settings, .notes, .dropped, .devices, .summary.peaks, .findings, .findings[0].evidence.hottest] | all(length > 0)' \
    "$scratch/report.json" >/dev/null || { echo "the sample lacks something"; bad=1; }

# What the validator must find: a change of a good report, and words of what it then says.
while IFS='|' read -r change words; do
    jq "$change" "$scratch/report.json" >"$scratch/changed.json"
    wrong "$scratch/changed.json" | grep -qF "$words" || { echo "not noticed: $change"; bad=1; }
done <<END
del(.summary.peak_bytes)|no 'peak_bytes'
.summary.peak_bytes = "1"|not of type integer
.summary.calls = 1.5|not of type integer
.schema = 2|is not 1
.more = 1|'more' is not in the schema
.objects[0].kind = "tape"|is none of
.objects[0].bytes = -1|is less than 0
.calls[4].grid = [1, 1]|has 2 items
del(.calls[4].kernel)|no 'kernel'
.calls[4].accesses[1].elements = "1"|calls[4].accesses[1].elements
del(.kernels[0].sites[1].inlined_at)|no 'inlined_at'
.objects[0].accesses.reads = null|objects[0].accesses.reads
.profile.settings.mode = "x"|'mode' is not in the schema
.paths[0].frames[0].line = "7"|paths[0].frames[0].line
.findings[0].pattern = "waste"|is none of
del(.findings[0].worth.ms)|no 'ms'
.findings[0].evidence.more = 1|'more' is not in the schema
END

# Every member is told of, somewhere.
jq -r '.. | .properties? // empty | keys[]' "$schema" | sort -u >"$scratch/members"
[ "$(wc -l <"$scratch/members")" -ge 80 ] || { echo "too few members: the question is wrong"; bad=1; }
while read -r member; do
    grep -Eq "\`([a-z]+\.)?$member\`" "$GLINT_SOURCE_DIR/docs/json.md" || { echo "docs/json.md does not tell of $member"; bad=1; }
done <"$scratch/members"
exit $bad
