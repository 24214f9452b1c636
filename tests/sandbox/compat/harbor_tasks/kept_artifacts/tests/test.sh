#!/bin/bash
if [ -s /app/report.txt ] && [ -s /app/out/deep/one ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
