cd "$SCRATCH" && echo 'int main(void) { return 0; }' >main.c
"$GLINT" ptx main.c
