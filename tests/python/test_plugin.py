"""The pytest plugin, in pytests of its own, over the fake of the core in tests/cli/fakes."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "cli" / "fakes"
pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Runs pytest in a new process with the plugin and the fake core; returns the result and the fake's log."""
    for name in list(os.environ):
        if name.startswith(("DEVSAN", "PYTEST_")) and name != "PYTEST_DEBUG_TEMPROOT":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(FAKES)]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # an installed devsan would be registered twice
    log = pytester.path / "fake.log"
    monkeypatch.setenv("FAKE_LOG", str(log))

    def call(*words: str):
        log.unlink(missing_ok=True)
        result = pytester.runpytest_subprocess("-p", "devsan.testing.plugin", "--strict-markers", *words)
        return result, log.read_text().splitlines() if log.exists() else []

    return call


def test_off_until_asked(pytester, run):
    pytester.makepyfile("""
        import os, sys
        def test_light():
            heavy = {"torch", "numpy", "rich", "devsan.profiles.json"} & set(sys.modules)
            assert not heavy
            assert "DEVSAN_OPTIONS" not in os.environ
    """)
    result, log = run()
    result.assert_outcomes(passed=1)
    assert log == []
    assert "devsan" not in str(result.stdout).partition("rootdir")[2].splitlines()[1]


def test_a_devsan_that_is_imported_before_pytest_is_no_warning(pytester, monkeypatch):
    installed = pytester.mkdir("devsan-0.1.0.dist-info")
    installed.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: devsan\nVersion: 0.1.0\n", encoding="utf-8")
    installed.joinpath("RECORD").write_text("devsan/__init__.py,,\n", encoding="utf-8")
    installed.joinpath("entry_points.txt").write_text("[pytest11]\ndevsan = devsan.testing.plugin\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pytester.path), str(ROOT)]))
    pytester.makepyfile("def test(): pass")
    warning = "Module already imported so cannot be rewritten; devsan:pytest.PytestAssertRewriteWarning"
    code = f"import devsan, pytest, sys; sys.exit(pytest.main(['-W', 'error:{warning}']))"
    assert pytester.run(sys.executable, "-c", code).ret == 0


def test_option_emulates_the_whole_session(pytester, run):
    pytester.makeconftest("""
        import os
        def pytest_collection_modifyitems():
            assert os.environ["DEVSAN_OPTIONS"] == "gpus=3:profile=l4-24g"
    """)
    pytester.makepyfile("""
        import os, sys
        def test_one(): assert os.environ["DEVSAN_OPTIONS"] == "gpus=3:profile=l4-24g"
        def test_reports_are_left_to_pytest(): assert sys.excepthook is sys.__excepthook__
        def test_two(emulated_gpus):
            assert [(gpu.type, gpu.index) for gpu in emulated_gpus] == [("cuda", 0), ("cuda", 1), ("cuda", 2)]
    """)
    result, log = run("--devsan-gpus", "3", "--devsan-profile=l4-24g")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["devsan: emulated GPUs: NVIDIA L4, NVIDIA L4, NVIDIA L4"])
    assert log == ["start l4-24g,l4-24g,l4-24g", "stop"]


def test_a_file_that_exists_is_kept_and_the_refusal_names_the_option_of_pytest(pytester, run):
    pytester.makepyfile("def test(): pass")
    pytester.path.joinpath("run.html").write_text("kept", encoding="utf-8")
    result, log = run("--devsan-gpus=2", "--devsan-output=run.html")
    assert (result.ret, log) == (pytest.ExitCode.USAGE_ERROR, [])
    refusal = "*expected a new file for output, or --devsan-force to replace it, got '*run.html', which exists"
    result.stderr.fnmatch_lines([refusal])


def test_mark_and_fixture(pytester, run):
    pytester.makepyfile("""
        import os, pytest
        @pytest.fixture
        def model():
            yield os.environ.get("DEVSAN_OPTIONS")
            assert "DEVSAN_OPTIONS" in os.environ      # still emulated while fixtures are torn down
        @pytest.mark.gpus(4, profile="a100-80g", memory="1GiB")
        def test_mark(model):
            assert model == "gpus=4:profile=a100-80g:memory=1GiB"
        @pytest.mark.gpus("l4-24g,t4-16g")
        def test_list(emulated_gpus):
            assert len(emulated_gpus) == 2
        def test_default(emulated_gpus):
            assert [gpu.index for gpu in emulated_gpus] == [0, 1]
        def test_none():
            assert "DEVSAN_OPTIONS" not in os.environ
        @pytest.mark.gpus(1)
        class TestClass:
            @pytest.mark.gpus(2)
            def test_nearest(self, emulated_gpus): assert len(emulated_gpus) == 2
            def test_class(self, emulated_gpus): assert len(emulated_gpus) == 1
        @pytest.mark.gpus(2)
        def test_fails(): assert False
    """)
    result, log = run()
    result.assert_outcomes(passed=6, failed=1)
    assert log == [
        "start a100-80g,a100-80g,a100-80g,a100-80g", "stop",
        "start l4-24g,t4-16g", "stop",
        "start a100-80g,a100-80g", "stop",
        "start a100-80g,a100-80g", "stop",
        "start a100-80g", "stop",
        "start a100-80g,a100-80g", "stop",
    ]  # fmt: skip


def test_mark_within_an_emulated_session(pytester, run):
    pytester.makepyfile("""
        import os, pytest
        def test_a(): assert os.environ["DEVSAN_OPTIONS"] == "gpus=2"
        @pytest.mark.gpus(1)
        def test_b(): assert os.environ["DEVSAN_OPTIONS"] == "gpus=1"
        @pytest.mark.gpus(2)
        def test_same(): assert os.environ["DEVSAN_OPTIONS"] == "gpus=2"
        def test_c(): assert os.environ["DEVSAN_OPTIONS"] == "gpus=2"
    """)
    result, log = run("--devsan-gpus=2")
    result.assert_outcomes(passed=4)
    two, one = "start a100-80g,a100-80g", "start a100-80g"
    assert log == [two, "stop", one, "stop", two, "stop"]


def test_wrong_option(pytester, run):
    pytester.makepyfile("def test(): pass")
    result, log = run("--devsan-gpus", "2:a100")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: devsan: expected a GPU profile *, got 'a100'; did you mean a100-80g[?]"])
    assert log == []


def test_wrong_mark(pytester, run):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.gpus(0)
        def test_zero(): pass
        @pytest.mark.gpus(2, profil="l4-24g")
        def test_keyword(): pass
        def test_after(): pass
    """)
    result, log = run()
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(["devsan: expected 1 to 64 GPUs, got 0", "*got 'profil'; did you mean 'profile'[?]"])
    result.stdout.no_fnmatch_line("During handling of the above exception*")
    assert log == []


def test_a_core_that_does_not_start(pytester, run, monkeypatch):
    monkeypatch.setenv("FAKE_FAILURE", "ImportError:no _core")
    pytester.makepyfile("""
        import pytest
        @pytest.mark.gpus(2)
        def test_marked(): pass
        def test_after(): pass
    """)
    result, _ = run()
    result.assert_outcomes(errors=1, passed=1)
    result, _ = run("--devsan-gpus=2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: devsan: DevSan cannot start: ImportError: no _core"])


def test_fixture_asked_for_too_late(pytester, run):
    pytester.makepyfile("""
        def test(request): request.getfixturevalue("emulated_gpus")
    """)
    result, log = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["devsan: expected emulated_gpus in the test's signature, *"])
    assert log == []


def test_unittest_classes(pytester, run):
    pytester.makepyfile("""
        import os, pytest, unittest
        @pytest.mark.gpus(2)
        class Test(unittest.TestCase):
            def setUp(self): self.seen = os.environ["DEVSAN_OPTIONS"]
            def test(self): assert self.seen == "gpus=2"
    """)
    result, log = run()
    result.assert_outcomes(passed=1)
    assert log == ["start a100-80g,a100-80g", "stop"]


def test_xdist(pytester, run):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    pytester.makepyfile("""
        import os, pytest
        @pytest.mark.parametrize("n", range(4))
        def test(n, emulated_gpus):
            assert os.environ["DEVSAN_OPTIONS"] == "gpus=3" and len(emulated_gpus) == 3
    """)
    result, log = run("-p", "xdist", "-n", "2", "--devsan-gpus=3")
    result.assert_outcomes(passed=4)
    # One emulation in each worker and none in the process that hands out the tests.
    assert sorted(log) == ["start a100-80g,a100-80g,a100-80g"] * 2 + ["stop"] * 2


DEVICE_ERROR = """
    def test_devices():
        raise RuntimeError("Expected all tensors to be on the same device, "
                           "but found at least two devices, cuda:0 and cpu!")
    def test_other():
        assert False
"""


@pytest.mark.parametrize(
    ("words", "conftest", "told"),
    [
        ((), "", False),
        (("--devsan-report",), "", True),
        (("--devsan-gpus=real",), "", True),
        (("--devsan-gpus=real", "--no-devsan-report"), "", False),
        (("--devsan-report", "--show-capture=no", "--tb=line"), "", True),
        ((), "import devsan; devsan.install()", True),
    ],
)
def test_report_of_a_failed_test(pytester, monkeypatch, words, conftest, told):
    for name in list(os.environ):
        if name.startswith("DEVSAN"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(DEVICE_ERROR)
    pytester.makeconftest(conftest)
    result = pytester.runpytest_subprocess("-p", "devsan.testing.plugin", *words)
    result.assert_outcomes(failed=2)
    report = ["*- DevSan -*", "error: operands are on cuda:0 and cpu", "*test_report_of_a_failed_test.py:2:5"]
    if told:
        result.stdout.fnmatch_lines(report)
        assert str(result.stdout).count("error: operands") == 1
        assert "= torch: " not in str(result.stdout), "pytest's own traceback has the sentence"
    else:
        result.stdout.no_fnmatch_line("error: operands*")


@pytest.mark.skipif(
    importlib.util.find_spec("devsan._core") is None, reason="devsan._core is not built: this runs the real emulation"
)
def test_end_to_end(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("""
        import pytest, torch
        @pytest.mark.gpus(3, profile="t4-16g", memory="1GiB")
        def test_mark(emulated_gpus):
            assert torch.cuda.device_count() == 3 == len(emulated_gpus)
            assert torch.cuda.get_device_properties(2).total_memory == 2**30
            assert torch.ones(2, device=emulated_gpus[2]).sum().item() == 2
        def test_after():
            assert not torch.cuda.is_available()
        def test_default(emulated_gpus):
            with pytest.raises(RuntimeError, match="same device"):
                torch.ones(2, device=emulated_gpus[0]) + torch.ones(2, device=emulated_gpus[1])
    """)
    result = pytester.runpytest_subprocess("-p", "devsan.testing.plugin")
    result.assert_outcomes(passed=3)


@pytest.mark.skipif(
    importlib.util.find_spec("devsan._core") is None, reason="devsan._core is not built: this runs the real emulation"
)
def test_a_failed_test_names_the_line_that_has_its_fix_tried(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.mkdir("deep").joinpath("test_it.py").write_text(
        "import pytest, torch\n"
        "@pytest.mark.gpus(3, memory='1GiB')\n"
        "@pytest.mark.parametrize('n', [2])\n"
        "def test_mixed(n):\n"
        "    torch.ones(n, device='cuda:1') + torch.ones(n, device='cuda:2')\n"
    )
    result = pytester.runpytest_subprocess("-p", "devsan.testing.plugin")
    result.assert_outcomes(failed=1)
    line = "$ devsan fix --gpus=3 --memory=1GiB -m pytest 'deep/test_it.py::test_mixed[2]'"
    assert line in str(result.stdout).splitlines()


def test_findings_change_the_exit_code(pytester, run):
    """Also those of a worker of pytest-xdist; a finding alone, and one of a test that fails by itself."""
    pytester.makepyfile("""
        from devsan.run_files import tally
        def test_warns(): tally.add("warning")
    """)
    for words, code in (
        ((), 0), (("--devsan-fail-on=error",), 0), (("--devsan-fail-on=warning",), 1),
        (("--devsan-fail-on=warning", "--devsan-error-exitcode=9"), 9),
    ):  # fmt: skip
        result, log = run(*words)
        assert (result.ret, log) == (code, []), "no GPUs are emulated for it"
    result, _ = run("-p", "xdist", "-n1", "--devsan-fail-on=warning", "--devsan-error-exitcode=9")
    assert result.ret == 9
