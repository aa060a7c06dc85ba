"""What there is, as lists: agents, runs, open calls, one run, the doctor."""

from fixtures.projects import Project


def test_agents_are_listed_with_what_is_broken(project: Project):
    project.agent("triage", "\n\nagent = Agent(\n")
    assert project.bread("agents").out.splitlines() == [
        "agent      model               tools  asks  state",
        "publisher  scripted:publish.…  1      1     ok",
        "triage     –                   –      –     broken",
        "writer     scripted:script.y…  –      –     ok",
        "triage: agents/triage/agent.py line 1: '(' was never closed",
    ]


def test_runs_and_open_calls_are_listed(project: Project):
    project.bread("run", "writer", "x")
    project.bread("run", "publisher", "x")
    rows = [line.split("  ") for line in project.bread("runs").out.splitlines()]
    named = [[cell.strip() for cell in row if cell.strip()][:3] for row in rows]
    assert named == [
        ["run", "state", "turns"],
        ["publisher-1", "waiting (1)", "1"],
        ["writer-1", "finished", "1"],
    ]
    assert project.bread("pending").out.splitlines() == [
        "call           agent      asks     age  answer",
        "publisher-1.a  publisher  publish  now  --approve | --deny",
        '  title="Rye", token="••••"',
        "Answer: bread resume publisher-1.a --approve",
    ]


def test_costs_are_listed_for_today_and_in_other_ways(project: Project):
    assert project.bread("cost").out == "No model was called today.\n"
    project.bread("run", "writer", "x")
    head, writer, total = project.bread("cost").out.splitlines()
    assert head.split("  ")[0] == "run family"
    assert [cell for cell in writer.split("  ") if cell][-1].strip() == "▁"
    assert ("no charge" in writer, total) == (True, "no charge")
    by_model = project.bread("cost", "--by", "model", "--all").out.splitlines()
    assert by_model[0].split()[:3] == ["model", "runs", "calls"]
    assert project.bread("cost", "--by", "cook").code == 2


def test_a_run_is_shown_with_its_picture_and_its_crumbs(project: Project):
    project.bread("run", "publisher", "x")
    head, picture, crumbs, last = project.bread("show", "publisher-1").out.split("\n\n")
    assert head.startswith("publisher-1, started ")
    assert head.endswith(", 0:00")
    assert picture.startswith("publisher waits for a person: publish")
    assert ". Answer with bread pending\n" in picture
    assert crumbs.splitlines()[-1].split() == [
        "8",
        "human:required",
        "publish",
        "approval",
        "publisher-1.a",
    ]
    assert last == "bread export publisher-1 > run.jsonl\n"


def test_an_unknown_run_is_one_clear_error(project: Project):
    said = project.bread("show", "writer-9")
    assert (said.code, said.error()[0]) == (
        1,
        "There is no run 'writer-9'. [RUN_NOT_FOUND]",
    )


def test_an_empty_folder_says_what_to_do(tmp_path):
    empty = Project(tmp_path)
    assert empty.bread("agents").out == (
        "No agents here. Make one: `bread new agent writer`\n"
    )
    assert empty.bread("runs").out == "No runs yet. Start one: `bread run writer`\n"
    assert empty.bread("pending").out == "No run waits for you.\n"
    assert not (tmp_path / ".bread").exists()


def test_the_doctor_exits_1_only_when_something_is_bad(project: Project):
    well = project.bread("doctor", "writer")
    assert well.code == 0
    assert well.out.startswith("ok    Python 3.")
    project.agent("triage", "agent = (")
    ill = project.bread("doctor")
    assert ill.code == 1
    assert "bad   agents/triage/agent.py line 1 does not parse" in ill.out


def test_a_project_may_be_named_from_elsewhere(project: Project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    there = Project(elsewhere)
    said = there.bread("agents", BREAD_PROJECT=str(project.root))
    assert said.out.splitlines()[1].startswith("publisher")
    wrong = there.bread("agents", BREAD_PROJECT=str(elsewhere / "no"))
    assert (wrong.code, wrong.error()[0][-19:]) == (1, "[PROJECT_NOT_FOUND]")
