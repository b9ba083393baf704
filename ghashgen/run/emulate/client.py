"""The client side: `Emulator` sends calls to a worker process and returns their results."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import Any

from ghashgen.run.emulate.calls import DEFAULT_BUDGET, Abi, Buffer, Call, Prepared, prepare
from ghashgen.run.emulate.image import Image, load_object, raw_image
from ghashgen.run.emulate.process import WorkerDiedError, WorkerFullError, WorkerProcess
from ghashgen.run.emulate.results import CallResult, result_of
from ghashgen.run.emulate.series import Series, TurnResult, prepare_series, turn_results
from ghashgen.support.errors import GhashgenError

_CALLS_A_FRAME = 64
_CPUID = raw_image(bytes.fromhex("89f8 89f1 0fa2 c3"))  # mov eax,edi; mov ecx,esi; cpuid; ret

# Intel SDM volume 2, CPUID: name -> (leaf, subleaf, register, bit).
FEATURES = {
    "sse2": (1, 0, "rdx", 26),
    "pclmulqdq": (1, 0, "rcx", 1),
    "ssse3": (1, 0, "rcx", 9),
    "sse4.1": (1, 0, "rcx", 19),
    "movbe": (1, 0, "rcx", 22),
    "aes": (1, 0, "rcx", 25),
    "osxsave": (1, 0, "rcx", 27),
    "avx": (1, 0, "rcx", 28),
    "bmi1": (7, 0, "rbx", 3),
    "avx2": (7, 0, "rbx", 5),
    "bmi2": (7, 0, "rbx", 8),
    "avx512f": (7, 0, "rbx", 16),
    "avx512dq": (7, 0, "rbx", 17),
    "avx512ifma": (7, 0, "rbx", 21),
    "avx512bw": (7, 0, "rbx", 30),
    "avx512vl": (7, 0, "rbx", 31),
    "avx512vbmi": (7, 0, "rcx", 1),
    "avx512vbmi2": (7, 0, "rcx", 6),
    "gfni": (7, 0, "rcx", 8),
    "vaes": (7, 0, "rcx", 9),
    "vpclmulqdq": (7, 0, "rcx", 10),
}


def _call_header(target: int, prepared: Prepared) -> dict[str, Any]:
    return {
        "target": target,
        "seed": prepared.call.seed,
        "budget": prepared.call.budget,
        "trace": prepared.call.trace,
        "rsp": prepared.rsp,
        "stack": len(prepared.stack),
        "buffers": [
            [s.index, s.base, s.length, s.pages_at, s.pages, s.writable]
            for s in prepared.spans.values()
        ],
    }


class Emulator(AbstractContextManager["Emulator"]):
    """A context manager around a worker process that emulates calls.

    The worker starts with the first call, and again if it died or ran out of guest memory.
    """

    def __init__(self) -> None:
        self._worker: WorkerProcess | None = None

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker; a later call starts a new one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def load(self, source: Path | bytes) -> Image:
        """Load an ELF64 relocatable object from a path or from bytes (see image.load_object)."""
        return load_object(source)

    def features(self) -> frozenset[str]:
        """The names in FEATURES that the emulated CPU reports through CPUID."""
        leaves = sorted({(leaf, sub) for leaf, sub, _, _ in FEATURES.values()})
        results = self.call_many(_CPUID, "code", [Call(args=leaf) for leaf in leaves])
        answers = dict(zip(leaves, results, strict=True))
        return frozenset(
            name
            for name, (leaf, sub, register, bit) in FEATURES.items()
            if answers[leaf, sub].after[register] >> bit & 1
        )

    def call(
        self,
        image: Image,
        symbol: str,
        args: Sequence[int | str] = (),
        *,
        buffers: Sequence[Buffer] = (),
        abi: Abi = "sysv",
        seed: int = 0,
        budget: int = DEFAULT_BUDGET,
        count: bool = False,
        trace: bool = False,
        registers: Mapping[str, int] | None = None,
    ) -> CallResult:
        """Call `symbol` once; the parameters are those of `Call`.

        Raises:
            GhashgenError: as `call_many`.
        """
        call = Call(args, buffers, abi, seed, budget, count, trace, registers or {})
        return self.call_many(image, symbol, [call])[0]

    def call_many(self, image: Image, symbol: str, calls: Iterable[Call]) -> list[CallResult]:
        """Call `symbol` once for each of `calls`, in order, each from the same initial memory.

        Raises:
            GhashgenError: the library is missing, the symbol or an argument is unknown, or the
            worker
                died twice on the same calls. A fault of the code is not an error but the result's
                outcome.
        """
        target = image.address_of(symbol)
        pending = [prepare(call) for call in calls]
        results: list[CallResult] = []
        for at in range(0, len(pending), _CALLS_A_FRAME):
            chunk = pending[at : at + _CALLS_A_FRAME]
            header = {
                "op": "calls",
                "calls": [_call_header(target, prepared) for prepared in chunk],
            }
            parts = b"".join(
                b"".join((prepared.block, prepared.stack, *prepared.contents.values()))
                for prepared in chunk
            )
            answer, payload = self._ask(image, header, parts)
            take = BytesIO(payload).read
            results += [
                result_of(image, prepared, run, take)
                for prepared, run in zip(chunk, answer["runs"], strict=True)
            ]
        return results

    def call_series(self, image: Image, symbol: str, series: Series) -> list[TurnResult]:
        """Call `symbol` for each piece of a series' buffers, turn by turn (see `series`).

        Raises:
            GhashgenError: as `call_many` or `prepare_series`.
        """
        prepared = prepare_series(series, image.address_of(symbol))
        answer, payload = self._ask(image, prepared.header, prepared.payload)
        return turn_results(prepared, answer, payload)

    def _ask(
        self, image: Image, header: Mapping[str, Any], payload: bytes
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request about an image; if this worker fails, to a new one."""
        words = ""
        for _ in range(2):
            worker = self._worker = self._worker or WorkerProcess()
            try:
                return worker.ask({**header, "image": worker.image_id(image)}, payload)
            except WorkerFullError:
                words = "it has no guest memory left"
            except WorkerDiedError:
                words = worker.last_words()
            except GhashgenError:
                self.close()
                raise
            self.close()
        raise GhashgenError(f"the emulator failed twice on the same calls: {words}", "split them")
