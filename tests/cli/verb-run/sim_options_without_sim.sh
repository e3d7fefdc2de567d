"$GLINT" run --device gpu --workers 2 -m warn -- echo runs all the same
