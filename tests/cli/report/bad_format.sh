"$GLINT" report --format xml some.glint
