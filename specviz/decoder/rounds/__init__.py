"""One round: draft, verify, accept, resample, commit, record."""
