"""Every use of a function that may run the code it reads, each with the reason why it is safe.

Input from files and users is read as data: by JSON, by `struct`, or by our own parsers, each of
which has limits. A new use needs a reason here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.paths import ROOT
from tests.support.text_tables import tables

TABLES = tables(Path(__file__))

MODULES = {
    "cloudpickle", "code", "codeop", "copyreg", "dill", "imp", "jinja2", "joblib", "jsonpickle",
    "marshal", "mako", "pickle", "runpy", "shelve", "torch", "xmlrpc", "yaml",
}  # fmt: skip
"""Modules that run code, or whose data formats can contain code."""
BUILT_IN = {"__import__", "compile", "eval", "exec"}
METHODS = {
    "addPyFile", "add_object_file", "allow_pickle", "exec_module", "import_module", "loads_pickle",
    "load_library_permanently", "newAPIHadoopFile", "objectFile", "parse_assembly",
    "parse_bitcode", "pickleFile", "run_module", "run_path", "sequenceFile",
    "spec_from_file_location", "unpack_archive",
}  # fmt: skip
"""Functions that turn their input into code or objects, including those of PySpark and llvmlite."""

OWN = "the module is one of this package, by a name in a table of ours"
KAFKA_PYTHON = "modules of kafka-python, by their names"
DRIVEN = "the user names a program to be driven: to run it is what the command is for"
REASONS = {
    ("spec/semantics/python_codegen.py", "exec"): (
        "the text is a template of that module; what a spec brings, numbers included, comes as "
        "arguments of the function that is made"
    ),
    ("spec/records.py", "exec"): (
        "the text is a template of that module, with the names of fields of our own classes; their "
        "defaults come beside it"
    ),
    ("checker/engines.py", "import_module"): OWN,
    ("checker/evaluator/program.py", "import_module"): OWN,
    ("checker/tools/replay.py", "import_module"): OWN,
    ("checker/cli/start.py", "import_module"): OWN,
    ("checker/pytest_plugin.py", "import_module"): OWN,
    ("checker/cli/options.py", "import_module"): OWN,
    ("checker/cli/lsp.py", "import_module"): OWN,
    ("checker/cli/simulate.py", "import_module"): OWN,
    ("checker/cli/conform.py", "import_module"): OWN,
    ("checker/systems/conform/many.py", "import_module"): OWN,
    ("checker/systems/kafka/cluster.py", "import_module"): KAFKA_PYTHON,
    ("checker/systems/kafka/requests.py", "import_module"): KAFKA_PYTHON,
    ("checker/systems/kafka/group_requests.py", "import_module"): KAFKA_PYTHON,
    ("checker/systems/drive/system.py", "import_module"): DRIVEN,
    ("checker/systems/drive/system.py", "exec_module"): DRIVEN,
    ("checker/systems/drive/system.py", "spec_from_file_location"): DRIVEN,
    ("checker/systems/spark/tasks.py", "pickle"): (
        "it reads what an executor of the same comparison has made, as Spark does itself; what is "
        "saved has no such column, and is not read again"
    ),
    ("checker/spark/levels.py", "pickle"): "an error of it, which Spark raises; it reads nothing",
    ("checker/native/search.py", "import_module"): OWN,
    ("checker/regions/search.py", "import_module"): OWN,
    ("checker/cli/explore.py", "import_module"): "readline, by its name",
    (".dev/fencepost/__init__.py", "import_module"): OWN,
    ("checker/native/machine/build.py", "parse_assembly"): (
        "the text is that which this process has made of a model; on an executor, that which the "
        "driver has sent"
    ),
    ("checker/native/machine/build.py", "add_object_file"): (
        "machine code from the cache, to which nobody else can write; it is found by the hash of "
        "all that it depends on, and has a hash of its own (`checker/native/machine/code_cache.py`)"
    ),
    ("checker/run/processes.py", "pickle"): (
        "it reads what a copy of this process has written into a pipe that nobody else has"
    ),
    ("checker/spark/session.py", "addPyFile"): "a zip file of this package, made just before",
    ("checker/spark/checkpoint.py", "sequenceFile"): (
        "each file begins as one of numbers and bytes must, which is looked at before; Java makes "
        "bytes of the bytes, and PySpark pickles these itself on their way from Java"
    ),
}
"""Spark itself pickles the objects that it sends between the driver and its executors, above all
tasks.

These processes belong to one user and one search and trust each other, whereas files that a user
names are not trusted.
"""

SOURCES = sorted(
    path
    for folder in ("spec", "checker", ".dev/fencepost")
    for path in (ROOT / folder).rglob("*.py")
)


def uses(text: str) -> Iterator[str]:
    """Yields the names that a module uses and that may run code."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (n.name for n in names if n.name.partition(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                if module.partition(".")[0] in MODULES:
                    yield module
                yield from (n.name for n in names if n.name in MODULES and not n.asname)
            case ast.Name(id=name) if name in BUILT_IN | METHODS:
                yield name
            case ast.Attribute(attr=name) if name in METHODS:
                yield name
            case ast.Call(args=[_, ast.Constant(value=str(name)), *_]) if (
                name in BUILT_IN | METHODS
            ):
                yield name  # A name passed as a string, as to ``getattr``.
            case ast.keyword(arg="allow_pickle"):
                yield "allow_pickle"
            case _:
                pass


def test_every_use_has_a_reason() -> None:
    present = {
        (path.relative_to(ROOT).as_posix(), use)
        for path in SOURCES
        for use in uses(path.read_text(encoding="utf-8"))
    }
    assert len(SOURCES) > 150
    assert present - REASONS.keys() == set(), "read it as data, or say why it is safe"
    assert REASONS.keys() - present == set(), "this is gone"


@pytest.mark.parametrize(("text", "use"), TABLES["uses_that_count"])
def test_uses_that_count(text: str, use: str) -> None:
    assert use in [*uses(text)]


@pytest.mark.parametrize("text", ["re.compile(x)", "model.eval(x)", "json.loads(x)", "'a pickle'"])
def test_uses_that_do_not_count(text: str) -> None:
    assert [*uses(text)] == []
