"""The one exception that a user is meant to see."""


class GhashgenError(Exception):
    """A refusal: the cause in one line, and the remedy in one line.

    The command line prints both and exits with status 2; nothing has been written by then.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        # Both, so that the exception survives the way back from a worker process.
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause
