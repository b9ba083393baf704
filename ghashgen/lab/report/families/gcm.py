"""The report page of AES-GCM kernels."""

from ghashgen.lab.report.topics import Topic

TOPIC = Topic(
    name="gcm",
    page="report-gcm.html",
    prefix="gcm-",
    title="AES-GCM",
    mode="seal",
    way="messages sealed back to back, 12 bytes of AAD each",
    others=(
        ("open", "opened"),
        ("seal-latency", "sealed, chained"),
        ("open-latency", "opened, chained"),
        ("text", "the text alone"),
        ("imix", "IMIX, sealed"),
        ("pieces-1k", "sealed in pieces of 1 KiB"),
        ("open-pieces-1k", "opened in pieces of 1 KiB"),
        ("seal-aad-null", "sealed, AAD null"),
        ("seal-edge", "sealed, at the end of mapped memory"),
        ("open-edge", "opened, at the end of mapped memory"),
    ),
    alike=(("key", 128),),
    proved="A certificate says what holds at the head of each loop. The rules check it instruction "
    "by instruction, with the lengths unknown.",
)
"""The page."""
