#!/bin/bash
if [ "$(cat /app/fruit.txt 2>/dev/null)" = plum ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
