"""A pair as `specviz check` reads it."""

from specviz.core.options import PairOptions
from specviz.decoder.checkpoints.hub import Locator, PairLocations
from specviz.decoder.pairing.compatibility import PairFacts, pair_files, with_tokenizers


def read_pair(options: PairOptions, locations: PairLocations | None = None) -> PairFacts:
    """Check a pair, locating its models first unless ``locations`` are passed. Raises SpecvizError where a model cannot
    be read or is not a decoder; problems of the pair are in ``findings``."""
    return with_tokenizers(*pair_files(options, locations or Locator(options, lambda _: None).locate_pair()))
