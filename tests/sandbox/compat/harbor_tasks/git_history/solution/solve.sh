#!/bin/bash
git checkout -q HEAD~1 -- list
git commit -q -m back
