# A recorder that is killed before the program uses CUDA leaves no folder of its socket and no new file beside the
# profile. What a recorder left with which its keeper was killed, too, is removed by the next one; what others hold or
# made is left alone.
. ./busy
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp
"$GLINT" record -q -o p.glint --device sim -- "$busy" 1
cp p.glint before
start() { # prints the recorder's process id once the program runs
    rm -f started
    "$GLINT" record -f -o p.glint --device sim -- sh -c 'echo $$ >pid.new && mv pid.new started && exec sleep 60' >/dev/null 2>&1 &
    recorder=$!
    until [ -s started ]; do sleep 0.02; done
    until [ "$(find "/proc/$recorder/task/$recorder/children" -exec wc -w {} + | awk '{print $1}')" = 2 ]; do sleep 0.02; done
}
gone() { # waits for the keeper
    for _ in $(seq 500); do
        [ -z "$(ls tmp)" ] && ! ls p.glint.new-* >/dev/null 2>&1 && return
        sleep 0.02
    done
    echo "these are left: $(ls tmp p.glint*)"
}
start
ls tmp | sed 's/-......$//'
ls | grep -c 'new-'
kill -9 "$recorder"
wait "$recorder" 2>/dev/null
gone
kill "$(cat started)"

# The keeper is killed as well.
start
keeper=$(tr ' ' '\n' <"/proc/$recorder/task/$recorder/children" | grep -vx "$(cat started)" | grep .)
kill -9 "$keeper" "$recorder"
wait "$recorder" 2>/dev/null
kill "$(cat started)"
ls tmp | sed 's/-......$//'
number=$(ls | grep 'new-')
echo mine >p.glint.new-1   # not a profile
cp before p.glint.new-x    # not such a name
ln -s before p.glint.new-2 # a link
mkdir tmp/glint-run-aaaaaa tmp/mine
start # a living one
"$GLINT" record -q -f -o p.glint --device sim -- true
[ -e "$number" ] && echo "$number is left"
cat p.glint.new-1
ls p.glint.new-x p.glint.new-2
ls -d tmp/mine tmp/glint-run-aaaaaa
find tmp -name socket | wc -l
kill "$(cat started)"
wait "$recorder"
cmp before p.glint && echo "the old profile is unchanged"
