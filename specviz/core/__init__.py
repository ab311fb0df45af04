"""What the parts say to each other: events, options, errors, the Source protocol, safe text."""
