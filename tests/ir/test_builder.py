"""What the builder refuses to record."""

import pytest

from ghashgen.ir.builder import Builder


def test_a_label_twice_is_refused() -> None:
    b = Builder("toy", ())
    b.label("rest")
    with b.part("tail"):
        b.label("rest")
        with pytest.raises(ValueError, match="two blocks at the label tail_rest"):
            b.label("rest")
    with pytest.raises(ValueError, match="two blocks at the label rest"):
        b.label("rest")
    with pytest.raises(ValueError, match="two blocks at the label loop"), b.loop("loop"):
        b.label("loop")
