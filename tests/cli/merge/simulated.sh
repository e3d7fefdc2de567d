# Times of the simulated GPU are not compared and promise nothing.
. ./sample
"$write" . 8 100 double=5 slow=2 simulated=1
"$GLINT" merge -o job.glint rank-*.glint || exit
"$GLINT" report job.glint
"$GLINT" report -v job.glint | grep -E '[0-9] (ns|us|ms|s)\b'
:
