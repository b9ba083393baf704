"""Counts with their nouns, and near names."""

from ghashgen.support.wording import choose_one, counted, did_you_mean, near


def test_one_is_singular() -> None:
    assert [counted(n, "kernel") for n in (0, 1, 2)] == ["0 kernels", "1 kernel", "2 kernels"]
    assert counted(1, "identity", "identities") == "1 identity"
    assert counted(7, "identity", "identities") == "7 identities"


def test_near_names_are_found_whatever_the_case() -> None:
    known = ("karatsuba", "schoolbook", "winograd", "k")
    assert near("Winogard", known) == ("winograd",)
    assert near("toom", known) == ()
    assert did_you_mean("toom", known, "see list") == "see list"
    assert did_you_mean("karatuba", known, "see list") == "did you mean karatsuba? see list"


def test_a_short_list_is_only_listed() -> None:
    assert choose_one("masm", ("nasm",)) == "choose one of nasm"
    known = ("avx", "avx2", "avx512", "sse")
    assert choose_one("avx51", known).startswith("did you mean avx512")
    assert choose_one("avx51", known).endswith("? choose one of avx, avx2, avx512, sse")
