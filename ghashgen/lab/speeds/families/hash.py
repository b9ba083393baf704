"""What the pages say about the speed of GHASH."""

from ghashgen.lab.speeds.core import Columns, Speed
from ghashgen.lab.standing import LONG_COLUMNS, long_rows

SPEED = Speed(
    function="GHASH",
    place=2,
    mode="throughput",
    chained="latency",
    keys=(0,),
    heading="Speed",
    drawn=0,
    chart="GHASH",
    file="speed-ghash",
    alt="GHASH",
    tables=(Columns(LONG_COLUMNS, long_rows),),
    legend=(
        "**GCM message**: the ratio for three calls of GHASH: AAD of 12 bytes, the message, the "
        "lengths.",
    ),
)
"""The family on the pages."""
