# Wrong usage gives one line and status 2.
. ./sample
run() { "$GLINT" diff "$@" 2>&1; echo "status $?"; }
run
run old.glint
run old.glint new.glint noisy.glint
run --format xml old.glint new.glint
run --limit x old.glint new.glint
run --tolerance -1 old.glint new.glint
run old.glint missing.glint
echo text >text.glint
run text.glint new.glint
head -c 5000 old.glint >cut.glint
run cut.glint new.glint | sed 's/cut.glint: .*/cut.glint: DAMAGED/'
: >empty.glint
run old.glint empty.glint
run -o new.glint old.glint new.glint
run -o no/such/folder old.glint new.glint
