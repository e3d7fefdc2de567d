"$GLINT" report a.glint b.glint
