# A signal that asks glint to end is forwarded to the program; a signal that a terminal sends to both is left to the
# program; and glint ends as the program does.
cd "$SCRATCH" || exit 1
start() {
    rm -f ready
    "$GLINT" record -q --device sim -- "$@" &
    recorder=$!
    until [ -e ready ]; do sleep 0.05; done
}
for signal in TERM HUP; do
    # shellcheck disable=SC2016 # the inner sh expands
    start sh -c 'trap "echo program: $0; exit 9" $0; : >ready; while :; do sleep 0.05; done' $signal
    kill -$signal $recorder
    wait $recorder
    echo "status $?"
done
start sh -c 'trap "exit 8" TERM; : >ready; n=0; while [ $n -lt 10 ]; do sleep 0.05; n=$((n + 1)); done; echo "program: went on"'
kill -INT $recorder
wait $recorder
echo "status $?"
start sh -c ': >ready; sleep 0.2; kill -SEGV $$' 2>/dev/null
wait $recorder 2>/dev/null
echo "status $?"
