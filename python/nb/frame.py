"""A frame: columns, which are NumPy arrays, and attributes."""
from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Optional, Union

import numpy as np

TABLES = ("particle", "node", "box")
DERIVED = 1
KEY = re.compile("[A-Za-z0-9_]+")
# type -> (table, type, components, unit, flags) of each standard column
FIELDS: dict[str, tuple[str, str, int, str, int]] = {}
UNKNOWN = ("particle", "", 0, "", 0)
with open(os.path.join(os.path.dirname(__file__), "field.def")) as _rows:
    for _row in re.findall(r'^NB_FIELD\(\w+, *"(\w+)", *(\w+), *"(\S+)", *(\d+), *"([^"]*)", *(\w+)', _rows.read(), re.M):
        FIELDS[_row[0]] = (_row[1].lower(), _row[2], int(_row[3]), _row[4], DERIVED if _row[5] == "NB_DERIVED" else 0)


class StreamError(ValueError):
    """A stream that is truncated, damaged or none, or a frame that no stream may carry.  The message is one line."""


class MissingColumn(StreamError, KeyError):
    """A column that a frame does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class Column:
    """A column of a frame: its numbers, of which there is one row for each body (or tree node, or box).

    array   shape (rows,), or (rows, components)
    type    as the stream has it: "<f8", "<u8", "|S16"
    table   "particle", "node" or "box": what a row belongs to
    unit    such as "length" or "velocity^2"; may be ""
    flags   bit 0: derived, it follows from positions
    """

    __slots__ = ("array", "type", "table", "unit", "flags", "sum", "what")

    def __init__(self, array: np.ndarray, table: str = "particle", unit: str = "", flags: int = 0,
                 type: Optional[str] = None, sum: Optional[int] = None, what: str = "") -> None:
        self.array, self.table, self.unit, self.flags = array, table, unit, flags
        self.type: str = type or array.dtype.str
        # the checksum that it came with, until somebody may have changed the numbers; and where from, if that is in doubt
        self.sum, self.what = sum, what

    @property
    def derived(self) -> bool:
        """Whether it follows from the positions, so that it is stale after these have changed."""
        return bool(self.flags & DERIVED)

    @property
    def components(self) -> int:
        """Numbers in a row."""
        return self.array.shape[1] if self.array.ndim > 1 else 1

    def __repr__(self) -> str:
        return f"<nb.Column: {len(self.array)} x {self.components} of {self.type}, unit '{self.unit}'>"

    def verify(self) -> None:
        """Compares the numbers with the checksum that they came with.  StreamError if they differ."""
        if self.what and self.sum is not None and zlib.crc32(self.array.data) != self.sum:
            raise StreamError(f"corrupt stream: {self.what} has the wrong CRC")


def _for_stream(name: str, value: Any, old: Optional[Column]) -> Column:
    """The array as a column that a stream can carry: little-endian, contiguous, of a type that the name allows."""
    array = np.asarray(value)
    table, kind, components, unit, flags = FIELDS.get(name, UNKNOWN)
    if old:
        table, unit, flags = old.table, old.unit, old.flags
    if kind and array.dtype.kind != kind[1]:
        if array.dtype.kind not in "biu" or (kind[1] == "u" and array.size and array.min() < 0):
            raise StreamError(f"column '{name}' has type '{array.dtype}' (want '{kind}')")
        array = array.astype(kind)
    if array.dtype.kind not in "biufcSV" or array.dtype.itemsize == 0:
        raise StreamError(f"column '{name}' has type '{array.dtype}' (want numbers, bytes or a void type)")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim not in (1, 2) or (array.ndim == 2 and not 1 <= array.shape[1] <= 65536):
        raise StreamError(f"column '{name}' has shape {array.shape} (want (n,) or (n, components))")
    column = Column(np.ascontiguousarray(array, array.dtype.newbyteorder("<")), table, unit, flags)
    if components and column.components != components:
        raise StreamError(f"column '{name}' has {column.components} components (want {components})")
    return column


class Frame(MutableMapping[str, np.ndarray]):
    """The state at one time: a mapping of column names to arrays, with attributes.

    frame["pos"]        the array itself, not a copy, of shape (n, 3); (n,) for a column of one number for each body.  It
                        may be changed in place: a file that it was read from stays as it is.
    frame["acc"] = a    sets or adds a column.  A number stands for one for each body.  A standard column, see
                        nb-stream(5), has its unit and type; another one gets its unit by set().
    attributes          key -> text; "history" -> list of texts
    columns             name -> Column, with table, unit and flags

    A column from a file or a pipe is compared with its checksum when it is first asked for, or written.
    """

    def __init__(self, columns: Optional[Mapping[str, Any]] = None, attributes: Optional[Mapping[str, Any]] = None) -> None:
        self.columns: dict[str, Column] = {}
        self.attributes: dict[str, Any] = dict(attributes or {})
        self._bare = dict.fromkeys(TABLES, 0)  # rows of tables without columns
        for name, value in sorted((columns or {}).items(), key=lambda item: np.ndim(item[1]) == 0):
            self[name] = value
        self.columns = {name: self.columns[name] for name in columns or {}}

    @classmethod
    def of(cls, bodies: Any) -> Frame:
        """A frame of anything that is bodies: a frame itself, a mapping of names to arrays, a structured array, or an array
        of positions of shape (n, 3), of a total mass of 1.  Without ids the bodies get their numbers."""
        if isinstance(bodies, Frame):
            return bodies
        if isinstance(bodies, np.ndarray) and bodies.dtype.names:
            bodies = {name: bodies[name] for name in bodies.dtype.names}
        if not isinstance(bodies, Mapping):
            pos = np.asarray(bodies, float)
            if pos.ndim != 2 or pos.shape[1] != 3:
                raise StreamError(f"positions have shape {pos.shape} (want (n, 3))")
            bodies = {"mass": np.full(len(pos), 1 / max(1, len(pos))), "pos": pos}
        frame = cls(bodies)
        if "id" not in frame:
            frame = cls({"id": np.arange(frame.n, dtype="<u8"), **frame})
        return frame

    @property
    def n(self) -> int:
        """Number of bodies."""
        return self.rows()["particle"]

    @property
    def time(self) -> float:
        """Time of the frame, in its units; 0 if it has none."""
        return self.number("time", 0)

    def rows(self) -> dict[str, int]:
        """Rows of each table, which all columns of the table have."""
        rows = dict(self._bare)
        first: dict[str, str] = {}
        for name, column in self.columns.items():
            other = first.setdefault(column.table, name)
            rows[column.table] = len(self.columns[other].array)
            if len(column.array) != rows[column.table]:
                raise StreamError(f"column '{name}' has {len(column.array)} rows (want {rows[column.table]}, as '{other}')")
        return rows

    def number(self, key: str, fallback: float = 0) -> float:
        """An attribute as a number; the fallback if it is not there."""
        try:
            return float(self.attributes.get(key, fallback))
        except (TypeError, ValueError):
            raise StreamError(f"attribute '{key}' is no number: '{self.attributes[key]}'") from None

    def set(self, name: str, value: Any, unit: str, derived: bool = False) -> None:
        """Sets or adds a column, with its unit.  derived: it follows from positions, and is dropped when bodies move."""
        self[name] = value
        column = self.columns[name]
        column.unit, column.flags = unit, column.flags & ~DERIVED | FIELDS.get(name, UNKNOWN)[4] | bool(derived)

    def select(self, which: Any) -> None:
        """Keeps bodies, in all columns: of a mask, or of indices, in their order.  Trees and boxes are dropped."""
        for name, column in list(self.columns.items()):
            if column.table == "particle":
                column.array = np.ascontiguousarray(self[name][which])
            else:
                del self[name]
        self._bare = dict.fromkeys(TABLES, 0)
        self._drop_tree()

    def drop_derived(self) -> None:
        """After a change of positions or masses: drops what followed from them."""
        for name, column in list(self.columns.items()):
            if column.derived or column.table != "particle":
                del self[name]
        self._drop_tree()
        for key in [k for k in self.attributes if k == "key_cube" or k.startswith("error_")]:
            del self.attributes[key]

    def _drop_tree(self) -> None:
        for key in ("tree", "leaf_size", "order", "level"):
            self.attributes.pop(key, None)

    def copy(self) -> Frame:
        """A frame with arrays of its own."""
        other = Frame(None, {k: list(v) if isinstance(v, list) else v for k, v in self.attributes.items()})
        for name, column in self.columns.items():
            other.columns[name] = Column(self[name].copy(), column.table, column.unit, column.flags, column.type)
        return other

    def __getitem__(self, name: str) -> np.ndarray:
        column = self.columns.get(name)
        if column is None:
            why = self.attributes.get("missing_" + name) or "stream has: " + ", ".join(self.columns)
            raise MissingColumn(f"field '{name}' missing ({why})")
        column.verify()
        column.sum = None
        return column.array

    def __setitem__(self, name: str, value: Any) -> None:
        if np.ndim(value) == 0:
            value = np.full(self.n, value)
        self.columns[name] = _for_stream(name, value, self.columns.get(name))

    def __delitem__(self, name: str) -> None:
        del self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __repr__(self) -> str:
        return f"<nb.Frame: {self.n} bodies, {' '.join(self.columns)}, time {self.attributes.get('time', 0)}>"


Bodies = Union[Frame, Mapping[str, Any], np.ndarray]
