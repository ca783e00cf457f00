"""docs/reference/doctor-rules.md says what the rules' own files say, and their examples are true."""

from __future__ import annotations

import importlib
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

from devsan.doctor.source import judge, rules
from devsan.pages import all_codes, read_page

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/doctor-rules.md"
HEADINGS = ["What it does", "Why is this bad", "Example", "Use instead", "Fix safety"]
FILES = sorted(each.name for each in pkgutil.iter_modules(rules.__path__) if each.name != "signs")
# What an example needs around it, to be a program.
AROUND = {
    "fresh_tensor": "import torch\n\n\nclass Net(torch.nn.Module):\n{indented}",
    "plain_attribute": "import torch\n\n\nclass Net(torch.nn.Module):\n{indented}\n"
    "    def forward(self, x):\n        return x * self.scale\n",
    "host_boundary": 'import torch\n\nmodel = torch.nn.Linear(4, 4).to("cuda")\n{text}',
    "device_value": "import torch\nfrom transformers import AutoModelForCausalLM\n\nwidth, name = 8, 'gpt2'\n{text}",
    "moved_after_dispatch": "from transformers import AutoModelForCausalLM\n\nname = 'gpt2'\n{text}",
    "wrapped_placed_model": "import torch\nfrom transformers import AutoModelForCausalLM\n\nname = 'gpt2'\n{text}",
    "map_in_ranks": "import os\n\nimport torch\nfrom transformers import AutoModelForCausalLM\n\nname = 'gpt2'\n{text}",
    "load_without_map": "import torch\n\ntorch.cuda.set_device(0 if False else int(input()))\n"
    'torch.distributed.init_process_group("nccl")\nmodel, path = torch.nn.Linear(2, 2), "model.pt"\n{text}',
    "map_gap": "import torch\nfrom torch import nn\n\nbatch = torch.ones(2, 4)\n\n\nclass Classifier(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(4, 4)\n"
    "        self.body = nn.Linear(4, 4)\n\n    def forward(self, x):\n        return self.head(self.body(x))\n\n\n"
    "{text}",
    "current_device": "import torch\n\nx = torch.ones(2, 4, device='cuda:1')\n{text}",
    "shared_gpu": "import os\n\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel\n\n\n"
    "class Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(2, 2)\n\n\n{text}",
    "bare_gpu_in_ranks": "import os\n\nimport torch\n\nNet = lambda: torch.nn.Linear(2, 2)\n{text}",
    "stale_cache": "import torch\n\ncache = {{}}\n\n\n{text}\n\nfor i in range(2):\n"
    "    x = torch.randn(3, 4, device=f'cuda:{{i}}')\n    y = x[:, :3] + mask(x.shape[0], x.device)\n",
    "generation_state": "import torch\n\nx = torch.randn(2, 8)\n{text}"
    "for layer, state in zip(layers, states):\n    rnn_state = layer(x.to(layer.weight_ih.device), state)\n",
    "split_block": "import torch\nfrom accelerate import dispatch_model\n\n\nclass Block(torch.nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n"
    "        self.norm, self.mlp = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)\n\n"
    "    def forward(self, x):\n        return self.norm(x) + self.mlp(x)\n\n\n{text}\nmodel(torch.ones(2, 4))\n",
    "running_total": "import torch\n\nmodel = torch.nn.Linear(4, 1).cuda()\nloader = [torch.ones(2, 4).cuda()]\n\n\n"
    "def loss_of(model, batch):\n    return model(batch).mean()\n\n\n{text}",
    "adapter_beside": "import torch\nfrom torch import nn\n\nbatch = torch.ones(2, 4)\n\n\nclass Base(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(4, 4)\n\n"
    "    def forward(self, x):\n        return self.layer(x)\n\n\nclass LoraLinear(nn.Module):\n"
    "    def __init__(self, base, rank):\n        super().__init__()\n        self.base = base\n"
    "        self.lora = nn.Parameter(torch.zeros(4, 4))\n\n    def forward(self, x):\n"
    "        return self.base(x) + x @ self.lora\n\n\n{text}",
    "map_without_rotary": "from transformers import AutoModelForCausalLM\n\nname = 'llama'\n{text}",
    "device_beside_map": "from transformers import AutoModelForCausalLM, pipeline\n\nname, tokenizer = 'gpt2', None\n"
    "{text}",
    "late_visible_devices": "import os\n\nimport torch\n\n{text}",
}
PLAIN = "import torch\n\nmodel = torch.nn.Linear(4, 4)\n{text}"


def parts(name: str) -> tuple[str, dict[str, str]]:
    """The first line of a rule's file, and its sections."""
    documentation = importlib.import_module(f"devsan.doctor.source.rules.{name}").__doc__ or ""
    title, *rest = re.split(rf"^({'|'.join(HEADINGS)})$", documentation, flags=re.MULTILINE)
    return title.strip(), {
        heading: textwrap.dedent(text).strip() for heading, text in zip(rest[::2], rest[1::2], strict=True)
    }


def rendered() -> str:
    before = PAGE.read_text(encoding="utf-8").partition("## The rules\n")[0].rstrip()
    lines = ["## The rules", ""]
    for title, sections, name in sorted((*parts(name), name) for name in FILES):
        codes, _, said = title.partition(": ")
        lines += [f"### {codes}: {said.rstrip('.')}", "", f"`devsan/doctor/source/rules/{name}.py`", ""]
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
    codes = re.findall(r"DV\d{3}", title)
    assert codes and set(codes) <= {*all_codes(), "DV204", "DV301"}
    source = (ROOT / f"devsan/doctor/source/rules/{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 150
    assert set(re.findall(r'"(DV\d{3})"', source)) == set(codes)


@pytest.mark.parametrize("name", FILES)
def test_the_example_is_found_and_what_to_use_instead_is_clean(name: str, tmp_path: Path):
    title, sections = parts(name)
    path = tmp_path / "example.py"
    for heading in ("Example", "Use instead"):
        text = sections[heading] + "\n"
        around = AROUND.get(name, PLAIN)
        path.write_text(around.format(text=text, indented=textwrap.indent(text, "    ")))
        judgement = judge([path])
        assert judgement.notes == []
        found = {finding.code for finding in judgement.findings if finding.severity != "note"}
        assert found == ({title[:5]} if heading == "Example" else set()), path.read_text()


def test_the_reference_is_what_the_rules_say(request: pytest.FixtureRequest):
    wanted = rendered()
    if request.config.getoption("--bless"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run this test with --bless"


@pytest.mark.parametrize("code", [code for code in all_codes() if code >= "DV450" and code < "DV500"])
def test_the_page_shows_what_is_found(code: str, tmp_path: Path):
    page = read_page(code)
    example, repaired = re.findall(r"^```python\n(.*?)^```$", page.text, re.DOTALL | re.MULTILINE)
    (sentence,) = re.findall(r"^```text\n(.*?)^```$", page.text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "example.py"
    path.write_text(example)
    (finding,) = judge([path]).findings
    assert (finding.code, finding.title) == (code, sentence.strip())
    path.write_text(repaired)
    assert judge([path]).findings == []
