cd "$SCRATCH" || exit 1
echo precious > p.glint
"$GLINT" record -o p.glint --device sim -- true
echo "status $?"
cat p.glint
