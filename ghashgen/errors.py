"""The one exception that a user is meant to see."""


class GhashgenError(Exception):
    """A refusal: the cause in one line, and the remedy in one line.

    The command line prints both and exits with status 2; nothing has been written by then.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause}; {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy
