"$GLINT" report no-such.glint
