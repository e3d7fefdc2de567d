# What differs between two jobs, also of different sizes.
. ./sample
COLUMNS=110
"$GLINT" merge -o old.glint rank-*.glint || exit
mkdir new
"$write" new 6 200 double=4 kernels=5
"$GLINT" merge -o new.glint new/*.glint
"$GLINT" diff old.glint new.glint
"$GLINT" diff old.glint old.glint
"$GLINT" diff old.glint rank-00000.glint 2>&1
echo "status $?"
"$write" new 6 100 double=4 simulated=1
"$GLINT" merge -f -o new.glint new/*.glint
"$GLINT" diff old.glint new.glint
