#!/bin/bash
mkdir -p out/deep
echo whole > report.txt
echo 1 > out/deep/one
echo 2 > out/two.tmp
ln -s /etc/passwd out/link
mkfifo out/pipe
echo kept > /logs/artifacts/kept
