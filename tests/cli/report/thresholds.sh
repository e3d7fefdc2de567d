# A threshold of the command line is applied, and one that makes no sense is refused.
../../../scripts/have jq >/dev/null || exit 77
. ./sample
patterns() { "$GLINT" report --format json "$@" sample.glint | jq -c '[.findings[].pattern]'; }
patterns
patterns --threshold variation-percent=2000
"$GLINT" report --threshold variation-percent=2000 --format json sample.glint -t variation-percent=1 | jq -c '[.findings[].pattern]'
for wrong in variation=1 variation-percent variation-percent= variation-percent=-1 variation-percent=1x =1 idle-apis=99999999999; do
    "$GLINT" report --threshold "$wrong" sample.glint 2>&1
    echo "status $?"
done
