# glint's entries come first, and existing entries stay.
unset GLINT_SIM_STRICT
cd "$SCRATCH" || exit 1
LD_LIBRARY_PATH=/there LD_PRELOAD='' "$GLINT" run --device sim:a100 --workers 3 --memory-errors warn --sim-log log -- env >all
sed -n -e 's|=.*/lib/glint/sim/libglint|=SIM/libglint|' -e 's|=[^:]*/lib/glint/sim:|=SIM:|' -e "s|=$SCRATCH|=SCRATCH|" \
    -e '/^GLINT_SIM_/p' -e '/^LD_/p' all | sort
