. ./sample
"$GLINT" report --verbose sample.glint
