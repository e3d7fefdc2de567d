# The table is appended to the host's file, up to the host's limit, and findings without room are counted.
. ./waste
GITHUB_STEP_SUMMARY=$SCRATCH/summary
export GITHUB_STEP_SUMMARY
size() { wc -c <summary | tr -d ' '; }

echo "of another command" >summary
"$GLINT" report --format github --source-root /home/me/project waste.glint | grep -c ^::
head -n 3 summary
grep -c '^| 1[0-9]' summary

echo "== more than it takes"
"$write_waste" many.glint 6000
rm summary
"$GLINT" report --format github many.glint | grep -c ^::
[ "$(size)" -le 1048576 ] && [ "$(size)" -gt 1040000 ] || echo "it has $(size) bytes"
rows=$(grep -c '^| [0-9]' summary)
tail -n 1 summary | grep -q "^$((6000 - 10 - rows)) more findings, worth the least, do not fit into this summary.$" || tail -n 1 summary

echo "== nearly full"
head -c 1048500 /dev/zero >summary
"$GLINT" report --format github waste.glint | tail -n 1
size

echo "== not to be written"
GITHUB_STEP_SUMMARY=$SCRATCH/none/summary
"$GLINT" report --format github waste.glint 2>&1 | sed "s|$SCRATCH|SCRATCH|"
