"""Bad component trees are refused with their place, and nothing is raised."""

from bread_nb.a2ui.checks import check_components, placeholder


def tree(*components: object) -> list:
    return [*components]


def node(name: str, *children: str) -> dict:
    return {"id": name, "component": "Column", "children": [*children]}


def told(components: object) -> list[tuple[str, str]]:
    return [(fault.path, fault.text) for fault in check_components(components)]


def test_a_component_that_holds_itself():
    avatar = {"id": "avatar", "component": "Card", "child": "avatar"}
    assert told(tree(node("root", "avatar"), avatar)) == [
        ("/1/child", "The component avatar would hold itself.")
    ]


def test_two_components_that_hold_each_other():
    assert told(tree(node("root", "a"), node("a", "b"), node("b", "a"))) == [
        ("/2/children/0", "The component a would hold itself.")
    ]


def test_a_child_that_is_not_there():
    card = {"id": "root", "component": "Card", "child": "nope"}
    assert told(tree(card)) == [("/0/child", "There is no component nope.")]


def test_a_tree_without_a_root():
    assert told(tree(node("a"))) == [("", "There is no component with the id root.")]


def test_5000_levels_end_without_a_recursion_error():
    levels = [node(f"n{at}", f"n{at + 1}") for at in range(800)]
    deep = tree(node("root", "n0"), *levels, node("n800"))
    ((_, text),) = told(deep)
    assert text == "The components are nested over 50 levels deep."
    many = [node(f"n{at}", f"n{at + 1}") for at in range(5000)]
    ((_, text),) = told(tree(node("root", "n0"), *many, node("n5000")))
    assert text == "There are 5,002 components in one message; at most 1,000 are drawn."


def test_entries_that_are_no_components():
    found = told(tree(node("root"), 7, {"component": "Text"}, {"id": "x"}))
    assert found == [
        ("/1", "A component was expected, and this is a int."),
        ("/2/id", "A component needs an id."),
        ("/3/component", "The component x does not say what it is."),
    ]
    assert told("x") == [("", "A list of components was expected.")]


def test_the_same_id_twice_and_the_same_child_twice():
    assert told(tree(node("root"), node("root"))) == [
        ("/1/id", "The id root is used twice.")
    ]
    assert told(tree(node("root", "a", "b"), node("a", "b"), node("b"))) == [
        ("/1/children/0", "The component b stands in two places.")
    ]


def test_children_in_tabs_modals_and_templates_count():
    tabs = {"id": "root", "component": "Tabs", "tabs": [{"title": "x", "child": "a"}]}
    modal = {"id": "a", "component": "Modal", "trigger": "b", "content": "c"}
    items = {
        "id": "b",
        "component": "List",
        "children": {"componentId": "d", "path": "/x"},
    }
    assert told(tree(tabs, modal, items, node("c"), node("d"))) == []
    assert told(tree(tabs, modal, items, node("c"))) == [
        ("/2/children/componentId", "There is no component d.")
    ]


def test_components_that_take_too_much():
    big = {"id": "root", "component": "Text", "text": "x" * 300_000}
    ((_, text),) = told(tree(big))
    assert text.startswith("The components take 300,")


def test_an_unknown_component_is_no_fault_of_the_tree():
    assert told(tree({"id": "root", "component": "Sparkline9"})) == []


def test_a_placeholder_stands_where_a_bad_tree_would_have_been():
    component, value = placeholder(check_components([node("a")]))
    assert component["component"] == "Unsupported"
    assert check_components([component]) == []
    assert "no component with the id root" in value["raw"]["segments"][0]
