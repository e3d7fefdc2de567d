"$GLINT" run --device cpu -- true
