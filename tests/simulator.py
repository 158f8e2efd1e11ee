"""Blocks of Numba's CUDA simulator, run without threads that fight for the interpreter.

The simulator starts a Python thread for each thread of a block at once and polls them all. A barrier then costs 0.8 ms for each
thread, and two that arrive together at a shared array get an array each, of which the others see one.
"""

from __future__ import annotations

import os
import threading

import numpy as np
from numba.cuda.simulator import kernel

__all__ = ["Block"]

_idle = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork


def _closed():
    lock = threading.Lock()
    lock.acquire()
    return lock


class _Worker(kernel.BlockThread):
    """A thread that runs one simulated thread after the other, until one stops at a barrier."""

    def __init__(self, block):
        super().__init__(None, block, (0, 0, 0), (0, 0, 0), False)
        self.turn = _closed()
        self.start()

    def run(self):
        while True:
            self.turn.acquire()
            block = self._manager
            for self.thread_id, self.threadIdx in block.waiting:
                self.blockIdx = block.index
                block.attempt()
            self._manager = None
            _idle.append(self)
            block.back.release()

    def syncthreads(self):
        block = self._manager
        block.stopped.append(self)
        block.back.release()
        self.turn.acquire()
        if block.error is not None:
            raise RuntimeError("another thread of the block has failed")


class Block(kernel.BlockManager):
    """Runs the threads of a block one at a time in the order of their numbers, each to its next barrier or its end."""

    def run(self, grid_point, *args):
        nx, ny, _ = self._block_dim
        self.index, self.args, self.back, self.error = kernel.Dim3(*grid_point), args, _closed(), None
        self.waiting = ((x + nx * (y + ny * z), kernel.Dim3(x, y, z)) for x, y, z in np.ndindex(*self._block_dim))
        self.stopped = []
        before = -1
        while len(self.stopped) != before:  # a worker that stops nowhere has run the rest of them
            before = len(self.stopped)
            worker = _idle.pop() if _idle else _Worker(self)
            worker._manager = self
            self._continue(worker)
        while self.stopped:
            stopped, self.stopped = self.stopped, []
            for worker in stopped:
                self._continue(worker)
        if self.error is not None:
            raise self.error

    def _continue(self, worker):
        worker.turn.release()
        self.back.acquire()

    def attempt(self):
        """Run the current simulated thread; after a failure the others end at their barriers, or do not begin."""
        try:
            with np.errstate(divide="raise" if self._debug else "warn"):
                self._f(*self.args)
        except Exception as error:
            if self.error is None:
                worker = threading.current_thread()
                error.add_note(f"in thread {worker.threadIdx} of block {worker.blockIdx}")
                self.error = error
                self.waiting.close()


kernel.BlockManager = Block
