. ./sample
"$GLINT" query --csv sample.glint "SELECT number, text AS \"te,xt\", NULL AS none FROM v_notes ORDER BY number"
