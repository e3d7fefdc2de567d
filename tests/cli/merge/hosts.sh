# Annotations of a GitHub Actions step, and the places and fingerprints of SARIF.
. ./sample
unset GITHUB_STEP_SUMMARY
"$GLINT" merge -o job.glint rank-*.glint || exit
"$GLINT" report -F github --source-root /home/me job.glint
"$GLINT" report -F sarif --source-root /home/me job.glint | tr ',' '\n' | grep -E 'uri"|startLine|glintFinding|"worst|This is'
