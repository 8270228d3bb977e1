"""Make calls at once in threads, so that an interruption ends all of them: ``Together``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

AtOnce = Callable[[Sequence[Callable[[], None]]], None]
"""Makes calls, and returns when all of them have returned."""
_LOOK_S = 0.1
"""Between two looks whether calls that were ended have returned."""


@dataclass(frozen=True)
class Together:
    """Makes calls in threads.

    Attributes:
        most: How many at once; the others wait.
        end: Lets the calls that run return soon, because this process is interrupted; may be called repeatedly.
    """

    most: int
    end: Callable[[], object]

    def __call__(self, calls: Sequence[Callable[[], None]]) -> None:
        """Make the calls, and raise what one of them raised; none is running any more then."""
        with ThreadPoolExecutor(self.most) as pool:
            made = [pool.submit(call) for call in calls]
            try:
                wait(made, return_when=FIRST_EXCEPTION)
                for each in made:
                    if each.done():
                        each.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                # To wait for a call that was cancelled in the queue would never end.
                begun = [each for each in made if not each.cancelled()]
                while wait(begun, timeout=_LOOK_S).not_done:
                    self.end()
                raise


IN_TURN = Together(1, lambda: None)
"""Makes calls one after the other; an interruption waits for the one that runs."""
