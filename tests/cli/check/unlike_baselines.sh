# Findings are not compared if only one profile was recorded with the analysis that finds them.
. ../report/sample
for pair in "values sample" "sample values"; do
    "$GLINT" check --fail-on new --baseline ${pair% *}.glint ${pair#* }.glint 2>&1 | head -n 1
done
"$GLINT" check --fail-on new --baseline values.glint values.glint
