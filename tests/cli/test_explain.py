from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from devsan.diagnostics.codes import all_codes

ROOT = Path(__file__).parents[2]
PAGE = all_codes()["DV101"]


def test_lists_every_code_with_its_name(front) -> None:
    done = front.devsan("explain")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(all_codes())
    assert re.search(r"^DV101  single-device-assumption +The code uses one device value", done.stdout, re.MULTILINE)
    assert done.stderr == ""


def test_lists_in_chinese(front) -> None:
    done = front.devsan("explain", "--lang", "zh")
    assert done.returncode == 0, done.stderr
    assert all(re.search("[一-鿿]", line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("word", ["DV101", "dv101", "101", "single-device-assumption"])
def test_prints_the_page_as_it_is_when_piped(front, word: str) -> None:
    done = front.devsan("explain", word)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE.page()


def test_prints_the_chinese_page(front) -> None:
    done = front.devsan("explain", "DV101", "--lang", "zh")
    assert done.stdout == PAGE.page("zh")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["DV110O"], "did you mean DV110?"),
        (["split-blok"], "did you mean split-block?"),
        (["hello", "world"], "expected an error that DevSan explains, got 'hello world'"),
        (["zzz"], "expected a code that `devsan explain` lists, got 'zzz'"),
        (["找到至少两台设备"], "expected an error that DevSan explains, got '找到至少两台设备'"),
        (["DV101", "--lang", "zx"], "expected lang to be en or zh, got 'zx'; did you mean 'zh'?"),
    ],
)
def test_names_the_nearest_spelling(front, words: list[str], sentence: str) -> None:
    done = front.devsan("explain", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_locale_chooses_the_language(front) -> None:
    front.environment["LANG"] = "zh_CN.UTF-8"
    for name in ("DEVSAN_LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        front.environment.pop(name, None)
    assert front.devsan("explain", "DV101").stdout == PAGE.page("zh")
    assert front.devsan("explain", "DV101", "--lang", "en").stdout == PAGE.page()


def test_undecided_has_no_page(front) -> None:
    done = front.devsan("explain", "DV000")
    assert done.returncode == 2
    assert done.stderr == (
        "devsan: expected one of the codes that the report names as candidates, got 'DV000', which means undecided\n"
    )


@pytest.mark.parametrize("words", [["explain"], ["explain", "DV101"], ["profiles"], ["--help"], ["--version"]])
def test_a_reader_that_has_left_is_no_error(front, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "devsan", *words],
        cwd=front.folder,
        env=front.environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_renders_on_a_terminal(front) -> None:
    pty = pytest.importorskip("pty", reason="a terminal needs pty, which this system lacks")
    reader, writer = pty.openpty()
    environment = {**front.environment, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    shown = b""
    with subprocess.Popen(
        [sys.executable, "-m", "devsan", "explain", "DV108"],
        cwd=front.folder,
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writer)
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:  # the other side of a terminal is closed
                break
            if not piece:
                break
            shown += piece
    os.close(reader)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode("utf-8"))
    assert process.returncode == 0
    assert "```" not in text and "register_buffer" in text
    assert "\x1b[" in shown.decode("utf-8")
    assert max(map(len, text.splitlines())) <= 80


def test_words_of_a_summary_find_their_codes(front):
    assert front.devsan("explain", "optimizer", "stat").stdout == all_codes()["DV110"].page()
    listed = front.devsan("explain", "device", "map")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["DV105", "DV204"]
    assert "DV110" in front.devsan("explain", "optimizer").stdout
    listed = front.devsan("explain", "--lang", "zh", "随机数生成器")
    assert (listed.returncode, listed.stdout) == (0, all_codes()["DV111"].page("zh"))


@pytest.mark.parametrize(
    ("part", "codes"),
    [
        ("found at least two devices", {"DV101", "DV102"}),
        ("at least two devices, cuda:0 and cpu", {"DV102", "DV108"}),
    ],
)
def test_a_part_of_the_sentence_is_known(front, part: str, codes: set[str]):
    done = front.devsan("explain", part)
    assert done.returncode == 0
    assert codes <= {line.split()[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("error", "english", "chinese"),
    [
        ("CUDA error: device-side assert triggered", "at the line at fault", "下标越界"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "compute-sanitizer", "核函数自身的缺陷"),
        ("NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error", "NCCL_DEBUG=INFO", "不模拟网络"),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "DV501", "无法初始化"),
        ("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "DV501", "无法初始化"),
        ("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`", "a token id", "token id"),
        (
            "Expected to have finished reduction in the prior iteration before starting",
            "TORCH_DISTRIBUTED_DEBUG",
            "冻结",
        ),
        ("Expected to mark a variable ready only once.", "use_reentrant=False", "激活检查点"),
        ("KeyError: 'LOCAL_RANK'", "torchrun --nproc-per-node", "启动器"),
        ("env:// rendezvous: environment variable RANK expected, but not set", "a launcher sets", "启动器"),
        ("RuntimeError: 'weight' must be 2-D", "register_external_parameter", "切分"),
    ],
)
def test_an_error_that_has_no_code_is_told_in_a_few_sentences(front, error: str, english: str, chinese: str):
    for language, words in (("en", english), ("zh", chinese)):
        done = front.devsan("explain", "--lang", language, error)
        assert (done.returncode, done.stderr) == (0, "")
        assert words in " ".join(done.stdout.split()) or words in done.stdout.replace("\n", "")
        assert len(done.stdout.splitlines()) <= 8


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("CUDA error: no kernel image is available for execution on the device", "DV403"),
        ("CUDA out of memory. Tried to allocate 20.00 MiB.", "DV501"),
    ],
)
def test_a_common_error_of_cuda_has_its_page(front, error: str, code: str):
    assert front.devsan("explain", error).stdout == all_codes()[code].page()
