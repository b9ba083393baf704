"""What a compact kernel's `open` does in the place of its four functions (`parts.ways`).

Functions of a text without a message have its first parameters: ctx, and then the counter, x, in,
out and len where a message has iv, iv_len, aad, aad_len and in.
"""

from functools import partial

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import Label, Mem, VReg
from ghashgen.kernels.aes.cipher import RoundKeys
from ghashgen.kernels.aes.counters import Counters
from ghashgen.kernels.gcm.parts.compact import crypt_text
from ghashgen.kernels.gcm.parts.compact_rest import absorbed
from ghashgen.kernels.gcm.parts.lengths import length_block
from ghashgen.kernels.gcm.parts.message import Message
from ghashgen.kernels.gcm.parts.params import DONE
from ghashgen.kernels.gcm.parts.start import first_counter
from ghashgen.kernels.gcm.parts.tag import add_mask, keep_mask
from ghashgen.kernels.gcm.parts.text import Text
from ghashgen.kernels.gcm.parts.ways import Way
from ghashgen.kernels.hash.parts.interface import load_block, store_block


def compact(b: Builder, message: Message, tag: VReg, tag_length: VReg, way: Way) -> VReg:
    """Record the text with what is around it; return the right tag if one was given."""
    kernel, context = message.kernel, message.context
    _, counter, x, *text = b.params[:6]
    b.label("begin")
    with b.part("iv"):
        J0 = first_counter(b, kernel, context, message.iv, message.iv_length)
    keep_mask(b, kernel, context, J0)
    counters = Counters(b, kernel, message.in_every_lane(J0), first=1)
    with b.part("aad"):
        X = absorbed(b, kernel, context, message.aad, b.gpr("gpr_copy", message.aad_length))
    left, out = b.gpr("gpr_copy", message.length), b.gpr("gpr_copy", message.out)
    b.emit("jump", Label("crypt"))
    b.label("text")
    b.assign(X, load_block(b, kernel.hash, x, name="X"))
    counters.restart(Mem(base=counter))
    # The registers of the tag hold what stays until the end.
    for to, given in zip((left, message.source, out), (text[2], text[0], text[1]), strict=True):
        b.assign(to, given)
    b.assign(tag, x)
    b.assign(tag_length, counter)
    b.label("crypt")
    keys = RoundKeys(b, kernel, context)
    lengths = partial(length_block, b, kernel, message.aad_length, message.length)
    place = Text(b, kernel, context, keys, message.source, out, left, counters)
    crypt_text(place, X, way, lengths)
    way.texts("text_done")
    wanted = add_mask(b, kernel, X)
    way.decrypts("given")
    b.store(Mem(base=tag), wanted, "tag")
    b.give(DONE)
    b.label("text_done")
    counters.store(Mem(base=tag_length))
    store_block(b, kernel.hash, tag, X)
    b.give(DONE)
    b.label("given")
    return wanted
