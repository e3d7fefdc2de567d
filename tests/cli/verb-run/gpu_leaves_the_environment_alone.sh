env | grep -v "^_=" >"$SCRATCH/before"
"$GLINT" run --device gpu -- env | grep -v "^_=" >"$SCRATCH/after"
diff "$SCRATCH/before" "$SCRATCH/after" && echo the same
