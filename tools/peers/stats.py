"""Medians, and ratios of what was measured side by side."""
import statistics


def median(values):
    """The median of the values that are there, or None."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def ratio(ours, theirs):
    """How many times as fast ours is: the median over the rounds of theirs / ours.

    Each round is a pair measured within seconds, so that what slows the machine down for a while slows down both. A
    round that lacks one of the two does not count.
    """
    return median([b / a for a, b in zip(ours, theirs) if a and b])


def total(parts):
    """Sums per round over several lists of rounds; a round that lacks a part has no sum."""
    return [None if None in of_round else sum(of_round) for of_round in zip(*parts)]


def repetitions(expected_ms, seconds, least=3, most=200):
    """How many runs of expected_ms fill the time."""
    if not expected_ms:
        return least
    return max(least, min(most, round(1e3 * seconds / expected_ms)))
