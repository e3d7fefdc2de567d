"$GLINT" run -- no-such-program-anywhere
