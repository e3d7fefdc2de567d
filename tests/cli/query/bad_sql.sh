. ./sample
"$GLINT" query sample.glint 'SELECT nme FROM v_objects'
