#!/bin/bash
mkdir -p /app/box
