"""The rooms of the package, from below."""

ROOMS = (
    "support", "algebra", "ir", "arch", "kernels", "cost", "compiler", "records", "choice",
    "output", "verify", "run", "check", "lab", "cli",
)  # fmt: skip
"""The folders of the package, from the ground up: each imports of itself and of those before it."""
