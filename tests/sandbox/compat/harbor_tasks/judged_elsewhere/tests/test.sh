#!/bin/bash
# In a computer of its own: what the agent has left comes as artifacts.
if [ "$(wc -l < /app/poem.txt)" = 3 ] && [ "$(cat /logs/artifacts/lines)" = 3 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
