"""pynbody.load("run.nb", frame=-1) opens particle streams after `import nb.pynbody`.

All bodies are of the family dm.  Arrays are loaded when they are asked for; id is iord and pot is phi there.  The units are
those of the stream unless they are given: units=("km s^-1", "kpc", "1e10 Msol"), as pynbody has them.
"""
from __future__ import annotations

import os
from typing import Any, Optional

from pynbody import chunk, family
from pynbody.snapshot import SimSnap
from pynbody.units import Unit

from .stream import MAGIC, read

NAMES = {"id": "iord", "pot": "phi"}


class NbSnap(SimSnap):  # type: ignore[misc]
    """One frame of a particle stream."""

    def __init__(self, filename: Any, take: Any = None, frame: int = -1, units: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._filename = os.fspath(filename)
        self._frame = read(self._filename)[frame]
        self._columns = {NAMES.get(name, name): name for name, c in self._frame.columns.items()
                         if c.table == "particle" and c.array.dtype.kind in "biuf"}
        self.partial_load = take is not None
        self._load_control = chunk.LoadControl({family.dm: slice(0, self._frame.n)}, 1 << 20, take)
        self._family_slice = self._load_control.mem_family_slice
        self._num_particles = self._load_control.mem_num_particles
        self._file_units_system = [Unit(u) for u in units]
        self.properties["time"] = self._frame.time
        for key, value in self._frame.attributes.items():
            self.properties.setdefault(key, value)
        self._decorate()

    def loadable_keys(self, fam: Optional[Any] = None) -> list[str]:
        return list(self._columns)

    def _load_array(self, array_name: str, fam: Optional[Any] = None) -> None:
        if fam is not None or array_name not in self._columns:
            raise OSError("No such array on disk")
        name = self._columns[array_name]
        column, data = self._frame.columns[name], self._frame[name]
        self._create_array(array_name, ndim=column.components, dtype=data.dtype)
        array = self[array_name]
        for count, in_buffer, in_memory in self._load_control.iterate([family.dm], [family.dm]):
            block, data = data[:count], data[count:]
            if in_memory is not None:
                array[in_memory] = block[in_buffer]
        if self._file_units_system:
            array.set_default_units(quiet=True)

    @classmethod
    def _can_load(cls, filename: Any) -> bool:
        try:
            with open(filename, "rb") as file:
                return file.read(8) == MAGIC
        except (OSError, TypeError):
            return False
