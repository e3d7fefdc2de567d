# What failed in the program is said first: as text, in annotations, in SARIF and in JSON.
. ./sample
"$GLINT" report sample.glint | sed -n 2p
env -u GITHUB_STEP_SUMMARY "$GLINT" report --format github sample.glint | grep -E '^(::error|\*\*error)'
"$GLINT" report --format sarif sample.glint | grep -o '"level":"error","message":{"text":"[^"]*"'
"$GLINT" report --format json sample.glint | grep -o '"failure":"[^"]*"'
