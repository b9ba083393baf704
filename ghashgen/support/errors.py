"""The only exception meant for users."""


class GhashgenError(Exception):
    """A refusal: the cause in one line, and the remedy in one line.

    The command line prints both and exits with status 2. Nothing has been written then.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        # Both, so that the exception survives pickling from a worker process.
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause


def require(holds: object, cause: str, remedy: str) -> None:
    """Refuse unless something holds.

    Raises:
        GhashgenError: it does not.
    """
    if not holds:
        raise GhashgenError(cause, remedy)
