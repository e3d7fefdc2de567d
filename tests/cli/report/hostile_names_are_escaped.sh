# Names in a profile are hostile: every text in it contains escape sequences, changes of direction, invalid UTF-8 and
# the syntax of the formats. No verb and no format writes them unchanged, to stdout or stderr.
. ./sample
command -v sqlite3 >/dev/null && echo x | grep -qP x || { echo "SKIP: sqlite3 or grep -P is missing"; exit 77; }
cp sample.glint hostile.glint
sqlite3 hostile.glint "UPDATE strings SET text = CAST(char(27) || ']0;x' || char(7) || char(0x9b) || '31m' ||
    char(0x202e, 0x202a, 0x2066, 0x2069, 0x200e, 0x200f, 0x61c, 0x2028, 0x85, 8, 127, 13, 10, 9) || '::error::injected' ||
    '</script><!--<script>]]>&|' || char(34, 39, 92) || '\`' || text || x'ff80c0' AS TEXT)"
raw='[\x00-\x08\x0b-\x1f\x7f\xc0\xff]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c'
try() { # ARGUMENT...: the output must have the names, and nothing raw in it
    "$GLINT" "$@" >out 2>err
    for stream in out err; do
        LC_ALL=C grep -aqP "$raw" $stream && echo "raw in $stream of $*: $(LC_ALL=C grep -aoP ".{0,30}($raw)" $stream | head -n 1 | od -c | head -n 3)"
        grep -aq '^::error::injected' $stream && echo "a command in $stream of $*"
    done
    # At least one name is there, so that this test can fail.
    grep -aq 'injected' out || grep -aq 'injected' err || echo "no name in the output of $*"
}
for format in text json html sarif github dot; do
    try report --verbose --format $format hostile.glint
done
[ "$("$GLINT" report --format html hostile.glint | grep -ao '</script' | wc -l)" = \
    "$("$GLINT" report --format html sample.glint | grep -ao '</script' | wc -l)" ] || echo "a name ends a script of the page"
try diff hostile.glint sample.glint
try diff --format json sample.glint hostile.glint
for format in table csv tabs json; do
    try query --format $format hostile.glint "SELECT text FROM strings"
done
try query hostile.glint "SELECT \"$(printf 'injected\033[1m\342\200\256')\".a"
for verb in report ptx sim-log "check --fail-on any"; do
    # shellcheck disable=SC2086
    try $verb "$(printf 'injected\033[1m\342\200\256')"
done
try query "$(printf 'injected\033[1m\342\200\256')" "SELECT 1"
try record --device sim -- "$(printf './injected\033[1m\302\233')"
try "$(printf 'injected\033[1m')"
try report "$(printf -- '--injected\033[1m')"
