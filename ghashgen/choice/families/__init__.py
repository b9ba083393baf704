"""The choices that each family offers, one file for each; `registry` finds them."""
