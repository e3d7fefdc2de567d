# --device auto asks the driver, in a process of its own: a driver that fails, crashes or hangs does no harm, and what
# it prints is not seen.
cd "$SCRATCH" || exit 1
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/tests/cli/driver
export LD_LIBRARY_PATH
for FAKE_DRIVER in works none fails crashes hangs; do
    export FAKE_DRIVER
    # shellcheck disable=SC2016 # the program's shell expands it
    GLINT_DRIVER_SECONDS=$([ $FAKE_DRIVER = hangs ] && echo 1 || echo 60) \
        "$GLINT" run -- sh -c 'case $LD_PRELOAD in *redirect*) echo simulated ;; *) echo GPU ;; esac' >out 2>err
    echo "$FAKE_DRIVER: status $?, $(cat out)"
    cat err
done
FAKE_DRIVER=works "$GLINT" doctor | grep '^[^a-z]*GPU\|Fake'
FAKE_DRIVER=crashes "$GLINT" doctor | grep 'crashes'
