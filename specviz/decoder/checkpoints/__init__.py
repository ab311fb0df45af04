"""Where the files of a model are, and how they are downloaded; no torch."""
