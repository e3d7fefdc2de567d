"$GLINT" ptx --format xml file
