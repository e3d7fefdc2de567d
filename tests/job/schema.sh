#!/bin/sh
# schema.sh WRITE_RANKS: holds the JSON and SARIF of job profiles to their schemas.
set -eu
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
python=$("$GLINT_SOURCE_DIR/scripts/have" jsonschema) || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
bad=0
wrong() { "$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" --closed "$GLINT_SOURCE_DIR/docs/reference/job.schema.json" "$@"; }

"$1" . 6 200 double=1 slow=2 killed=4 seed=1 communicating=1
rm rank-00005.glint
echo text >other.glint
"$GLINT" merge -o job.glint *.glint 2>/dev/null || [ $? = 1 ]
"$GLINT" merge -o one.glint rank-00000.glint
mkdir simulated
"$1" simulated 3 100 simulated=1
"$GLINT" merge -o simulated.glint simulated/*.glint
for job in job one simulated; do
    "$GLINT" report -F json -o $job.json $job.glint
    wrong $job.json || bad=1
    "$GLINT" report -F sarif -o $job.sarif $job.glint
    "$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" "$GLINT_SOURCE_DIR/tests/report/sarif.schema.json" $job.sarif || bad=1
done

printf '[[suppress]]\nobject = "scratch"\nreason = "r"\n' >rules.toml
"$GLINT" check -F json -r rules.toml --fail-on 'early-allocation,peak>1B,new,unused-suppression' -b one.glint -o check.json simulated.glint || [ $? = 1 ]
"$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" --closed "$GLINT_SOURCE_DIR/docs/reference/check.schema.json" check.json || bad=1
jq -e '[.rules[0].findings, .rules[0].findings[0].ranks, .rules[1].ranks, .suppressions] | all(length > 0)' check.json >/dev/null || { echo "the check lacks something"; bad=1; }

"$GLINT" diff -F json -o diff.json one.glint job.glint
"$python" -W ignore "$GLINT_SOURCE_DIR/tests/report/validate.py" --closed "$GLINT_SOURCE_DIR/docs/reference/diff.schema.json" diff.json || bad=1
jq -e '[.items[].kind] | unique | length >= 4' diff.json >/dev/null || { echo "the difference lacks something"; bad=1; }

# No array is empty, so that every part of the schema was used.
jq -e '[.findings, .kernels, .waits, .objects, .copies, .collectives, .nvtx_ranges, .profiles, .unmerged, .job.missing_ranks, .job.warnings, .waits[0].outliers] | all(length > 0)' job.json >/dev/null || { echo "the job lacks something"; bad=1; }
jq -e '[.collectives[] | .differs and .compared_by == "sent_bytes" and .communicator_ranks == 4 and .name == "ncclSend"] | any' job.json >/dev/null || { echo "rank 3 sends no more than others"; bad=1; }
# Sums are those of the profiles, and times of the simulated GPU are not told.
[ "$(jq '[.profiles[].launches] | add' job.json)" = "$(jq '[.kernels[].launches.sum] | add' job.json)" ] || { echo "launches do not add up"; bad=1; }
[ "$(jq -c '[.kernel_ns, .waited_ns, .kernels[0].gpu_ns, .profiles[0].kernel_ns]' simulated.json)" = '[null,null,null,null]' ] || { echo "simulated times"; bad=1; }
[ "$(jq '.findings[] | select(.pattern == "unused-allocation") | .worth.peak_bytes.sum / .worth.peak_bytes.mean' job.json)" = "$(jq '.findings[] | select(.pattern == "unused-allocation") | .profiles' job.json)" ] || { echo "worth does not add up"; bad=1; }

# Changes of a valid report that the schema must reject.
for change in 'del(.job.ranks)' '.kernels[0].launches = null' '.more = 1' '.findings[0].worth.peak_bytes.min = -1' '.profiles[0].rank = "1"'; do
    jq "$change" job.json >changed.json
    ! wrong changed.json >/dev/null || { echo "not noticed: $change"; bad=1; }
done
exit $bad
