#!/bin/bash
seq 5 > /app/box/numbers
