"""Clients of the `anthropic` and `openai` packages, as far as a model needs them.

Nothing is imported for them: whoever gives a client has its package already.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from bread_nb.errors import BreadError

__all__ = ["check_client", "client_secrets", "speaks_for_openai"]

_CARRIES = {"anthropic": "messages", "openai": "chat", "responses": "responses"}
_EXAMPLES = {
    "anthropic": "AsyncAnthropic()",
    "openai": "AsyncOpenAI()",
    "responses": "AsyncOpenAI()",
}
_SECRETS = (
    *("api_key", "auth_token", "access_token", "admin_api_key", "webhook_key"),
    *("aws_access_key", "aws_secret_key", "aws_session_token", "_azure_ad_token"),
)
_OPENAI_HOSTS = (
    *("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com"),
    ".services.ai.azure.com",
)


def check_client(name: str, client: object) -> None:
    """Check that a client can carry the model `name`.

    Raises:
        BreadError: `INVALID_MODEL` when it is of another kind, or not asynchronous.
    """
    provider = name.partition(":")[0]
    kind = type(client).__name__
    example = _EXAMPLES.get(provider)
    if example is None:
        raise BreadError(
            f"The provider {provider} takes no client.",
            code="INVALID_MODEL",
            why=f"clients carry {', '.join(_CARRIES)}.",
            do=f"leave client= out: Model({name!r})",
        )
    post = getattr(client, "post", None)
    if post is None or not hasattr(client, _CARRIES[provider]):
        raise BreadError(
            f"A client of the type {kind} cannot carry {name}.",
            code="INVALID_MODEL",
            why=f"it has no {_CARRIES[provider] if post else 'post'}.",
            do=f"Model({name!r}, client={example})",
        )
    if not inspect.iscoroutinefunction(post):
        raise BreadError(
            f"{kind} is not asynchronous.",
            code="INVALID_MODEL",
            why="a run would stand still while it waits.",
            do=f"Model({name!r}, client=Async{kind}(...))",
        )


def client_secrets(client: object) -> tuple[str, ...]:
    """The keys of a client, so that no error shows them."""
    return tuple(_secrets(client))


def _secrets(client: object) -> Iterator[str]:
    credentials = getattr(client, "credentials", None)
    for holder, names in ((client, _SECRETS), (credentials, ("token",))):
        for name in names:
            value = getattr(holder, name, None)
            if isinstance(value, str) and value:
                yield value


def speaks_for_openai(client: object) -> bool:
    """Whether a client asks OpenAI's own service, at OpenAI or at Azure."""
    if any("Azure" in each.__name__ for each in type(client).__mro__):
        return True
    host: object = getattr(getattr(client, "base_url", None), "host", "")
    return isinstance(host, str) and host.endswith(_OPENAI_HOSTS)
