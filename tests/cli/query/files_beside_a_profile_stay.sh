# Opening a profile changes nothing: files beside it are neither created, changed nor removed, and a journal does not
# make SQLite delete the file that it names.
. ./sample
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp
echo precious >victim
"$write_sample" --unfinished killed.glint
# A rollback journal of no pages that names a super-journal, which SQLite deletes after playing it: a head of 512 bytes,
# then a page's number, the name, its length, the sum of its bytes, and the mark.
name=$PWD/victim
sum=$(printf %s "$name" | od -An -v -t u1 | awk '{for (i = 1; i <= NF; i++) s += $i} END {print s}')
number() { # as 4 bytes, the highest first
    # shellcheck disable=SC2059
    printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)))"
}
mark() { printf '\331\325\005\371\040\241\143\327'; }
head() {
    mark
    number 0; number 0; number 1; number 512; number 4096
    dd if=/dev/zero bs=1 count=484 2>/dev/null
}
{ head; number 262145; printf %s "$name"; number ${#name}; number "$sum"; mark; } >crafted
head >empty
awk 'BEGIN { for (i = 0; i < 9000; i++) printf "%c%c%c", i % 251, i * 7 % 127, 255 }' >noise
one() { # NAME, which profile, what lies beside it
    mkdir "$1" && cp "$2.glint" "$1/p.glint" || exit 1
    shift 2
    for file; do cp "${file%:*}" "$beside/p.glint-${file#*:}"; done
}
for case in 'journal sample crafted:journal' 'plain sample empty:journal' 'log sample killed.glint-wal:wal' \
    'shm sample killed.glint-wal:wal killed.glint-shm:shm' 'unfinished killed crafted:journal' \
    'both killed killed.glint-wal:wal crafted:journal' 'copy killed killed.glint-wal:wal' \
    'all killed killed.glint-wal:wal killed.glint-shm:shm' 'noisy-shm killed killed.glint-wal:wal noise:shm' \
    'noisy-wal killed noise:wal killed.glint-shm:shm' 'noisy-journal killed noise:journal' \
    'noisy sample noise:journal noise:wal noise:shm' 'read-only killed killed.glint-wal:wal killed.glint-shm:shm'; do
    beside=${case%% *}
    # shellcheck disable=SC2086
    one $case
done
mkfifo pipe
for suffix in wal shm journal; do
    mkdir "pipe-$suffix"
    cp killed.glint "pipe-$suffix/p.glint"
    cp killed.glint-wal "pipe-$suffix/p.glint-wal"
    cp killed.glint-shm "pipe-$suffix/p.glint-shm"
    rm -f "pipe-$suffix/p.glint-$suffix"
    mkfifo "pipe-$suffix/p.glint-$suffix"
done
chmod a-w read-only read-only/*
trap 'chmod u+w read-only' EXIT
# Contents, and everything else but the time of the last access.
list() {
    find . -name tmp -prune -o -name said -prune -o -name list -prune -o -type f -exec cksum {} + -o -print | LC_ALL=C sort
    find . -mindepth 2 -path ./tmp -prune -o -exec stat -c '%n %s %y %z %i %h %a %u' {} + | LC_ALL=C sort
}
list >list
for folder in journal plain log shm unfinished both copy all noisy-shm noisy-wal noisy-journal noisy read-only pipe-wal pipe-shm pipe-journal; do
    for verb in "query $folder/p.glint" "report $folder/p.glint" "diff $folder/p.glint $folder/p.glint" "check $folder/p.glint" \
        "fix --dry-run --profile $folder/p.glint -- true"; do
        if [ "${verb%% *}" = query ]; then
            echo "$folder: $(timeout 60 "$GLINT" query "$folder/p.glint" 'SELECT count(*) FROM v_calls' 2>&1 | tail -n 1)"
        else
            # shellcheck disable=SC2086
            timeout 60 "$GLINT" $verb >said 2>&1
            status=$?
            [ $status -lt 124 ] || [ $status = 125 ] || { echo "$verb: status $status"; cat said; }
        fi
        list | cmp -s - list || { echo "$verb changed something:"; list | diff list - ; list >list; }
    done
done
ls tmp
