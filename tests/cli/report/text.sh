. ./sample
"$GLINT" report sample.glint
