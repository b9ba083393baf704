"""The report page of AES-CTR kernels."""

from ghashgen.lab.report.topics import Topic

TOPIC = Topic(
    name="ctr",
    page="report-ctr.html",
    prefix="ctr-",
    title="AES-CTR",
    mode="crypt",
    way="texts back to back, each from a counter block of its own",
    others=(),
    alike=(),
    by=("key", "key size"),
    proved="A certificate says what holds at the head of the loop of crypt. The rules check it "
    "instruction by instruction, with the length unknown.",
)
"""The page."""
