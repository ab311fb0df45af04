"""What configurations and tokenizers show: can this pair run, and where?"""
