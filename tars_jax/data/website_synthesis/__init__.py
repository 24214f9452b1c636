"""Tasks on real websites: explored, composed, solved, verified and filtered. See README.md."""
