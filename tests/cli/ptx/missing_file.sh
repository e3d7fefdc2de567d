"$GLINT" ptx no-such-file
