"""What config and tokenizer say: can this pair run?"""
