# With the log beside it, and alone; a reader leaves the file as it is.
. ./sample
"$write_sample" --unfinished killed.glint
cp killed.glint alone.glint
"$GLINT" query killed.glint "SELECT complete, ended, (SELECT count(*) FROM v_calls) AS calls FROM v_meta"
"$GLINT" query alone.glint "SELECT complete, ended, (SELECT count(*) FROM v_calls) AS calls FROM v_meta"
ls
