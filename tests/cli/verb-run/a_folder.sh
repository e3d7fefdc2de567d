"$GLINT" run -q -- /
