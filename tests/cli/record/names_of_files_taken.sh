# Several recorders use one name at the same time: each keeps a profile, with and without -f. Each program waits until
# all run.
. ./busy
cat >together <<'END'
touch "here-$1"
tries=0
while [ "$(ls | grep -c '^here-')" -lt 4 ] && [ $tries -lt 1200 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
exec "$busy" $((2 + $1))
END
for force in '' -f; do
    mkdir "all$force" && cd "all$force" || exit 1
    [ -z "$force" ] || echo old >p.glint
    for rank in 1 2 3 4; do
        {
            "$GLINT" record $force -o p.glint --device sim -- sh ../together $rank >out-$rank 2>said-$rank
            echo $? >status-$rank
        } &
    done
    wait
    cat status-*
    ls *.glint | sed 's/-[0-9]*[.]/-PID./'
    for profile in *.glint; do
        "$GLINT" query "$profile" "select count(*) from v_calls where (select complete from v_meta)" | tail -n 1
    done | sort -n
    cat said-* | sed 's/-[0-9]*[.]glint/-PID.glint/; s/[0-9]* call/N call/; s/[0-9]* object/N object/' | sort
    rm -f here-*
    cd ..
done
# The name that a killed recorder had reserved is free, and the profile that it wrote is not.
mkdir killed && cd killed || exit 1
"$GLINT" record -q -o p.glint --device sim -- sh -c 'echo $PPID >recorder; exec sleep 5' &
while [ ! -s recorder ]; do sleep 0.1; done
"$GLINT" query p.glint 'select complete, ended from v_meta'
kill -9 "$(cat recorder)"
wait
"$GLINT" record -q -o p.glint --device sim -- "$busy" 2
echo "status $?"
"$GLINT" record -q -o p.glint --device sim -- "$busy" 2
echo "status $?"
ls *.glint
