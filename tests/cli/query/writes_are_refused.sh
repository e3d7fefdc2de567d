. ./sample
"$GLINT" query sample.glint 'DELETE FROM calls'
"$GLINT" query sample.glint "ATTACH 'x.db' AS x"
"$GLINT" query sample.glint 'SELECT 1; DROP TABLE calls'
status=$?
ls
exit $status
