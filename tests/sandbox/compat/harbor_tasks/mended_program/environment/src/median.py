def median(values: list[float]) -> float:
    """The middle of the values, or the mean of the two in the middle."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
