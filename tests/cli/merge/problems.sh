# Ranks that are missing or incomplete, a file that is left out, and a rank with two profiles.
. ./sample
rm rank-00001.glint rank-00006.glint
mkdir killed
"$write" killed 8 100 killed=4
cp killed/rank-00004.glint* .
echo text >rank-00007.glint
mkdir again
"$write" again 8 100 seed=1
cp again/rank-00003.glint again.glint
"$GLINT" merge -o job.glint rank-*.glint again.glint
echo "status $?"
"$GLINT" report job.glint
"$GLINT" report -v job.glint | grep -c '^  warning'
