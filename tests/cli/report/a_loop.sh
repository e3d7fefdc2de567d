# Peaks of equal height are one, objects of one name and place are one row, and long tables are cut.
. ./sample
"$GLINT" report --verbose loop.glint
