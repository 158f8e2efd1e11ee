"""For the rooms until they import from the new places: the names that were here, read and set where they are now."""

import importlib
import sys
import types

_PLACES = [
    importlib.import_module(f"numbastats._core.{name}")
    for name in ("launch", "elementwise", "kinds", "broadcast", "checks", "parallel")
]
_OLD = {
    "_device_kind": "device_kind",
    "_is_torch": "is_torch",
    "_numpy_dtype": "numpy_dtype",
    "_settle": "settle",
    "_torch_to_numpy": "torch_to_numpy",
}


class _Forwarding(types.ModuleType):
    def __getattr__(self, name):
        name = _OLD.get(name, name)
        for place in _PLACES:
            if name in vars(place) and vars(place)[name] not in _PLACES:
                return vars(place)[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name, value):
        places = [place for place in _PLACES if name in vars(place)]
        for place in places:
            setattr(place, name, value)
        if not places:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Forwarding
