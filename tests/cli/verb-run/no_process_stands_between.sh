sh -c 'echo $$ >"$SCRATCH/pid"; exec "$GLINT" run --device sim -- sh -c "echo \$\$"' >"$SCRATCH/seen"
cmp "$SCRATCH/pid" "$SCRATCH/seen" && echo same process
