#!/bin/bash
if [ "$(cat /data/word 2>/dev/null)" = "$WANTED" ] && [ -z "$WORD" ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
