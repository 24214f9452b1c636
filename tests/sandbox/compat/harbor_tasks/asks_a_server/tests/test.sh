#!/bin/bash
if [ "$(cat /app/day 2>/dev/null)" = Sunday ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
