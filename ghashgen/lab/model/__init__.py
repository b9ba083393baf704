"""What peers' published GHASH loops cost by the port tables, beside ours: model, not measurement.

`loops` finds the loop bodies of a function in an object file, `count` makes the histogram of one,
`peers` reads the histograms that are stored in peers.toml, `rows` puts them through the model
beside the catalogue's own, `page` writes them into docs/model.md.
"""
