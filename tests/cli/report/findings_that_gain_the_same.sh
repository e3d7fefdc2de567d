# A finding names the one with which it gains the same: in the verbose report, the JSON and v_findings.
. ./sample
"$GLINT" report --verbose values.glint | grep 'the same as finding' | head -n 2
command -v jq >/dev/null || { echo "SKIP: no jq (make deps)"; exit 77; }
"$GLINT" report --format json values.glint |
    jq -c '.findings as $all | .findings[] | select(.covered_by) |
        [.pattern, .worthwhile, $all[.covered_by - 1].pattern, $all[.covered_by - 1].worthwhile]' | sort | uniq -c
"$GLINT" query values.glint 'SELECT a.pattern, a.worthwhile, b.pattern, b.worthwhile, count(*) FROM v_findings a
    JOIN v_findings b ON b.rank = a.covered_by GROUP BY 1, 2, 3, 4'
