"""docs/reference/doctor-rules.md says what the rules' own files say, and their examples are true."""

from __future__ import annotations

import importlib
import re
import textwrap
from pathlib import Path

import pytest

from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.detectors import own_code
from devsan.doctor.source import check, rules

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/doctor-rules.md"
HEADINGS = ["What it does", "Why is this bad", "Example", "Use instead", "Fix safety"]
NAME = f"{rules.__name__}."
FILES = sorted(rule.__module__.removeprefix(NAME) for rule in rules.RULES)
# What an example needs around it, to be a program.
AROUND = {
    "fresh_tensor": "import torch\n\n\nclass Net(torch.nn.Module):\n{indented}",
    "unregistered_state": "import torch\n\n\nclass Net(torch.nn.Module):\n{indented}\n"
    "    def forward(self, x):\n        return x * self.scale\n",
    "host_boundary": 'import torch\n\nmodel = torch.nn.Linear(4, 4).to("cuda")\n{text}',
    "single_device_assumption": "import torch\nfrom transformers import AutoModelForCausalLM\n\n"
    "width, name = 8, 'gpt2'\n{text}",
    "reduction_boundary.losses": "import torch\nfrom transformers import AutoModelForCausalLM\n\n"
    "width, name = 8, 'gpt2'\n{text}",
    "moved_after_dispatch": "from transformers import AutoModelForCausalLM\n\nname = 'gpt2'\n{text}",
    "data_parallel_on_placed_model": "import torch\nfrom transformers import AutoModelForCausalLM\n\n"
    "name = 'gpt2'\n{text}",
    "map_in_ranks": "import os\n\nimport torch\nfrom transformers import AutoModelForCausalLM\n\nname = 'gpt2'\n{text}",
    "current_device.load_without_map": "import torch\n\ntorch.cuda.set_device(0 if False else int(input()))\n"
    'torch.distributed.init_process_group("nccl")\nmodel, path = torch.nn.Linear(2, 2), "model.pt"\n{text}',
    "map_gap.placement_list": "import torch\nfrom torch import nn\n\nbatch = torch.ones(2, 4)\n\n\n"
    "class Classifier(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(4, 4)\n"
    "        self.body = nn.Linear(4, 4)\n\n    def forward(self, x):\n        return self.head(self.body(x))\n\n\n"
    "{text}",
    "current_device.wrong_gpu": "import torch\n\nx = torch.ones(2, 4, device='cuda:1')\n{text}",
    "shared_gpu": "import os\n\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel\n\n\n"
    "class Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(2, 2)\n\n\n{text}",
    "current_device.bare_gpu_in_ranks": "import os\n\nimport torch\n\nNet = lambda: torch.nn.Linear(2, 2)\n{text}",
    "stale_device_cache": "import torch\n\ncache = {{}}\n\n\n{text}\n\nfor i in range(2):\n"
    "    x = torch.randn(3, 4, device=f'cuda:{{i}}')\n    y = x[:, :3] + mask(x.shape[0], x.device)\n",
    "kv_cache": "import torch\n\nx = torch.randn(2, 8)\n{text}"
    "for layer, state in zip(layers, states):\n    rnn_state = layer(x.to(layer.weight_ih.device), state)\n",
    "split_block": "import torch\nfrom accelerate import dispatch_model\n\n\nclass Block(torch.nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n"
    "        self.norm, self.mlp = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)\n\n"
    "    def forward(self, x):\n        return self.norm(x) + self.mlp(x)\n\n\n{text}\nmodel(torch.ones(2, 4))\n",
    "reduction_boundary.running_total": "import torch\n\n"
    "model = torch.nn.Linear(4, 1).cuda()\nloader = [torch.ones(2, 4).cuda()]\n\n\n"
    "def loss_of(model, batch):\n    return model(batch).mean()\n\n\n{text}",
    "sidecar_state": "import torch\nfrom torch import nn\n\nbatch = torch.ones(2, 4)\n\n\nclass Base(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(4, 4)\n\n"
    "    def forward(self, x):\n        return self.layer(x)\n\n\nclass LoraLinear(nn.Module):\n"
    "    def __init__(self, base, rank):\n        super().__init__()\n        self.base = base\n"
    "        self.lora = nn.Parameter(torch.zeros(4, 4))\n\n    def forward(self, x):\n"
    "        return self.base(x) + x @ self.lora\n\n\n{text}",
    "map_gap.map_without_rotary": "from transformers import AutoModelForCausalLM\n\nname = 'llama'\n{text}",
    "refused_owners": "from transformers import AutoModelForCausalLM, pipeline\n\nname, tokenizer = 'gpt2', None\n"
    "{text}",
    "visible_devices": "import os\n\nimport torch\n\nNet = lambda: torch.nn.Linear(2, 2)\n{text}",
    "late_visible_devices": "import os\n\nimport torch\n\n{text}",
}
PLAIN = "import torch\n\nmodel = torch.nn.Linear(4, 4)\n{text}"


def parts(name: str) -> tuple[str, dict[str, str]]:
    """The first line of a rule's file, and its sections."""
    documentation = importlib.import_module(NAME + name).__doc__ or ""
    title, *rest = re.split(rf"^({'|'.join(HEADINGS)})$", documentation, flags=re.MULTILINE)
    return title.strip(), {
        heading: textwrap.dedent(text).strip() for heading, text in zip(rest[::2], rest[1::2], strict=True)
    }


def file_of(name: str) -> str:
    return f"devsan/doctor/source/rules/{name.replace('.', '/')}.py"


def rendered() -> str:
    before = PAGE.read_text(encoding="utf-8").partition("## The rules\n")[0].rstrip()
    lines = ["## The rules", ""]
    for title, sections, name in sorted((*parts(name), name) for name in FILES):
        codes, _, said = title.partition(": ")
        lines += [
            f"### {codes}: {said.rstrip('.')}",
            "",
            f"`devsan/doctor/source/rules/{name.replace('.', '/')}.py`",
            "",
        ]
        for heading, text in sections.items():
            if heading in ("Example", "Use instead"):
                lines += [f"**{heading}**", "", "```python", *text.splitlines(), "```", ""]
            else:
                lines += [f"**{heading}.** " + " ".join(text.split()), ""]
    wrapped = []
    for line in lines:
        wrapped += (
            textwrap.wrap(line, 120, break_long_words=False, break_on_hyphens=False) if len(line) > 120 else [line]
        )
    return before + "\n\n" + "\n".join(wrapped).rstrip() + "\n"


@pytest.mark.parametrize("name", FILES)
def test_a_rule_says_all_five(name: str):
    title, sections = parts(name)
    assert list(sections) == HEADINGS
    assert re.findall(r"DV\d{3}", title) == [own_code(NAME + name)]
    source = (ROOT / file_of(name)).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 150


@pytest.mark.parametrize("name", FILES)
def test_the_example_is_found_and_what_to_use_instead_is_clean(name: str, tmp_path: Path):
    title, sections = parts(name)
    path = tmp_path / "example.py"
    for heading in ("Example", "Use instead"):
        text = sections[heading] + "\n"
        around = AROUND.get(name, PLAIN)
        path.write_text(around.format(text=text, indented=textwrap.indent(text, "    ")))
        result = check([path])
        assert result.notes == []
        found = {finding.code for finding in result.findings if finding.severity != "note"}
        assert found == ({title[:5]} if heading == "Example" else set()), path.read_text()


def test_the_reference_is_what_the_rules_say(request: pytest.FixtureRequest):
    wanted = rendered()
    if request.config.getoption("--bless"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run this test with --bless"


@pytest.mark.parametrize("code", [code for code in all_codes() if code >= "DV450" and code < "DV500"])
def test_the_page_shows_what_is_found(code: str, tmp_path: Path):
    page = all_codes()[code].page()
    example, fixed = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (sentence,) = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    path = tmp_path / "example.py"
    path.write_text(example)
    (finding,) = check([path]).findings
    assert (finding.code, finding.title) == (code, sentence.strip())
    path.write_text(fixed)
    assert check([path]).findings == []
