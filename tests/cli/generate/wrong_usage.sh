run() { "$GLINT" generate "$@" 2>&1; echo "status $?"; }
run
run tcsh
run man frobnicate
run man report more
"$GLINT" --help | grep generate
"$GLINT" generate --help
