"""The tables: what is loaded on demand is found by name, and rows are what they say."""

from ch_gate import launchers, mutations, options, wrappers, writers


def test_functions_of_particular_programs_are_found():
    """The names that make the gate load a module are those it has functions for."""
    assert set(launchers.LAUNCHERS) == wrappers._LAUNCHERS
    assert set(writers.WRITERS) == mutations._WRITERS


def test_a_task_is_judged_by_the_first_and_the_last_word_of_its_name():
    """`docker-clean` and `db:reset` change, `format-check` looks, `cleanup-docs` is a name."""
    names = ("clean", "docker-clean", "db:reset", "lint:fix", "format-check", "test:clean", "docs",
             "A=clean", "publishing", "build", "")  # fmt: skip
    assert {name for name in names if mutations.task_changes(name)} == {
        "clean", "docker-clean", "db:reset", "lint:fix",
    }  # fmt: skip


def test_abbreviated_options():
    """`given` takes any beginning of a long option; `has` one of three letters and more."""
    scanned = options.Scanned()
    scanned.options = [("--o", "a"), ("--outp", None), ("-o", "b")]
    assert scanned.given("--output", "-o") == ["a", None, "b"]
    assert (scanned.may_have("--output"), scanned.has("--owner")) == (True, False)
