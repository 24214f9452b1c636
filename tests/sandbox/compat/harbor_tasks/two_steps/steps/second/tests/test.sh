#!/bin/bash
if diff <(seq 5) /app/box/numbers > /dev/null; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
