# SPDX-License-Identifier: Apache-2.0
# For scripts that run several programs, some at the same time: bench/requests/run and bench/caches/run. Uses $scratch, a
# folder, and keeps the names of all programs that have not failed in $programs. Sourced, not run.
programs=''

# add SOURCE: adds a program to $programs. Its name is that of its source, or of the folder of kernels.cu.
add() {
    case $1 in
    */kernels.cu) name=$(basename "$(dirname "$1")") ;;
    *) name=$(basename "$1" .cu) ;;
    esac
    echo "$1" >"$scratch/$name.source"
    programs="$programs $name"
}

# A program that fails is left out of what follows, and fails the script at its end.
broken=''

# attempt COMMAND NAME: runs the command, and notes that it succeeded. What it prints is kept.
attempt() {
    rm -f "$scratch/$2.fine"
    "$1" "$2" >"$scratch/$2.said" 2>&1
    : >"$scratch/$2.fine"
}

# each AT_ONCE COMMAND: attempts the command for all programs, so many at a time. Prints what those that failed said.
each() {
    running=0
    for name in $programs; do
        attempt "$2" "$name" & # also if it is the only one, so that its failure is not that of the script
        running=$((running + 1))
        [ $((running % $1)) != 0 ] || wait
        [ ! -e "$scratch/denied" ] || skip "ncu may not read the GPU's counters (ERR_NVGPUCTRPERM)"
    done
    wait
    fine=''
    for name in $programs; do
        if [ -e "$scratch/$name.fine" ]; then
            fine="$fine $name"
        else
            cat "$scratch/$name.said"
            broken="$broken $name"
        fi
    done
    programs=$fine
}
at_once=$(nproc)
[ "$at_once" -le 8 ] || at_once=8
