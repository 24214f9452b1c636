"""Tasks in a computer: a home folder, what is asked for, and a verdict from what lies there afterwards."""
