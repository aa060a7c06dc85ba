"""Signatures and types as JSON Schema, and values checked against them.

The only place where schemas are made. `Schema` wraps whatever a person may give
as a type: a Python type, a pydantic model, a dataclass or a JSON Schema.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, create_model
from pydantic import ValidationError as PydanticError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from bread_nb.base.wire import dumps, json_safe
from bread_nb.errors import BreadError, ValidationError

__all__ = ["JsonSchema", "Schema", "arguments_of", "problems_of", "written"]

JsonSchema = dict[str, JsonValue]
_NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticUserError,
    NameError,
    ValueError,
)
_COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})

_WORDS = {
    "int_parsing": "{input} is not a whole number",
    "int_type": "{input} is not a whole number",
    "int_from_float": "{input} is not a whole number",
    "float_parsing": "{input} is not a number",
    "float_type": "{input} is not a number",
    "bool_parsing": "{input} is not true or false",
    "bool_type": "{input} is not true or false",
    "string_type": "{input} is not text",
    "missing": "is missing",
    "missing_argument": "is missing",
    "extra_forbidden": "is not a field here",
    "literal_error": "{input} is not {expected}",
    "enum": "{input} is not {expected}",
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "less_than": "must be less than {lt}",
    "list_type": "{input} is not a list",
    "dict_type": "{input} is not a mapping",
    "model_type": "{input} is not a mapping",
    "model_attributes_type": "{input} is not a mapping",
}


class Schema:
    """A type a value must fit, with its JSON Schema.

    Args:
        source: A Python type, a pydantic model, or a JSON Schema as a mapping.

    Raises:
        BreadError: `INVALID_SCHEMA` when the type has no JSON Schema.
    """

    def __init__(self, source: object) -> None:
        self.source = source
        self.foreign = isinstance(source, Mapping)
        if self.foreign:
            self._validator = _validator_of(self.json)
        else:
            try:
                self._adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", source))
            except (PydanticSchemaGenerationError, PydanticUserError) as error:
                raise _unusable(source, error) from None

    @cached_property
    def json(self) -> JsonSchema:
        """The JSON Schema of the type."""
        if self.foreign:
            return cast("JsonSchema", json_safe(self.source))
        try:
            return self._adapter.json_schema()
        except PydanticUserError as error:
            raise _unusable(self.source, error) from None

    @property
    def is_text(self) -> bool:
        """Whether the type is plain text."""
        return self.source is str

    @property
    def is_object(self) -> bool:
        """Whether the values are mappings with named fields."""
        schema = self.json
        return schema.get("type") == "object" or "properties" in schema

    @property
    def names(self) -> list[str] | None:
        """The fields its mappings have; None where there may be others."""
        schema = self.json
        fields = schema.get("properties")
        opened = schema.get("additionalProperties") or not schema.keys().isdisjoint(
            _COMPOSED
        )
        return None if opened or not isinstance(fields, dict) else list(fields)

    def validate(self, value: object) -> object:
        """The value as the type, converted where the type allows it.

        Raises:
            ValidationError: With one line a problem.
        """
        if self.foreign:
            _check_foreign(self._validator, value)
            return value
        try:
            return self._adapter.validate_python(value)
        except PydanticError as error:
            raise ValidationError(
                "The value does not fit.", problems=problems_of(error)
            ) from None

    def dump(self, value: object) -> JsonValue:
        """A value of the type as plain JSON values."""
        if self.foreign or isinstance(value, BaseModel):
            return json_safe(value)
        return cast("JsonValue", self._adapter.dump_python(value, mode="json"))

    def describe(self) -> str:
        """The type in a few words, such as `topic text, loaves whole number`."""
        properties = self.json.get("properties")
        if not isinstance(properties, dict):
            return _kind(self.json)
        return ", ".join(f"{name} {_kind(p)}" for name, p in properties.items())


def arguments_of(fn: Callable[..., object], *, skip: frozenset[str]) -> Schema:
    """The arguments of a function as a closed object schema.

    Args:
        fn: The function; its annotations may be strings.
        skip: Parameters that are not the caller's to give.

    Raises:
        BreadError: `INVALID_TOOL` when a parameter cannot be described.
    """
    hints = annotations_of(fn)
    fields: dict[str, Any] = {}
    for index, (name, parameter) in enumerate(_parameters(fn)):
        if name in skip:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _bad_parameter(fn, name, "*args and **kwargs have no schema")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise _bad_parameter(fn, name, "positional-only parameters have no name")
        fields[f"p{index}"] = _field(name, hints.get(name, Any), parameter.default)
    try:
        model = create_model(
            written(fn).__name__,
            __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False),
            **fields,
        )
        schema = ArgumentSchema(model)
        dumps(cast("JsonValue", schema.json))
    except _NO_SCHEMA as error:
        raise _bad_parameter(fn, "", str(error).splitlines()[0]) from None
    return schema


def _parameters(fn: Callable[..., object]) -> list[tuple[str, inspect.Parameter]]:
    try:
        return list(inspect.signature(fn).parameters.items())
    except ValueError as error:
        raise _bad_parameter(fn, "", str(error)) from None


class ArgumentSchema(Schema):
    """A function's arguments: validated to a mapping of keyword arguments.

    The model's fields are numbered and the parameters are their aliases, so that a
    parameter may have any name, `schema` and `_hidden` too.
    """

    def validate(self, value: object) -> dict[str, object]:
        """Keyword arguments of the right types, defaults filled in."""
        model = cast("BaseModel", super().validate(value))
        return {
            info.alias or name: getattr(model, name)
            for name, info in type(model).model_fields.items()
        }

    @cached_property
    def json(self) -> JsonSchema:
        """The JSON Schema, without the titles pydantic makes up."""
        schema = self._adapter.json_schema()
        schema.pop("title", None)
        schema.setdefault("properties", {})
        for field in schema["properties"].values():
            field.pop("title", None)
            if field.get("default") in (math.inf, -math.inf):
                del field["default"]
        return cast("JsonSchema", schema)


def annotations_of(fn: Callable[..., object]) -> dict[str, Any]:
    """The annotations of `fn` with strings resolved where it was written."""
    fn = written(fn)
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except NameError:
        names = _callers_names()
    try:
        return typing.get_type_hints(fn, localns=names, include_extras=True)
    except NameError as error:
        raise _bad_parameter(fn, "", str(error)) from None


def written(fn: Callable[..., object]) -> Callable[..., object]:
    """The function that was written: behind a partial, or as an object's `__call__`."""
    while isinstance(fn, functools.partial):
        fn = cast("Callable[..., object]", fn.func)
    return fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__call__


def _callers_names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names


def _field(name: str, annotation: Any, default: object) -> tuple[Any, Any]:  # noqa: ANN401
    named = typing.Annotated[annotation, Field(alias=name)]
    return named, ... if default is inspect.Parameter.empty else default


def problems_of(error: PydanticError) -> list[str]:
    """One readable line for each problem pydantic found."""
    return [_problem(dict(item)) for item in error.errors(include_url=False)]


def _problem(item: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    template = _WORDS.get(item["type"])
    if template is None:
        text = str(item["msg"]).removeprefix("Value error, ")
    else:
        limits = cast("dict[str, object]", item.get("ctx") or {})
        places: dict[str, object] = {"input": _shown(item.get("input")), **limits}
        text = template.format_map(places)
    return f"{where}: {text}" if where else text


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _Validator(Protocol):
    def iter_errors(self, instance: object, /) -> Iterable[_Problem]: ...


def _validator_of(schema: JsonSchema) -> _Validator:
    """What checks values against a JSON Schema, which is checked itself."""
    jsonschema = import_module("jsonschema")
    kind = jsonschema.validators.validator_for(
        schema, default=jsonschema.Draft202012Validator
    )
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise _unusable("This JSON Schema", error) from None
    return kind(schema)


def _check_foreign(validator: _Validator, value: object) -> None:
    found = sorted(
        validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path))
    )
    if found:
        lines = [_foreign_problem(error) for error in found]
        raise ValidationError("The value does not fit.", problems=lines)


class _Problem(Protocol):
    message: str
    absolute_path: Iterable[str | int]


def _foreign_problem(error: _Problem) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    message = error.message
    if len(message) > 200:
        message = f"{message[:197]}..."
    return f"{where}: {message}" if where else message


def _kind(schema: JsonValue) -> str:
    if not isinstance(schema, dict):
        return "anything"
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "yes or no",
        "array": "list",
        "object": "mapping",
        "null": "nothing",
    }
    if "enum" in schema:
        options = cast("list[JsonValue]", schema["enum"])
        return f"one of {', '.join(dumps(o) for o in options[:6])}"
    return names.get(str(schema.get("type")), "anything")


def _unusable(source: object, error: Exception) -> BreadError:
    named = getattr(source, "__name__", None)
    name = named or (source if isinstance(source, str) else repr(source))
    return BreadError(
        f"{name} cannot be used as a schema.",
        code="INVALID_SCHEMA",
        why=str(error).splitlines()[0],
        do="use a plain type, a pydantic model, a dataclass or a JSON Schema",
    )


def _bad_parameter(fn: Callable[..., object], name: str, why: str) -> BreadError:
    place = f"parameter {name!r} of " if name else ""
    return BreadError(
        f"The {place}tool {written(fn).__name__!r} cannot be described to a model.",
        code="INVALID_TOOL",
        why=f"{why.rstrip('.')}.",
        do="annotate each parameter with a plain type, or pass args=",
    )
