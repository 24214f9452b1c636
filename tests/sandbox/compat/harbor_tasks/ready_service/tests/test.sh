#!/bin/bash
if [ "$(cat /app/word 2>/dev/null)" = fig ] && python3 /srv/ask.py /index.txt > /dev/null; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
