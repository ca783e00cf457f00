from __future__ import annotations

import re

import pytest

from devsan.errors import UsageError
from devsan.gpu_list import MAX_GPUS
from devsan.options import DEFAULT_GPUS, OPTIONS, Options, find_option, from_values, read_variable
from devsan.sizes import read_size, write_size

GIB = 2**30
KEYS = ", ".join(option.key for option in OPTIONS)


def sentence(make) -> str:
    with pytest.raises(UsageError) as caught:
        make()
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("24GiB", 24 * GIB), ("24gib", 24 * GIB), (" 24 GiB ", 24 * GIB), ("512MiB", 2**29), ("1.5GiB", 3 * 2**29),
        ("80GB", 80 * 10**9), ("7B", 7), ("0", 0), ("0B", 0), ("0.1KB", 100), ("8388607TiB", 8388607 * 2**40),
        ("9007199254740993B", 9007199254740993),
    ],
)  # fmt: skip
def test_sizes(text, amount):
    assert read_size(text) == amount
    assert read_size(write_size(amount)) == amount


@pytest.mark.parametrize("text", ["", "GiB", "24XiB", "1e9B", "-1GiB", "nan", "1.GiB", "8388608TiB", "24 GiB GiB"])
def test_wrong_sizes(text):
    assert sentence(lambda: read_size(text)).startswith("expected a size ")


@pytest.mark.parametrize(
    ("text", "hint"), [("24", "24GiB"), ("24G", "24GiB"), ("24g", "24GiB"), ("16M", "16MiB"), ("3t", "3TiB")]
)
def test_a_size_without_a_unit_names_the_nearest(text, hint):
    assert sentence(lambda: read_size(text)).endswith(f"did you mean {hint}?")


@pytest.mark.parametrize(
    ("amount", "text"), [(24 * GIB, "24GiB"), (2**29, "512MiB"), (2**40, "1TiB"), (1000, "1000B"), (0, "0B")]
)
def test_sizes_are_written_in_the_largest_exact_unit(amount, text):
    assert write_size(amount) == text


VARIABLES = [
    "gpus=4:profile=a100-80g",
    "gpus=1",
    "gpus=64",
    "gpus=a100-80g",
    "gpus=2*a100-80g,l4-24g",
    "gpus=l4-24g,t4-16g,l4-24g",
    "gpus=3:memory=24GiB",
    "gpus=3:full-size=yes",
    "gpus=8:full-size=yes:real-below=1MiB",
    "gpus=8:full-size=yes:weights=index",
    "gpus=8:ranks=first,8-15,-2,last",
    "gpus=2:memory=24GiB,512MiB:used-memory=1GiB,0B",
    "gpus=2:used-memory=3B:format=off",
    "gpus=2:history=256MiB",
    "memory=1.5GiB",
    "profile=L4-24G",
    "",
    ":",
    ":gpus=3:",
    " gpus=3 ",
]


@pytest.mark.parametrize("text", VARIABLES)
def test_round_trip(text):
    options = read_variable(text)
    written = options.to_variable()
    assert written.startswith("gpus=")
    assert read_variable(written) == options
    assert read_variable(written).to_variable() == written
    assert read_variable(written).devices() == options.devices()


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_reads_back_what_it_writes(option):
    values = {
        "gpus": ["2", "l4-24g"],
        "profile": ["l4-24g"],
        "memory": ["1GiB"],
        "used-memory": ["0B"],
        "policy": ["stop", "warn"],
        "check": ["streams"],
        "history": ["256MiB"],
        "real-below": ["64KiB", "0B"],
        "weights": ["auto", "none", "index", "real"],
        "ranks": ["0,7,504-511", "0,-2,last", "1-last"],
        "format": ["off", "github"],
        "output": ["/run.dvs"],
        "lang": ["zh", "en"],
        "fail-on": ["error", "warning", "never"],
        "error-exitcode": ["9", "0"],
        **{option.key: ["yes", "no"] for option in OPTIONS if option.is_flag},
    }
    for text in values[option.key]:  # a KeyError here: a new option needs a line above
        assert option.write(option.read(text)) == text
    assert option.help and option.metavar
    assert getattr(Options(), option.name) == option.default


def test_defaults():
    devices = Options().devices()
    assert [device.profile for device in devices] == ["a100-80g"] * DEFAULT_GPUS
    assert [device.used_memory for device in devices] == [0] * DEFAULT_GPUS


def test_a_later_key_wins():
    assert read_variable("gpus=4:memory=1GiB:gpus=2").to_variable() == "gpus=2:memory=1GiB"


def test_base_is_kept_where_nothing_is_given():
    base = read_variable("gpus=3:profile=l4-24g:memory=1GiB")
    assert read_variable("memory=2GiB", base).to_variable() == "gpus=3:profile=l4-24g:memory=2GiB"
    assert base.updated({"gpus": "t4-16g,t4-16g"}).to_variable() == "gpus=2*t4-16g:memory=1GiB"
    assert base.updated({"gpus": "5"}).devices()[4].profile == "l4-24g"


@pytest.mark.parametrize(
    ("words", "format"),
    [
        ({"output": "run.html"}, "html"),
        ({"output": "run.sarif"}, "sarif"),
        ({"output": "run.json"}, "json"),
        ({"output": "run.Perfetto.json"}, "perfetto"),
        ({"output": "perfetto.json"}, "json"),
        ({"output": "run.dvs"}, "terminal"),
        ({"output": "run"}, "terminal"),
        ({"output": "run.html", "format": "terminal"}, "terminal"),
    ],
)
def test_the_ending_of_the_output_chooses_the_format(words, format):
    assert Options().updated(words).format == format
    assert read_variable("format=json").updated({"output": "run.html"}).format == "json"


@pytest.mark.parametrize("output", ["run.pdf", "run.terminal", "run.json.gz"])
def test_a_run_file_does_not_look_like_another_file(output: str):
    expected = f"output that ends with .dvs, .json, .html, .sarif or .perfetto.json, got '{output}'"
    with pytest.raises(UsageError, match=re.escape(expected)):
        Options().updated({"output": output})


def test_devices():
    devices = read_variable("gpus=2*l4-24g,t4-16g:memory=1GiB,2GiB,3GiB:used-memory=1B").devices()
    assert [device.profile for device in devices] == ["l4-24g", "l4-24g", "t4-16g"]
    assert [device.total_memory for device in devices] == [GIB, 2 * GIB, 3 * GIB]
    assert [device.used_memory for device in devices] == [1, 1, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu=4", f"expected an option ({KEYS}), got 'gpu'; did you mean 'gpus'?"),
        ("zzz=4", f"expected an option ({KEYS}), got 'zzz'"),
        ("4", "expected key=value in DEVSAN_OPTIONS, got '4'; did you mean 'gpus=4'?"),
        ("gpus=4:a100-80g", "expected key=value in DEVSAN_OPTIONS, got 'a100-80g'; did you mean 'profile=a100-80g'?"),
        ("gpus=2:24GiB", "expected key=value in DEVSAN_OPTIONS, got '24GiB'; did you mean 'memory=24GiB'?"),
        ("gpus", "expected key=value in DEVSAN_OPTIONS, got 'gpus'; did you mean 'gpus=...'?"),
        ("gpus=", "expected gpus=GPUS, got gpus without a value"),
        ("gpus=0", "expected 1 to 64 GPUs, got 0"),
        ("gpus=-3", "expected 1 to 64 GPUs, got -3"),
        (f"gpus={MAX_GPUS + 1}", "expected 1 to 64 GPUs, got 65"),
        ("gpus=0*l4-24g", "expected 1 to 64 GPUs, got 0"),
        ("gpus=x*l4-24g", "expected a number before * in a list of GPUs, got 'x*l4-24g'; did you mean '2*l4-24g'?"),
        ("gpus=a100", "expected a GPU profile (devsan profiles lists them), got 'a100'; did you mean a100-80g?"),
        ("gpus=l4-24g,,t4-16g", "expected a GPU profile (devsan profiles lists them), got ''"),
    ],
)  # fmt: skip
def test_sentences(text, expected):
    assert sentence(lambda: read_variable(text)) == expected


def test_contradictions():
    assert "one for each of 4 GPUs, got 2 sizes" in sentence(read_variable("gpus=4:memory=1GiB,2GiB").devices)
    assert "for used-memory, or one for each of 2 GPUs" in sentence(
        read_variable("gpus=2:used-memory=1B,2B,3B").devices
    )
    assert "either in gpus or in profile" in sentence(read_variable("gpus=l4-24g:profile=t4-16g").devices)
    assert "used-memory of cuda:1 to be at most" in sentence(read_variable("memory=2GiB,1GiB:used-memory=2GiB").devices)
    assert "gpus=real without full-size" in sentence(read_variable("gpus=real:full-size=yes").devices)
    assert "memory of cuda:1 greater than 0" in sentence(read_variable("memory=2GiB,0").devices)


def test_from_values():
    assert from_values(gpus=4, profile=None, memory=GIB) == read_variable("gpus=4:memory=1GiB")
    assert from_values(gpus=["l4-24g", "t4-16g"], memory=["1GiB", 5 << 20]) == read_variable(
        "gpus=l4-24g,t4-16g:memory=1GiB,5MiB"
    )
    assert from_values(gpus="4:l4-24g") == read_variable("gpus=4*l4-24g")
    assert from_values(gpus=2, used_memory=0).devices()[1].used_memory == 0
    assert from_values(full_size=True, real_below=4096) == read_variable("full-size=yes:real-below=4KiB")
    assert "got 'gpuz'" in sentence(lambda: from_values(gpuz=2))
    assert "got 0" in sentence(lambda: from_values(gpus=0))
    assert "'True'" in sentence(lambda: from_values(gpus=True))
    assert "'-5B'" in sentence(lambda: from_values(memory=-5))


@pytest.mark.parametrize(
    ("name", "number", "told"),
    [
        ("memory", 24, "expected memory of at least 1MiB, got 24 bytes; did you mean '24GiB', or 24 * 2**30?"),
        ("memory", ["24GiB", 80], "at least 1MiB, got 80 bytes; did you mean '80GiB', or 80 * 2**30?"),
        ("memory", 24000, "got 24000 bytes; did you mean '24000MiB', or 24000 * 2**20?"),
        ("used_memory", 8, "expected used_memory of at least 1MiB, got 8 bytes; did you mean '8GiB', or 8 * 2**30?"),
    ],
)
def test_a_number_without_a_unit_that_is_meant_in_another_one(name, number, told):
    assert told in sentence(lambda: from_values(**{name: number}))


def test_find_option_is_the_list():
    assert [find_option(option.name) for option in OPTIONS] == list(OPTIONS)
