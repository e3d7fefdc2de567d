"$GLINT" run -- /
