"""Which tests a change reaches, on the files of this checkout."""

from __future__ import annotations

import pytest

from tests import changed
from tests.conftest import next_room

TESTS = ["tests/kde/test_functions.py", "tests/stable/test_functions.py", "tests/mixture/test_latent.py", "tests/test_rules.py"]


@pytest.fixture
def reached(monkeypatch):
    """The test files that an edit of the code of these files reaches; None where all."""
    monkeypatch.setattr(changed, "same_code", lambda path, base: False)

    def reached(*paths):
        reaches = changed.reached_by(set(paths), "base")
        return reaches and [path for path in TESTS if reaches(path)]

    return reached


def test_a_change_reaches_those_who_import_it(reached):
    kde, stable, mixture, rules = TESTS
    assert reached() == []
    assert reached("numbastats/kde/arguments.py") == [kde, rules]
    assert reached("numbastats/kde/kernels/direct.py") == [kde, rules]
    assert reached("numbastats/scalar/stable.py") == [stable, mixture, rules]  # mixtures become distributions
    assert reached("numbastats/bayes/design.py") == [rules]
    assert reached("numbastats/scalar/latent.py") == [mixture, rules]
    assert reached("numbastats/scalar/elementary.py") == TESTS
    assert reached("numbastats/_core/elementwise.py") == TESTS
    reaches = changed.reached_by({"numbastats/random/__init__.py"}, "base")
    assert reaches("numbastats/kde/bandwidth.py")  # by an example in a docstring
    assert reaches("tests/test_ptx.py") and reaches("tests/test_readme.py")
    assert reached("numbastats/kde/__init__.py") == [kde, rules]
    reaches = changed.reached_by({"numbastats/distributions/families/gamma.py"}, "base")
    assert reaches("tests/distributions/test_fitting.py") and reaches(
        "tests/mixture/test_components.py"
    )  # of all families there are
    assert not reaches("tests/kde/test_distributed.py")
    assert not reaches("tests/test_random.py")  # calls of other sub-packages are in tests/core/test_rooms.py
    left = {
        path.name
        for path in (changed.ROOT / "tests/distributions").glob("test_*.py")
        if not reaches(f"tests/distributions/{path.name}")
    }
    assert left == {"test_student.py"}  # a case is no way from a family to these
    assert reached("tests/kde/naive.py") == [kde, rules]  # a helper of tests
    assert reached("tests/stable/test_functions.py") == [stable, rules]


def test_a_case_reaches_the_tests_that_run_cases(reached):
    """They find it by `discover`, of which the imports say nothing, or import it as any other file."""
    reaches = changed.reached_by({"tests/distributions/cases/gamma.py"}, "base")
    assert reaches("tests/core/test_kinds_of_input.py") and not reaches("tests/kde/test_functions.py")
    for name in "protocol elementary families fitting likelihood moments hyperbolic".split():
        assert reaches(f"tests/distributions/test_{name}.py") == (name not in ("moments", "hyperbolic")), name
    reaches = changed.reached_by({"tests/distributions/cases/variance_gamma.py"}, "base")
    assert reaches("tests/distributions/test_moments.py")
    kde, *_, rules = TESTS
    assert reached("tests/kde/cases/tricube.py") == [kde, rules]
    assert reached("tests/kde/cases/__init__.py") == [kde, rules]


def test_other_files(reached):
    for everything in (
        "pyproject.toml",
        "tests/conftest.py",
        "tests/reference/stable.csv",
        "numbastats/_core/cache.py",
        "tests/simulator.py",
        "Makefile",
    ):
        assert reached(everything) is None
    reaches = changed.reached_by({"docs/scale.md", "asv_benchmarks/gpu.py"}, "base")
    assert reaches("docs/scale.md") and not reaches("docs/faq.md") and not reaches("tests/kde/test_functions.py")
    assert reaches("tests/test_benchmarks.py")  # runs what is in these folders


def test_texts_compile_nothing(monkeypatch):
    """A docstring is run, and the rules are checked; no other test."""
    monkeypatch.setattr(changed, "same_code", lambda path, base: True)
    reaches = changed.reached_by({"numbastats/kde/functions.py"}, "base")
    assert reaches("numbastats/kde/functions.py") and reaches("tests/test_rules.py")
    assert not any(map(reaches, TESTS[:3]))


def test_code_is_compared_without_texts(monkeypatch):
    text = (changed.ROOT / "numbastats/config.py").read_text()
    for before, same in ((text, True), (text.replace('"""', '"""Edited. ', 1), True), (text + "\nx = 1\n", False), (None, False)):
        monkeypatch.setattr(changed, "git", lambda *arguments, before=before: before)
        assert changed.same_code("numbastats/config.py", "base") == same


@pytest.mark.parametrize(
    "edited, base, files, status",
    [
        ("numbastats/kde/arguments.py", "base", ["tests/stable/naive.py", "numbastats/kde/functions.py"], 0),
        ("numbastats/kde/arguments.py", "base", ["tests/stable/naive.py"], 3),
        ("pyproject.toml", "base", ["tests/stable/naive.py"], 0),  # reaches all
        ("numbastats/kde/arguments.py", "unknown", ["tests/stable/naive.py"], None),
    ],
)
def test_steps_of_the_check_are_left_out_where_no_change_reaches_them(monkeypatch, edited, base, files, status):
    monkeypatch.setattr(changed, "same_code", lambda path, base: False)
    monkeypatch.setattr(changed, "changed_files", lambda base: {edited})
    monkeypatch.setattr(changed, "git", lambda *arguments: None if "unknown" in arguments[-1] else "commit")
    monkeypatch.setattr("sys.argv", ["changed", base, *files])
    if status is None:
        changed.main()
        return
    with pytest.raises(SystemExit) as ended:
        changed.main()
    assert ended.value.code == status


def test_workers_share_no_sub_package_while_others_are_untouched():
    left = {"kde": 5, "stable": 9, "docs": 2}
    assert next_room(None, [], left) == "stable" and next_room(None, ["stable"], left) == "kde"
    assert next_room("docs", ["docs", "stable"], left) == "docs"
    assert next_room("kde", ["kde", "stable"], {"stable": 9, "docs": 2}) == "docs"
    assert next_room("docs", ["docs", "stable"], {"stable": 9, "kde": 1}) == "kde"
    assert next_room("kde", ["kde", "stable", "docs"], {"stable": 3, "docs": 2}) == "stable"
