#!/bin/bash
echo plum > fruit.txt
