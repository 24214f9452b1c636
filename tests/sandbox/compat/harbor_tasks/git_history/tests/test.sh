#!/bin/bash
cd /repo
if [ "$(git show HEAD:list | tr '\n' ' ')" = 'one two ' ] && [ "$(git rev-list --count HEAD)" = 4 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
