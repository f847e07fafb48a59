"""What a shell offers to carry out, for its hello: actuators, their actions, the arguments of these.

A description grants nothing: policies judge every request. Thinkers are offered the actions as tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

from .oacp import plist
from .sexp import Value, keyword

SHAPES = ("text", "integer", "number", "flag", "texts", "plist", "any", "choice")
"""Shapes of an argument."""


@dataclass(frozen=True)
class OfferedArgument:
    """An argument of an action; with `choices` its shape is `choice`."""

    name: str
    about: str = ""
    shape: str = "text"
    required: bool = False
    choices: Sequence[str] = ()

    def form(self) -> Value:
        shape = "choice" if self.choices else self.shape
        if shape not in SHAPES or (shape == "choice") != bool(self.choices):
            raise ValueError(f"expected a shape of {', '.join(SHAPES)}, got `{shape}`")
        return plist(
            name=keyword(self.name),
            shape=keyword(shape) if shape != "text" else None,
            required=True if self.required else None,
            choices=[keyword(choice) for choice in self.choices] or None,
            about=self.about or None,
        )


@dataclass(frozen=True)
class OfferedAction:
    """An action of an actuator."""

    name: str
    about: str = ""
    arguments: Sequence[OfferedArgument] = ()

    def form(self) -> Value:
        return plist(
            name=keyword(self.name),
            about=self.about or None,
            arguments=[argument.form() for argument in self.arguments] or None,
        )


@dataclass(frozen=True)
class Actuator:
    """An actuator that is asked for the actions it lists, and for no others."""

    name: str
    actions: Sequence[Union[OfferedAction, str]] = ()

    def form(self) -> Value:
        actions = [keyword(it) if isinstance(it, str) else it.form() for it in self.actions]
        return plist(name=keyword(self.name), actions=actions) if actions else keyword(self.name)
