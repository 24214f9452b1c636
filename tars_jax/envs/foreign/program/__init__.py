"""Program that another Python runs: its modules import nothing of ours."""
