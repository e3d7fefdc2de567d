# The exit status is that of the program, also if it is killed, and with arguments that look like glint's options.
for device in sim gpu; do
    "$GLINT" run --device $device -- sh -c 'exit 7'
    echo "$?"
    "$GLINT" run --device $device sh -c 'kill -TERM $$'
    echo "$?"
    "$GLINT" run --device $device echo --device none
done
