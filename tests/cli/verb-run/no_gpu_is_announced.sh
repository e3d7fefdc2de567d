# Without a GPU the program runs on the simulated GPU, and one line on stderr says so, unless --device sim or --quiet
# is given.
[ ! -e /dev/nvidiactl ] || { echo "SKIP: there is a GPU"; exit 77; }
cd "$SCRATCH" || exit 1
said() {
    "$GLINT" "$@" >out 2>err
    echo "$1: status $?, $(cat out), said: $(grep 'simulated' err)"
}
said run -- echo done
said run --quiet -- echo done
said run --device sim -- echo done
said record -- echo done
said record -q -- echo done
said fix -- echo done
said fix -q -- echo done
