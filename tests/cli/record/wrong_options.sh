"$GLINT" record
echo "status $?"
"$GLINT" record --gpu-times maybe -- true
echo "status $?"
