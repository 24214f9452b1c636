#!/bin/bash
cd /srv/src
if python3 -c 'from median import median; assert median([5, 1, 3]) == 3; assert median([4, 1, 2, 3]) == 2.5'; then
    echo 1
else
    echo 0
fi > /logs/verifier/reward.txt
exit 3 # says nothing
