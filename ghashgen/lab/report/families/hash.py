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
    proved="A certificate says what holds at the head of the loop of update. The rules check it "
    "instruction by instruction, with the length unknown.",
)
"""The page."""
