# Findings on synchronization as text and as JSON: what to change, and what that takes off the run time.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
write_waits=$(dirname "$GLINT")/../tests/report/write_waits
cd "$SCRATCH" && "$write_waits" waits.glint || exit 1
patterns=unnecessary-sync,misplaced-sync,synchronous-transfer,duplicate-transfer,alloc-free-churn
COLUMNS=100 "$GLINT" report --verbose --pattern "$patterns" waits.glint | sed -n '/^Findings/,/^What was/p'
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
"$GLINT" report --format json waits.glint | jq -c '(.summary | {run_ns, achievable_run_ns, waited_ns, unneeded_wait_ns, unknown_waits, run_estimated}),
    (.findings[] | select(.evidence.waited_ns) | {pattern, object, call, worth, evidence: (.evidence | map_values(if type == "array" then map(.line) else . end))})'
echo "== simulated"
"$write_waits" sim.glint simulated
COLUMNS=100 "$GLINT" report sim.glint
"$GLINT" report --format json sim.glint | jq -c '(.summary | {achievable_run_ns, unneeded_wait_ns, run_estimated, simulated}), (.findings[] | {pattern, worth})'
"$GLINT" report --format github sim.glint | sed -n 's/^::warning .*title=//p'
echo "== real"
"$GLINT" report waits.glint | sed -n 2,3p
"$GLINT" report --format json waits.glint | jq -c '.summary | [.peak_bytes, .achievable_peak_bytes, .run_ns, .achievable_run_ns]'
"$GLINT" check --fail-on 'unnecessary-sync>1ms,alloc-free-churn>1s' waits.glint
