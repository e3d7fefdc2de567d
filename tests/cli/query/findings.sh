# v_findings has the findings of the report, can be joined with views of the profile, and cannot be changed.
../../../scripts/have jq >/dev/null || exit 77
. ../check/sample
"$GLINT" query new.glint "SELECT rank, pattern, object_name, worthwhile, peak_bytes, worth FROM v_findings"
"$GLINT" report --format json new.glint | jq -c '[.findings[] | [.pattern, .message, .suggestion, .worth.peak_bytes, .count]]' >report
"$GLINT" query --json new.glint "SELECT pattern, message, suggestion, peak_bytes, count FROM v_findings ORDER BY rank" |
    jq -c '[.[] | [.pattern, .message, .suggestion, .peak_bytes, .count]]' | cmp - report && echo "as in the report"
"$GLINT" query new.glint "SELECT count(*) FROM V_FINDINGS f JOIN v_objects o ON o.number = f.object WHERE f.peak_bytes <= o.bytes * f.count"
for sql in "DELETE FROM v_findings" "CREATE TABLE t AS SELECT * FROM v_findings" "SELECT nothing FROM v_findings"; do
    "$GLINT" query new.glint "$sql" 2>&1
done
