"""Secrets go out of what is stored and shown; the structure stays."""

import pytest

from bread_nb.base.redact import (
    MASK,
    Redactor,
    environment_secrets,
    secret_name,
    secret_variable,
)

LONG = "abcdefghij0123456789ABCDEFGHIJ0123456789"
KEY = "CANARY-0123456789-abcdefghij-ABCDEFGHIJ"


def test_secrets_are_masked_at_every_depth_and_the_structure_stays():
    args = {
        "headers": {"Authorization": "Bearer CANARY"},
        "parts": [{"apiKey": "CANARY"}, {"cookie": "s=CANARY"}],
        "private_key": "CANARY",
        "path": "loaf.md",
        "count": 3,
        "none": None,
    }
    assert Redactor().value(args) == {
        "headers": {"Authorization": MASK},
        "parts": [{"apiKey": MASK}, {"cookie": MASK}],
        "private_key": MASK,
        "path": "loaf.md",
        "count": 3,
        "none": None,
    }


def test_everything_under_a_secret_name_is_masked():
    value = {"credentials": {"user": "x", "keys": [1, {"a": "b"}]}}
    assert Redactor().value(value) == {
        "credentials": {"user": MASK, "keys": [MASK, {"a": MASK}]}
    }


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "DB_PASSWORD",
        "passwd",
        "passphrase",
        "api_key",
        "apiKey",
        "x-api-key",
        "private_key",
        "accessKey",
        "secret",
        "client_secret",
        "token",
        "access_token",
        "refreshToken",
        "authToken",
        "id_token",
        "Authorization",
        "Proxy-Authorization",
        "cookie",
        "Set-Cookie",
        "credentials",
        "signing_key",
        "passwords",
        "cookies",
        "apiKeys",
        "secrets",
        "AWS_ACCESS_KEY_ID",
        "ssh_key",
        "jwt",
        "bearer",
        "github_token",
        "slackBotToken",
        "csrf-token",
        "SECRET_KEY",
        "secretKey",
        "encryption_key",
        "passcode",
        "connectionString",
    ],
)
def test_names_that_hold_secrets(name: str):
    assert secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "tokens",
        "max_tokens",
        "keyboard",
        "name",
        "tokenizer",
        "author",
        "nextPageToken",
        "cost_per_token",
        "eos_token",
        "cookie_dough",
    ],
)
def test_names_that_hold_none(name: str):
    assert not secret_name(name)


@pytest.mark.parametrize("value", [None, "", True, False])
def test_what_cannot_be_a_secret_is_shown(value: object):
    assert Redactor().value({"password": value}) == {"password": value}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use sk-ant-api03-abcdefghijklmnop now", f"use {MASK} now"),
        ("sk-proj-abcdefghijklmnopqr", MASK),
        ("AIzaSyA1234567890abcdefghijk", MASK),
        ("ghp_abcdefghijklmnopqrstuv", MASK),
        ("xoxb-1234567890-abc", MASK),
        ("AKIAIOSFODNN7EXAMPLE", MASK),
        ("Authorization: Bearer abc.def-123", f"Authorization: Bearer {MASK}"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def", MASK),
        (f"github_pat_{LONG}_{LONG}", MASK),
        (f"glpat-{LONG}", MASK),
        (f"hf_{LONG}", MASK),
        (f"gsk_{LONG}", MASK),
        (f"xai-{LONG}", MASK),
        (f"xapp-1-{LONG}", MASK),
        (f"pplx-{LONG}", MASK),
        (f"nvapi-{LONG}", MASK),
        (f"npm_{LONG}", MASK),
        (f"sk_live_{LONG} rk_test_{LONG}", f"{MASK} {MASK}"),
        (f"ya29.{LONG}", MASK),
        ("ASIAIOSFODNN7EXAMPLE", MASK),
        (
            "hf_hub_download, npm_config_registry",
            "hf_hub_download, npm_config_registry",
        ),
        ("ask-a-question about sk-ates", "ask-a-question about sk-ates"),
    ],
)
def test_well_known_shapes_of_keys(text: str, shown: str):
    assert Redactor().text(text) == shown


def test_known_values_are_masked_whole_and_by_their_beginning():
    redactor = Redactor([KEY])
    assert redactor.text(f"a {KEY} b") == f"a {MASK} b"
    assert redactor.text(f"starts with {KEY[:8]}...") == f"starts with {MASK}..."
    assert redactor.known({"a": [KEY, 1], "password": "x"}) == {
        "a": [MASK, 1],
        "password": "x",
    }


def test_short_values_are_ordinary_words():
    redactor = Redactor(["short", "flour"])
    redactor.learn("rye")
    assert redactor.text("short flour rye") == "short flour rye"


def test_it_learns():
    redactor = Redactor()
    assert redactor.text(KEY) == KEY
    redactor.learn(KEY)
    assert redactor.text(KEY) == MASK


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "OPENAI_API_KEY_2", "API_KEYS", "DB_PASS", "GITHUB_PAT"),
        *("AWS_ACCESS_KEY_ID", "SSH_PASSPHRASE", "MY_TOKENS", "CI_JOB_JWT"),
    ],
)
def test_variables_that_hold_secrets(name: str):
    assert secret_variable(name)


@pytest.mark.parametrize("name", ["PATH", "COMPASS", "PWD", "KEYBOARD", "LANG"])
def test_variables_that_hold_none(name: str):
    assert not secret_variable(name)


def test_secrets_of_the_environment_are_found_by_their_names():
    environ = {
        "OVEN_API_KEY": KEY,
        "DB_PASSWORD": KEY[::-1],
        "HF_TOKEN": "short",
        "HOME": "/home/baker/somewhere",
        "KEYBOARD": "a long enough value",
    }
    assert environment_secrets(environ) == [KEY, KEY[::-1]]


@pytest.mark.parametrize("piece", ["eyJ", "sk-", "ghp_", "AKIA", "eyJabcdefghij.", "a"])
def test_a_text_made_to_choke_the_search_is_masked_soon(piece: str):
    text = piece * (2_000_000 // len(piece))
    assert len(Redactor(["a-secret-of-the-oven"]).text(f"{text}!")) <= len(text) + 1


def test_a_secret_that_is_the_name_of_a_field_is_masked():
    redactor = Redactor(["CANARY-0123456789"])
    leaky = {"a": {"x CANARY-0123456789": 1}}
    for shown in (redactor.known(leaky), redactor.value(leaky)):
        assert shown == {"a": {f"x {MASK}": 1}}
