"""What the pages say about the speed of AES-CTR."""

from ghashgen.lab.speeds.core import Columns, Speed
from ghashgen.lab.standing import CTR_COLUMNS, ctr_rows
from ghashgen.records.core import CRYPT

SPEED = Speed(
    function="AES-CTR",
    place=3,
    mode=CRYPT,
    chained="",
    keys=(128, 256),
    heading="Speed of AES-CTR",
    drawn=256,
    chart="AES-{key}-CTR",
    file="speed-ctr{key}",
    alt="AES-256-CTR",
    tables=(Columns(CTR_COLUMNS, ctr_rows),),
    calls="AES-CTR encrypts texts, each from a counter block of its own.",
    legend=(
        "**AES-CTR**: texts back to back, each from a counter block of its own. Rows are as for "
        "AES-GCM.",
    ),
)
"""The family on the pages."""
