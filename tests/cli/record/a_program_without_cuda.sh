cd "$SCRATCH" || exit 1
"$GLINT" record --device sim -- sh -c 'echo out; echo err >&2; exit 3'
echo "status $?"
"$GLINT" record -q --device sim -- sh -c 'kill -9 $$' 2>/dev/null
echo "status $?"
ls
