# Suppressions and thresholds of .glint.toml apply to reports in all formats; --rules names another file.
../../../scripts/have jq >/dev/null || exit 77
. ./sample
count() {
    "$GLINT" report "$@" --format json new.glint | jq -c '[.findings[] | select(.pattern == "early-allocation")] | length'
    "$GLINT" report "$@" --format sarif new.glint | jq -c '[.runs[0].results[] | select(.ruleId == "early-allocation")] | length'
    "$GLINT" report "$@" --format github new.glint | grep -c '^::.*early-allocation'
    "$GLINT" report "$@" --verbose new.glint | grep -c '\[early-allocation\]'
    "$GLINT" report "$@" new.glint | grep suppressed
}
count
cat >.glint.toml <<'END'
[[suppress]]
pattern = "early-allocation"
reason = "lives as long as the process"
[thresholds]
late-apis = 1000
END
echo "with .glint.toml"
count
"$GLINT" report --verbose new.glint | grep -c '\[late-deallocation\]'
"$GLINT" report --verbose --threshold late-apis=1 new.glint | grep -c '\[late-deallocation\]'
echo "with other rules"
count --rules /dev/null
echo 'suppres = 1' >.glint.toml
"$GLINT" report new.glint 2>&1
echo "status $?"
