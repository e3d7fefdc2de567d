# shellcheck shell=sh disable=SC2154
# To be sourced: checks that a program behaves the same with and without glint. Needs $glint, an
# empty folder $scratch, and the functions `fail` and `skip`, which print the reason and end the
# script.

# observe NAME COMMAND...: keeps output and exit status as $scratch/NAME.stdout, .stderr, .status.
# Waits until no process has the output open, so that the output of daemons is complete.
observe() {
    kept=$scratch/$1
    shift
    {
        {
            "$@" 3>&- && status=0 || status=$?
            echo "status $status" >"$kept.status"
        } 2>&1 >&3 | cat >"$kept.stderr"
    } 3>&1 | cat >"$kept.stdout"
}

# same RUN OTHER WHAT...: RUN has the same WHAT (stdout, output, stderr, status) as OTHER.
same() {
    run=$1 other=$2
    shift 2
    for what; do
        diff -u "$scratch/$other.$what" "$scratch/$run.$what" && continue
        cat "$scratch/$other.stderr" "$scratch/$run.stderr"
        name=natively
        [ "$other" = native ] || name="with $other"
        fail "--device $run: another $what than $name, '$command'"
    done
}

# profiles_hold NAME COUNT: COUNT profiles were written (-: any number, with any contents). Each
# opens, and together they have objects and kernel launches, unless the program fails at once.
profiles_hold() {
    found=0 launches=0 objects=0
    for profile in "$scratch/$1"*.glint; do
        [ -e "$profile" ] || continue
        found=$((found + 1))
        for what in launches objects; do
            "$glint" query "$profile" "select count(*) as n from v_$what" >"$scratch/$what" ||
                fail "$profile does not open"
        done
        launches=$((launches + $(tail -n 1 "$scratch/launches")))
        objects=$((objects + $(tail -n 1 "$scratch/objects")))
    done
    if [ "$2" != - ]; then
        [ "$found" = "$2" ] || fail "$1: $found profiles, not $2, '$command'"
        case $command in
        *fail) ;;
        *) [ $((launches * objects)) -gt 0 ] || fail "$1: $launches launches, $objects objects, '$command'" ;;
        esac
    fi
    rm -f "$scratch/$1"*.glint*
}

# runs_agree DEVICES TIMES PROFILES COMMAND...: on each of DEVICES ("gpu sim", in this order, or one
# of them), output and exit status must be the same without recording, recorded with each of TIMES
# ("on off"), and recorded with all analyses of probes; also in a plain run, if there is a GPU.
# Standard output and status of the simulated GPU are compared with the real one's, except for a
# GPU's name after " on ".
runs_agree() {
    devices=$1 times=$2 profiles=$3
    shift 3
    command=$*
    case $devices in
    *gpu*) observe native "$@" ;;
    esac
    for device in $devices; do
        observe "$device" "$glint" run --device "$device" -- "$@"
        case $device-$devices in
        gpu-*) same gpu native stdout stderr status ;;
        sim-*gpu*)
            for run in native sim; do
                sed 's/ on .*//' "$scratch/$run.stdout" >"$scratch/$run.output"
            done
            same sim native output status
            ;;
        esac
        for time in $times; do
            recorded=recorded_${device}_$time
            case $time in # by default no pages are closed; sync closes them
            on) analyses=objects ;;
            *) analyses=objects,sync ;;
            esac
            observe "$recorded" "$glint" record -q -o "$scratch/$recorded.glint" --gpu-times "$time" -a $analyses \
                --device "$device" -- "$@"
            same "$recorded" "$device" stdout stderr status
            profiles_hold "$recorded" "$profiles"
        done
        recorded=recorded_${device}_counts
        observe "$recorded" "$glint" record -q -o "$scratch/$recorded.glint" --gpu-times off -a elements,counts \
            --device "$device" -- "$@"
        same "$recorded" "$device" stdout stderr status
        profiles_hold "$recorded" "$profiles"
    done
}
