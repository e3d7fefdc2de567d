"$GLINT" ptx --colour file
