"""yt.load("run.nb", frame=-1) opens particle streams: importing this registers the format.

yt 4.2 and later imports it where nb is installed by pip; before that, `import nb.yt` does it.  The units of the stream are yt's
code units; what they are is an argument, such as length_unit=(1, "kpc"), as of yt.load_particles, which gets all arguments
that are not frame.  The box is that of the bodies unless bbox is given.
"""
from __future__ import annotations

import re
from typing import Any

import numpy as np
from yt.data_objects.static_output import Dataset
from yt.loaders import load_particles

from .frame import Frame
from .stream import MAGIC, read

UNITS = {"length": "code_length", "mass": "code_mass", "time": "code_time", "velocity": "code_velocity",
         "acceleration": "code_velocity/code_time"}
NAMES = {"id": "particle_index", "mass": "particle_mass", "pos": "particle_position", "vel": "particle_velocity"}


def yt_unit(unit: str) -> str:
    """A unit of a column, such as "velocity^2", as yt writes it; dimensionless if it is not made of those of UNITS."""
    if not all(word in UNITS for word in re.findall("[A-Za-z_]+", unit)):
        return ""
    return re.sub("[a-z]+", lambda m: "(" + UNITS[m[0]] + ")", unit.replace("^", "**").replace(" ", "*"))


def fields(frame: Frame) -> dict[str, tuple[np.ndarray, str]]:
    """The columns of bodies as fields of yt: name -> (numbers, unit)."""
    result = {}
    for name, column in frame.columns.items():
        if column.table != "particle" or column.array.dtype.kind not in "biuf":
            continue
        array, m = frame[name], column.components
        for k in range(m):
            part = "" if m == 1 else "_" + ("xyz"[k] if m == 3 else str(k))
            result[NAMES.get(name, "particle_" + name) + part] = (array if m == 1 else array[:, k].copy(), yt_unit(column.unit))
    return result


class NbDataset(Dataset):
    """What makes a data set of yt of one frame of a stream."""

    def __new__(cls, filename: str, *, frame: int = -1, **kwargs: Any) -> Any:
        state = read(filename)[frame]
        pos = state["pos"]
        if state.n and "bbox" not in kwargs:
            low, high = pos.min(axis=0), pos.max(axis=0)
            margin = 0.01 * max((high - low).max(), np.finfo(float).tiny) or 1.0
            kwargs["bbox"] = np.stack([low - margin, high + margin], axis=1)
        return load_particles(fields(state), **{"sim_time": state.time, "periodicity": (False,) * 3, **kwargs})

    @classmethod
    def _is_valid(cls, filename: str, *args: Any, **kwargs: Any) -> bool:
        try:
            with open(filename, "rb") as file:
                return file.read(8) == MAGIC
        except (OSError, TypeError):
            return False
