# The completions work in a separate bash.
command -v bash >/dev/null || { echo "SKIP: no bash"; exit 77; }
"$GLINT" generate bash >"$SCRATCH/glint" || exit
cd "$SCRATCH" && mkdir folder && touch folder/x a.glint b.glint 'with space.glint' || exit 1
cat >ask <<'END'
. ./glint
complete -p glint
# Prints the completions that are offered after the line.
ask() {
    COMP_LINE=$1 COMP_POINT=${#1}
    _glint glint
    printf '%s|' "$1"
    ((${#COMPREPLY[@]} == 0)) || printf ' <%s>' "${COMPREPLY[@]}"
    echo
}
ask 'glint '
ask 'glint re'
ask 'glint --v'
ask 'glint query --f'
ask 'glint diff -'
ask 'glint query --format '
ask 'glint query --format j'
ask 'glint query --format=ta'
ask 'glint query -F '
ask 'glint report a'
ask 'glint query --format json b'
ask 'glint diff a.glint b'
ask 'glint record --analyses '
ask 'glint record -a objects,el'
ask 'glint record --analyses=objects,elements,c'
ask 'glint run --device sim'
ask 'glint run --device sim:a'
ask 'glint run --device=g'
ask 'glint record --cache f'
ask 'glint check --fail-on memory-leak,un'
ask 'glint check --baseline w'
ask 'glint run -- ./gl'
ask 'glint run -d sim ./prog a'
ask 'glint run ./prog --dev'
ask 'glint doctor '
ask 'glint frobnicate --'
END
bash --norc --noprofile ask
