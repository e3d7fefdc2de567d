# 'glint help VERB' is 'glint VERB --help'.
"$GLINT" help diff >"$SCRATCH/one" && "$GLINT" diff --help >"$SCRATCH/other" && cmp "$SCRATCH/one" "$SCRATCH/other" && echo same
"$GLINT" help frobnicate
