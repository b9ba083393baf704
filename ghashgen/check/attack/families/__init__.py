"""How what claims to be a kernel is run, one family a module, which the family names (`trials`)."""
