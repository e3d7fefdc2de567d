unset GLINT_SIM_STRICT
GLINT_SIM_DEVICE=rtx3090 "$GLINT" run --device sim -- env | grep '^GLINT_SIM_'
