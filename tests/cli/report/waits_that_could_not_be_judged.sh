# The first screen says of how many waits it is unknown whether they were needed, where these are a tenth of all.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
write_waits=$(dirname "$GLINT")/../tests/report/write_waits
cd "$SCRATCH" || exit 1
for count in 0 3 4 10; do
    "$write_waits" waits.glint managed $count || exit 1
    echo "== $count of 10"
    COLUMNS=100 "$GLINT" report waits.glint | sed -n '/^What/,$p'
    rm waits.glint
done
