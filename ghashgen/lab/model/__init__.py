"""The cost of peers' published GHASH loops and ours by the port tables: model, not measurement.

`loops` finds the loop bodies of a function in an object file. `count` makes the histogram of one.
`peers` reads the histograms stored in peers.toml. `rows` runs them through the model beside the
catalogue's own. `page` writes them into docs/model.md.
"""
