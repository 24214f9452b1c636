#!/bin/bash
printf 'plum\nblossom\nfalls\n' > poem.txt
