"""Which variables a term is made of: a question about its definition, not about its value."""

from ghashgen.verify.core.terms import DATA, SECRET, TABLE, Term


class Variables:
    """Which variables occur in a term, table entries aside."""

    def __init__(self) -> None:
        self._known: dict[Term, frozenset[str]] = {}

    def of(self, term: Term) -> frozenset[str]:
        """Return the names of the variables that the term is made of, whatever its form says."""
        known = self._known
        if term in known:
            return known[term]
        stack = [term]
        while stack:
            top = stack[-1]
            parts = [part for part in top.args if isinstance(part, Term)]
            missing = [part for part in parts if part not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top.op == "var":
                known[top] = frozenset({str(top.args[0])})
            else:
                known[top] = frozenset().union(*(known[part] for part in parts))
        return known[term]

    def blocks(self, term: Term) -> frozenset[int] | None:
        """Return the blocks that a term is a function of, None if something else enters it.

        What else may enter is the table; not a state, not bytes of a block that is not padded yet,
        nothing unknown.
        """
        if not term.deps & DATA or term.deps & ~(DATA | TABLE | SECRET):
            return None
        names = self.of(term)
        if any(name[0] != "C" for name in names):
            return None
        return frozenset(int(name[1:]) for name in names)
