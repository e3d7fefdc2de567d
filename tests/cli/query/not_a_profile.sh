"$GLINT" query help.sh 'SELECT 1'
"$GLINT" query . 'SELECT 1'
