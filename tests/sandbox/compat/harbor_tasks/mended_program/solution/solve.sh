#!/bin/bash
cat > median.py <<'END'
def median(values: list[float]) -> float:
    """The middle of the values, or the mean of the two in the middle."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
END
