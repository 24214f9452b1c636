#!/bin/bash
[ "$PWD" = /data ] && echo "$WORD" > "$PLACE"
