"""The README's code gives what the README says."""

import doctest
import pathlib
import re

README = pathlib.Path(__file__).parents[1] / "README.md"


def test_code():
    text = README.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, "README", str(README), 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=report.append)
    assert runner.tries == len(test.examples) > 15 and not runner.failures, "".join(report)
