# Wrong usage gives one line and status 2; a rule that cannot be decided never passes.
. ./sample
"$tests/profile/write_sample" sample.glint
run() { "$GLINT" check "$@" 2>&1; echo "status $?"; }
run
run new.glint
run new.glint old.glint --fail-on any
run --fail-on any missing.glint
run --fail-on any --baseline missing.glint new.glint
run --fail-on memory-lek new.glint
run --fail-on peak new.glint
run --fail-on 'any>64' new.glint
run --fail-on new new.glint
run --format xml --fail-on any new.glint
run --rules missing.toml new.glint
echo 'fail-onn = ["any"]' >bad.toml
run -r bad.toml new.glint
echo '# nothing' >bad.toml
run -r bad.toml new.glint
run --fail-on overallocation new.glint
run --fail-on non-uniform-access new.glint
run --fail-on any sample.glint
run --fail-on any -o new.glint new.glint
