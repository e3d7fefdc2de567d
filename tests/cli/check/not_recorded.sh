# A rule about a pattern whose analysis was not recorded cannot be decided: status 2, and the analysis is named. Leaks
# are found without probes, and `any` takes what there is.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
cd "$SCRATCH" || exit 1
example=$(dirname "$GLINT")/../examples/driver_api
[ -x "$example" ] || { echo "$example is not there: build it first"; exit 1; }
folder=${GLINT_SOURCE_DIR:-$OLDPWD/../../..}
(cd "$folder" && "$GLINT" record -q --no-cache --analyses none --device sim -o "$SCRATCH/none.glint" -- "$example" 128) \
    >out 2>&1 || { cat out; exit 1; }
for rule in early-allocation 'dead-write>1GiB' overallocation non-uniform-access unnecessary-sync 'memory-leak>1GiB' 'any>1GiB' no-such-pattern; do
    "$GLINT" check --fail-on "$rule" none.glint 2>&1
    echo "status $?"
done
