"""The parts that AES-GCM functions are built from: the text, groups, endings, the tag."""
