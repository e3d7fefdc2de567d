"$GLINT" frobnicate
