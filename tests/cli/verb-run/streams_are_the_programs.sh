echo in | "$GLINT" run --device sim -- sh -c 'read line; echo "$line out"; echo "$line err" >&2' 2>"$SCRATCH/errors"
grep '^in err$' "$SCRATCH/errors"
