# A list of simulated GPUs is passed on as it was given; a wrong one is refused.
"$GLINT" run --device 'sim:h200*2,a100' -- env | grep '^GLINT_SIM_DEVICE='
for wrong in 'sim:h200*0' 'sim:h200*33' 'sim:h200,' 'sim:h200*' 'sim:*2' 'sim:h200*2*2'; do
    "$GLINT" run --device "$wrong" -- env
    echo "$?"
done 2>&1
