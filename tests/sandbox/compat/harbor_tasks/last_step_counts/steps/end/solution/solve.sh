#!/bin/bash
echo b > /app/end
