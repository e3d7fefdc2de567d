# In the opposite direction, better is worse and new is gone.
. ./sample
"$GLINT" diff new.glint old.glint
