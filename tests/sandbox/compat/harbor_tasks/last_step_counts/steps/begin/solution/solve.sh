#!/bin/bash
echo a > /app/begin
