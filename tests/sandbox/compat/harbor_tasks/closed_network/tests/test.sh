#!/bin/bash
if grep -q '^closed 101$' /app/answer; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
