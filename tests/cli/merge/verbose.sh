# Everything: all worths of all findings, all differences and tables.
. ./sample
"$GLINT" merge -o job.glint rank-*.glint || exit
"$GLINT" report -v job.glint
