"""What our HTTP servers share. See README.md."""
