# An unfinished profile is read with its log beside it, and alone; a reader does not change the file.
. ./sample
"$write_sample" --unfinished killed.glint
cp killed.glint alone.glint
"$GLINT" query killed.glint "SELECT complete, ended, (SELECT count(*) FROM v_calls) AS calls FROM v_meta"
"$GLINT" query alone.glint "SELECT complete, ended, (SELECT count(*) FROM v_calls) AS calls FROM v_meta"
ls
