#!/bin/bash
python3 probe.py > answer
