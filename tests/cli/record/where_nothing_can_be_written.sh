# A folder that is not there is an error before the program runs; one that goes away while it runs costs the profile, and 125 says so.
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
