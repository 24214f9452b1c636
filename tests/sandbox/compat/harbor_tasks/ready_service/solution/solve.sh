#!/bin/bash
python3 /srv/ask.py /index.txt | grep -o 'fig' > word
