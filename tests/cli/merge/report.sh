# The first screen of a job: at most 24 lines of 80 columns.
. ./sample
"$GLINT" merge -o job.glint rank-*.glint || exit
"$GLINT" report job.glint >screen
cat screen
awk 'length($0) > 80 { exit 1 } END { if (NR > 24) exit 1 }' screen || echo "too large"
