"$GLINT" doctor now
