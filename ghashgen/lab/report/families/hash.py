"""The report page of GHASH kernels."""

from ghashgen.lab.report.topics import Topic

TOPIC = Topic(
    name="hash",
    page="report.html",
    prefix="",
    title="GHASH",
    mode="throughput",
    way="messages back to back",
    others=(
        ("latency", "calls chained"),
        ("gcm", "whole GCM messages"),
        ("edge", "at the end of memory"),
    ),
    alike=(("op", "ghash"),),
    proved="The function update is followed instruction by instruction for every length around the "
    "group; longer messages follow by induction on the loop.",
)
"""The page."""
