# -o may come before or after the file, and never overwrites the profile itself.
. ./sample
"$GLINT" report -o before.txt empty.glint && "$GLINT" report empty.glint -o behind.txt && cmp before.txt behind.txt
cat before.txt
"$GLINT" report empty.glint -o no-such-folder/x
"$GLINT" report empty.glint -o ./empty.glint
status=$?
"$GLINT" report empty.glint -o - | head -n 1
exit $status
