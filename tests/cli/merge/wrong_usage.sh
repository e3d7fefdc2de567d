# Messages for wrong usage; nothing is written.
. ./sample
"$GLINT" merge 2>&1
"$GLINT" merge rank-00000.glint 2>&1
"$GLINT" merge -o job.glint 2>&1
"$GLINT" merge -j 0 -o job.glint rank-00000.glint 2>&1
"$GLINT" merge -o missing/job.glint rank-00000.glint 2>&1
"$GLINT" merge -o job.glint missing.glint 2>&1
echo "status $?"
"$GLINT" merge -o rank-00001.glint rank-00000.glint 2>&1
echo "status $?"
cp rank-00000.glint one.glint
"$write" . 8 200
"$GLINT" merge -o job.glint rank-00000.glint one.glint 2>&1
echo "status $?"
[ ! -e job.glint ]
