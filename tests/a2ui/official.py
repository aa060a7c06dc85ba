"""The official schemas of A2UI, from the pinned npm package."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "widgets" / "node_modules" / "@a2ui" / "web_core" / "src"
OURS = ROOT / "bread_nb" / "a2ui" / "catalog.json"
FILES = {
    "v0.9": ("v0_9", "server_to_client.json", "client_to_server.json"),
    "v1.0": ("v1_0", "agent_to_renderer.json", "renderer_to_agent.json"),
}


@cache
def validator(version: str, catalog: str = "basic") -> Draft202012Validator:
    """Checks messages to a client, with the basic catalogue or with ours."""
    folder, messages, _ = FILES[version]
    base = f"https://a2ui.org/specification/{folder}"
    kinds = read(f"{folder}/schemas/catalogs/basic/catalog.json")
    used = json.loads(OURS.read_text()) if catalog == "ours" else kinds
    common = read(f"{folder}/schemas/common_types.json")
    documents = {
        f"{base}/common_types.json": common,
        f"{base}/catalog.json": used,
        f"{base}/catalogs/basic/common_types.json": common,
        f"{base}/catalogs/basic/catalog.json": used,
        str(used["$id"]): used,
    }
    registry: Registry[Any] = Registry()
    for uri, document in documents.items():
        made = Resource.from_contents(document, default_specification=DRAFT202012)
        registry = registry.with_resource(uri, made)
    schema = read(f"{folder}/schemas/{messages}")
    return Draft202012Validator(schema, registry=registry)


def read(path: str) -> dict[str, Any]:
    """A JSON file of the package."""
    file = SCHEMAS / path
    if not file.exists():
        pytest.fail(
            "@a2ui/web_core is not installed; run: python widgets/build.py test",
            pytrace=False,
        )
    return json.loads(file.read_text())


def faults(message: object, version: str, catalog: str = "basic") -> list[str]:
    """What is wrong with a message, by the official schema."""
    found = validator(version, catalog).iter_errors(message)
    return [f"{error.json_path}: {error.message}"[:400] for error in found]
