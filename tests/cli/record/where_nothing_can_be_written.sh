# A missing folder is an error before the program runs. If the folder disappears while the program runs, the profile
# is lost and the exit status is 125.
. ./busy
"$GLINT" record -o nowhere/p.glint --device sim -- touch ran
echo "status $?"
mkdir goes
"$GLINT" record -q -o goes/p.glint --device sim -- sh -c 'rm -r goes; touch ran-on; exec "$0" 3' "$busy"
echo "status $?"
mkdir stays
"$GLINT" record -q -o stays/p.glint --device sim -- sh -c 'rm -r stays; exit 3' # no profile is needed
echo "status $?"
ls
