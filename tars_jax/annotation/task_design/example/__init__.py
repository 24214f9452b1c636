"""An example: task graphs of a website and two programs of our desktop, and a table of these applications."""

from pathlib import Path

GRAPHS = Path(__file__).parent
APPLICATIONS = GRAPHS / "applications.csv"
