"""Real web applications as places for tasks: declared, installed by launch/websites.sh, started in a computer each."""
