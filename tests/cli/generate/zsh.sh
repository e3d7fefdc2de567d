# The completions work in a separate zsh with a terminal; what its completion adds is written to a file.
command -v zsh >/dev/null || { echo "SKIP: no zsh"; exit 77; }
zsh -fc 'zmodload zsh/zpty && autoload -Uz +X compinit' >/dev/null 2>&1 ||
    { echo "SKIP: this zsh lacks zpty or compinit"; exit 77; }
"$GLINT" generate zsh >"$SCRATCH/_glint" || exit
cd "$SCRATCH" && touch a.glint && ln -s "$GLINT" glint || exit 1
cat >inner <<'END'
fpath=($PWD $fpath) PATH=$PWD:$PATH
autoload -Uz compinit
compinit -D -u
zstyle ':completion:*' list-prompt ''
LISTMAX=1000
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} != *-[OAD]\ * && " $* " != *" -[OAD] "* ]]; then
        builtin compadd -A hits "$@"
        print -rl -- $hits >>offers
    fi
    builtin compadd "$@"
}
bindkey '^I' list-choices
finish() { print done >>offers; zle send-break }
zle -N finish
bindkey '^X' finish
print ready >offers
END
cat >ask <<'END'
zmodload zsh/zpty
wait_for() {
    local i
    for ((i = 0; i < 400; i++)); do
        grep -q "^$1$" offers 2>/dev/null && return
        sleep 0.02
    done
    print "no $1 from the inner shell"
    exit 1
}
zpty inner 'TERM=dumb zsh -f -i'
zpty -w inner 'source ./inner'
wait_for ready
ask() {
    : >offers
    zpty -w -n inner "$1"$'\t'$'\x18'
    wait_for done
    print -r -- "$1| $(grep -v '^done$' offers | sort -u | tr '\n' ' ')"
}
ask 'glint re'
ask 'glint query --for'
ask 'glint query --format '
ask 'glint query --format=j'
ask 'glint query -F '
ask 'glint diff a.'
ask 'glint record --analyses objects,el'
ask 'glint run --device sim'
ask 'glint check --base'
zpty -d inner
END
timeout 60 zsh -f ask
