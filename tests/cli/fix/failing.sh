# If the GPU fails after its wait was left out and no call reports it to the program, glint reports it at the end.
. ./sample
export GLINT_SIM_DELAY_US=150000 # far more than the program takes from the launch to its end
"$GLINT" record -q -a objects,sync -o f.glint --device sim -- "$wasteful" steps=0 fails=bad
fix -p f.glint --only checking-sync -- "$wasteful" steps=0 fails=bad
touch bad
"$GLINT" run --device sim -- "$wasteful" steps=0 fails=bad
echo "natively: $?"
fix -p f.glint --only checking-sync -- "$wasteful" steps=0 fails=bad
fix -p f.glint --verify -- "$wasteful" steps=0 fails=bad
