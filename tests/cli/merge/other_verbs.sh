# Verbs and formats that need calls refuse a job profile.
. ./sample
"$GLINT" merge -o job.glint rank-*.glint || exit
for format in perfetto dot; do
    "$GLINT" report --format $format job.glint 2>&1
    echo "status $?"
done
"$GLINT" report --what-if l2=1G job.glint 2>&1
"$GLINT" fix --profile job.glint -- true 2>&1
echo "status $?"
