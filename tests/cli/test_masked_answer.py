"""Edited arguments on a line: what was shown masked is not taken for the value."""

import json

from cli.conftest import ledger
from fixtures.projects import Project


def test_a_mask_in_edited_arguments_is_refused_and_the_call_still_waits(
    project: Project,
):
    assert project.bread("run", "publisher", "Go.").code == 3
    answer = {"approved": True, "args": {"title": "Oat", "token": "••••"}}
    said = project.bread("resume", "last", "--answer", json.dumps(answer))
    assert said.code != 0
    assert "•••• stands for a secret that was not shown" in said.err
    assert ledger(project) == []
    answer["args"]["token"] = "s3cret"
    assert project.bread("resume", "last", "--answer", json.dumps(answer)).code == 0
    assert ledger(project) == ["Oat"]
