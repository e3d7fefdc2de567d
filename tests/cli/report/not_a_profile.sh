"$GLINT" report help.sh
status=$?
"$GLINT" report .
exit $status
