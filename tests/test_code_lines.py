"""A ratchet on the code lines of each package, as counted by `bench.code_lines`.

The numbers may fall. A package that outgrows its row needs a new row, which a reviewer sees.
"""

from __future__ import annotations

from collections import Counter

from bench.code_lines import lines
from tests.support.paths import ROOT

ROWS: dict[str, int] = {
    "bench": 6_700,
    "bench/engine_mutants": 900,
    "bench/playground": 250,
    "checker": 1_950,
    "checker/cli": 3_800,
    "checker/compiled": 450,
    "checker/evaluator": 1_100,
    "checker/lsp": 2_450,
    "checker/native": 12_050,
    "checker/printing": 200,
    "checker/reference": 100,
    "checker/regions": 1_800,
    "checker/report": 4_850,
    "checker/run": 2_150,
    "checker/search": 1_500,
    "checker/simulate": 850,
    "checker/spark": 2_650,
    "checker/symbolic": 3_050,
    "checker/systems": 6_500,
    "checker/temporal": 1_550,
    "checker/tla_export": 3_150,
    "checker/tools": 1_500,
    "checker/trace": 1_900,
    "checker/web": 300,
    "spec": 200,
    "spec/core": 2_550,
    "spec/elaborate": 11_150,
    "spec/mutation": 500,
    "spec/semantics": 1_350,
    "spec/syntax": 3_050,
    "spec/tla": 6_900,
    # The compiled path is counted apart from the front end and its evaluator, which are complete
    # without it.
    "spec/tla/inference": 550,
    "spec/tla/lowering": 4_250,
    "spec/text": 450,
    "tests": 800,
    "tests/bench": 1_150,
    "tests/checker": 22_050,
    "tests/docs": 550,
    "tests/live": 900,
    "tests/models": 1_650,
    "tests/naive": 1_250,
    "tests/random": 450,
    "tests/spark": 1_250,
    "tests/spec": 4_750,
    "tests/strategies": 3_550,
    "tests/support": 7_250,
}  # fmt: skip
"""The largest allowed number of code lines in the Python files of a folder and its subfolders."""


def counted() -> Counter[str]:
    """Counts the code lines of each package: a folder directly below one of the four top folders,
    or a top folder itself. A folder below a package is one as well if it has a row.
    """
    counts = Counter[str]()
    for top in ("spec", "checker", "tests", "bench"):
        for path in (ROOT / top).rglob("*.py"):
            folders = path.relative_to(ROOT).parts[:-1]
            part = "/".join(folders[:3])
            counts[part if part in ROWS else "/".join(folders[:2])] += lines(path)[0]
    return counts


def test_code_lines_of_packages() -> None:
    grown = [
        f'"{package}": {-(-count // 50) * 50:_},  # has {count:,}; the row is {ROWS.get(package)}'
        for package, count in sorted(counted().items())
        if count > ROWS.get(package, 0)
    ]
    assert not grown, "\n".join(["new rows, if the growth is intended:", *grown])
