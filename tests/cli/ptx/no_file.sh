"$GLINT" ptx
