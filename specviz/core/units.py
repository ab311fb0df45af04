"""Bytes and seconds in readable units."""


def bytes_in_words(n: float) -> str:
    """548 MB, 3.1 GB."""
    value, unit = float(n), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if value < 9.95 and unit != "bytes" else f"{value:.0f} {unit}"


def seconds_in_words(seconds: float) -> str:
    """40 s, 8 min, 2 h 05 min."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
