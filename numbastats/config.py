"""Defaults for device and workers: set for the process, within a ``with`` block, or by environment variables.

========================  =====================================  =========
variable                  values                                 default
========================  =====================================  =========
``NUMBASTATS_DEVICE``     ``auto``, ``cpu``, ``cuda``            ``auto``
``NUMBASTATS_WORKERS``    number of threads, ``-1`` for all      ``-1``
``NUMBASTATS_MESSAGES``   ``0``: no line on stderr when a first  ``1``
                          call compiles for over a second
``NUMBASTATS_CACHE``      ``0`` keeps compiled code in memory    ``1``
``NUMBASTATS_PACK``       ``0``: no machine code that came with  ``1``
                          the package is used
========================  =====================================  =========
"""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator
from typing import Any, Literal

from numbastats._core.checks import choice, is_integer
from numbastats._core.errors import names_ours
from numbastats._core.options import DEVICES, Device

__all__ = ["get", "set", "using"]


def __dir__():
    return sorted(__all__)


def _check(name, value):
    if name == "device":
        return choice("device", value, DEVICES)
    if name == "workers":
        if not is_integer(value) or (value < 1 and value != -1):
            raise ValueError(f"workers={value!r} is not a worker count; use a positive integer, or -1 for all cores")
        return int(value)
    if name == "messages":
        if not isinstance(value, bool):
            raise ValueError(f"messages={value!r} is neither True nor False")
        return value
    raise ValueError(f"unknown option {name!r}; the options are 'device', 'workers' and 'messages'")


def _from_environment():
    device = os.environ.get("NUMBASTATS_DEVICE") or "auto"  # an empty variable counts as none
    workers = os.environ.get("NUMBASTATS_WORKERS") or "-1"
    try:
        workers = int(workers)
    except ValueError:
        raise ValueError(f"NUMBASTATS_WORKERS={workers!r} is not an integer; use a positive one, or -1 for all cores") from None
    messages = os.environ.get("NUMBASTATS_MESSAGES", "1") != "0"
    try:
        return {"device": _check("device", device.lower()), "workers": _check("workers", workers), "messages": messages}
    except ValueError as error:
        raise ValueError(f"the environment variables NUMBASTATS_DEVICE and NUMBASTATS_WORKERS: {error}") from None


_process = _from_environment()
_local: contextvars.ContextVar[dict | None] = contextvars.ContextVar("numbastats_config", default=None)


def get(name: Literal["device", "workers", "messages"]) -> Any:
    """Return the option in force.

    Parameters
    ----------
    name : {"device", "workers", "messages"}

    Returns
    -------
    str, int or bool

    Raises
    ------
    ValueError
        For an unknown option.

    Examples
    --------
    >>> import numbastats as ns
    >>> with ns.config.using(workers=1):
    ...     ns.config.get("workers")
    1
    """
    local = _local.get()
    options = _process if local is None else local
    try:
        return options[name]
    except KeyError:
        return _check(name, None)


def _given(**options):
    """Those that are not None, checked."""
    return {name: _check(name, value) for name, value in options.items() if value is not None}


@names_ours
def set(*, device: Device = None, workers: int | None = None, messages: bool | None = None) -> None:
    """Set options for the whole process (``with using(...)`` blocks that are open keep their own).

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}, optional
        Where functions run when neither the call nor its inputs decide. None leaves an option as it is.
    workers : int, optional
        Threads of CPU calls; -1 for all cores.
    messages : bool, optional
        Whether a first call that compiles for more than a second says so on stderr.

    Raises
    ------
    ValueError
        For a value that is not among these.
    """
    _process.update(_given(device=device, workers=workers, messages=messages))


@names_ours
@contextlib.contextmanager
def using(*, device: Device = None, workers: int | None = None, messages: bool | None = None) -> Iterator[None]:
    """Context manager: options in force inside the ``with`` block, in this thread or task only.

    Parameters
    ----------
    device, workers, messages : optional
        As in `set`.

    Raises
    ------
    ValueError
        As `set`.

    Examples
    --------
    >>> import numbastats as ns
    >>> with ns.config.using(device="cpu", workers=1):
    ...     z = ns.quantile.ndtri(0.975)
    >>> round(float(z), 6)
    1.959964
    """
    checked = _given(device=device, workers=workers, messages=messages)
    token = _local.set({**(_local.get() or _process), **checked})
    try:
        yield
    finally:
        _local.reset(token)
