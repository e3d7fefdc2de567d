# A kernel runs on the simulated GPU; every line says ok or missing, and the last line gives the conclusion.
"$GLINT" doctor >"$SCRATCH/out"
status=$?
grep 'simulated GPU' "$SCRATCH/out"
grep -Ecv '^(ok|missing) ' "$SCRATCH/out"
case $status in
0) tail -n 1 "$SCRATCH/out" | grep -q ' can record' ;;
1) tail -n 1 "$SCRATCH/out" | grep -q ' cannot record' ;;
*) exit 1 ;;
esac
