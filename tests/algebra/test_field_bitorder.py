"""Blocks, elements and registers: known positions, round trips, and the product in both orders."""

import random

import pytest

from ghashgen.algebra.field import bitorder, gf2, gf128
from ghashgen.algebra.field.bitorder import Order

BLOCKS = [random.Random(seed).randbytes(16) for seed in range(40)]
ELEMENTS = [random.Random(seed).getrandbits(128) for seed in range(40)]
ORDERS = pytest.mark.parametrize("order", list(Order))


def reverse_bits_in_bytes(block: bytes) -> bytes:
    """The same bytes in the same order, each with its bit k moved to bit 7-k."""
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in block)


def test_leftmost_bit_of_a_block_is_the_coefficient_of_one() -> None:
    assert bitorder.element_from_block(b"\x80" + bytes(15)) == 1
    assert bitorder.element_from_block(b"\x01" + bytes(15)) == 1 << 7
    assert bitorder.element_from_block(b"\x00\x80" + bytes(14)) == 1 << 8
    assert bitorder.element_from_block(bytes(15) + b"\x01") == 1 << 127


def test_elements_are_the_bits_of_a_block_read_from_the_left() -> None:
    for block in BLOCKS:
        bits = "".join(f"{byte:08b}" for byte in block)
        assert bitorder.element_from_block(block) == int(bits[::-1], 2)
        assert bitorder.block_from_element(bitorder.element_from_block(block)) == block


def test_reflected_register_is_the_big_endian_load() -> None:
    for block in BLOCKS:
        register = bitorder.register_from_block(block, Order.REFLECTED)
        assert register == int.from_bytes(block, "big")
        element = bitorder.element_from_block(block)
        assert register == gf2.bit_reflect(element, 128)


def test_natural_register_is_the_little_endian_load_with_bits_in_bytes_reversed() -> None:
    for block in BLOCKS:
        register = bitorder.register_from_block(block, Order.NATURAL)
        assert register == int.from_bytes(reverse_bits_in_bytes(block), "little")
        assert register == bitorder.element_from_block(block)


@ORDERS
def test_conversions_round_trip(order: Order) -> None:
    for block, element in zip(BLOCKS, ELEMENTS, strict=True):
        register = bitorder.register_from_block(block, order)
        assert bitorder.block_from_register(register, order) == block
        register = bitorder.register_from_element(element, order)
        assert bitorder.element_from_register(register, order) == element
        assert bitorder.untwist(bitorder.twist(element, order), order) == element


@ORDERS
def test_each_bit_of_a_register_holds_one_coefficient(order: Order) -> None:
    for k in range(128):
        exponent = bitorder.exponent_of_bit(k, order)
        assert bitorder.exponent_of_bit(exponent, order) == k
        assert bitorder.register_from_element(1 << exponent, order) == 1 << k
        assert bitorder.element_from_register(1 << k, order) == 1 << exponent


def product_by_registers(a: int, b: int, order: Order) -> int:
    """The element a·b as a kernel forms it: registers, one carry-less product, one reduction."""
    product = gf2.clmul(
        bitorder.register_from_element(a, order),
        bitorder.register_from_element(bitorder.twist(b, order), order),
    )
    wide = gf2.bit_reflect(product, 256) if order is Order.REFLECTED else product
    return gf2.mod(wide, gf128.P)


@ORDERS
def test_twisted_key_makes_the_carryless_product_the_field_product(order: Order) -> None:
    for a, b in zip(ELEMENTS, reversed(ELEMENTS), strict=True):
        assert product_by_registers(a, b, order) == gf128.mul(a, b)


def test_a_wrong_bit_of_the_twist_spoils_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = ELEMENTS[:2]
    for bit in range(128):
        monkeypatch.setattr(bitorder, "X_INVERSE", gf128.X_INVERSE ^ (1 << bit))
        assert product_by_registers(a, b, Order.REFLECTED) != gf128.mul(a, b)
        assert bitorder.untwist(bitorder.twist(a, Order.REFLECTED), Order.REFLECTED) != a


def test_swapped_orders_spoil_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = ELEMENTS[:2]
    monkeypatch.setattr(bitorder, "register_from_element", lambda element, _order: element)
    assert product_by_registers(a, b, Order.NATURAL) == gf128.mul(a, b)
    assert product_by_registers(a, b, Order.REFLECTED) != gf128.mul(a, b)


def test_reflected_twist_is_the_shifted_register_of_the_2010_paper() -> None:
    for element in (*ELEMENTS, 0, 1, 2, 1 << 127):
        register = bitorder.register_from_element(element, Order.REFLECTED)
        top = register >> 127
        shifted = (register << 1) % (1 << 128) ^ top * 0xC2000000000000000000000000000001
        twisted = bitorder.twist(element, Order.REFLECTED)
        assert bitorder.register_from_element(twisted, Order.REFLECTED) == shifted


def test_refusals() -> None:
    for block in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            bitorder.element_from_block(block)
    for bad in (-1, 1 << 128):
        with pytest.raises(ValueError, match="128 bits"):
            bitorder.block_from_element(bad)
        for order in Order:
            with pytest.raises(ValueError, match="128 bits"):
                bitorder.register_from_element(bad, order)
            with pytest.raises(ValueError, match="128 bits"):
                bitorder.element_from_register(bad, order)
            with pytest.raises(ValueError, match="128 bits"):
                bitorder.twist(bad, order)
            with pytest.raises(ValueError, match="128 bits"):
                bitorder.untwist(bad, order)
