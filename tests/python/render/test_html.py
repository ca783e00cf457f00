"""The HTML report: what it says, and that it is safe and small. test_html_in_a_browser.py looks at it."""

from __future__ import annotations

import copy
import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pages import documents
from pages.parsed import Page

from devsan.diagnostics.messages import message
from devsan.diagnostics.placement import placed_text
from devsan.render.html import labels, render
from devsan.render.language import Language, language_named
from devsan.run_files.ranks import ranks_text

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "run.schema.json"
# Properties whose values are words of the schema, versions, times or devices; everything else is the user's text.
CLOSED = {
    "format", "start", "device", "from", "to", "kind", "phase", "severity", "confidence", "code", "how",
    "execution_device", "id", "finding", "key",
}  # fmt: skip


def page_of(*runs: documents.Document) -> Page:
    return Page(render(runs))


@pytest.fixture(scope="session")
def schema() -> Any:
    """Validates a document: what the tests below start from must be what a run writes."""
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return validator.validate


def test_the_documents_of_these_tests_are_valid(schema: Any) -> None:
    schema(documents.run())
    schema(documents.run(rank=3, world_size=8, gpus=0, end=None, findings=[], models=[]))


def test_says_what_failed_where_and_when() -> None:
    text = page_of(documents.run()).text()
    for said in (
        "DV104", "reduction-boundary", "labels stayed on cuda:0", documents.SENTENCE, "train.py --model tiny",
        "2026-11-21 16:30:05 UTC", "torch 2.13.0+cpu", "DevSan 0.1.0",
        "2 x NVIDIA GeForce RTX 3090 (rtx3090-24g), 24 GiB",
    ):  # fmt: skip
        assert said in text


def test_says_who_held_the_memory_at_the_peak() -> None:
    text = page_of(documents.run()).text()
    assert "At the peak, 6 GiB, in train.py:47" in text
    assert re.search(r"parameters model\.layers\.0\.mlp\.gate_proj\.weight [\d.]+ [KMG]iB, .* 3 GiB 50 %", text)
    assert re.search(r"activations and other results of operators aten::silu 1 GiB 2 GiB 33 %", text)
    older = documents.run()
    del older["memory"]["peaks"]
    assert "At the peak" not in page_of(older).text()


def test_tells_both_operands_operands() -> None:
    text = page_of(documents.run()).text()
    by_program = r"placed on cuda:0 by this program train\.py:40:5"
    by_hook = r"placed on cuda:1 with lm_head\.weight by accelerate: AlignDevicesHook train\.py:21:5"
    assert re.search(rf"labels cuda:0 int64\[6\] 48 B in the wrong place .* {by_program}", text)
    assert re.search(rf"logits cuda:1 float32\[6, 10\].* {by_hook}", text)
    assert "computed on cuda:1 aten::linear took the device of lm_head.weight" in text
    assert "loaded from cpu to cuda:1 by accelerate" in text and 'because of device_map["lm_head"] = 1' in text
    assert 'a fixed device: "cuda:0"' in text


def test_who_placed_an_operand_is_said_as_on_the_terminal() -> None:
    hooked = documents.event(
        "loaded", "cuda:1", "init_hook", documents.LOAD, "accelerate", mechanism="AlignDevicesHook"
    )
    held = documents.operand("h", "cuda:1", 32, [hooked], holder="model.layers.3")
    page = page_of(documents.run(findings=[documents.finding(operands=[held], involved=[0])]))
    assert "placed on cuda:1 by accelerate: AlignDevicesHook of model.layers.3" in page.text("en")
    said = language_named("zh").text(placed_text("cuda:1", "accelerate: AlignDevicesHook of model.layers.3"))
    assert said in page.text("zh")
    assert re.search("从 cpu 加载到 cuda:1 .accelerate. AlignDevicesHook", page_of(documents.run()).text("zh"))


def test_the_notes_of_a_finding_stand_below_its_sentence_in_both_languages() -> None:
    late = message("the search for the cause was stopped: it took too long")
    page = page_of(documents.run(findings=[documents.finding(notes=[late], source="accelerate")]))
    assert f"accelerate: {documents.SENTENCE} {late}" in page.text("en")
    assert late not in page.text("zh") and language_named("zh").text(late) in page.text("zh")


def test_the_history_of_a_result_says_where_that_of_an_operand_begins() -> None:
    computed = documents.event("computed", "cuda:1", "aten::add", documents.LOSS, "")
    moved = documents.event("moved", "cuda:1", "Module.to", documents.LOAD)
    held = documents.operand("h", "cuda:1", 32, [computed, moved])
    text = page_of(documents.run(findings=[documents.finding(operands=[held], involved=[0])])).text()
    assert "took the device of an operand, which was: moved to cuda:1 by" in text
    alone = documents.operand("h", "cuda:1", 32, [computed])
    assert "which was:" not in page_of(documents.run(findings=[documents.finding(operands=[alone])])).text()


def test_a_model_is_shown_as_it_was_at_a_place_of_the_program() -> None:
    found = documents.finding(code="DV102")
    text = page_of(documents.run(findings=[found], models=[documents.model(finding=found["id"])])).text()
    assert "as it was at modeling.py:88" in text and "as it was at DV" not in text


def test_an_operand_that_a_module_made_is_called_so_in_both_languages() -> None:
    made = documents.operand("", "cuda:1", 32, [], output_of="model.up")
    page = page_of(documents.run(findings=[documents.finding(operands=[made], involved=[0])]))
    assert "the output of model.up" in page.text("en")
    assert "the output of model.up" not in page.text("zh") and "model.up 的输出" in page.text("zh")


def test_what_the_report_does_not_have_is_said_in_both_languages() -> None:
    cut = message("the last line is cut off ({size}): the process was stopped while it wrote", size="3 bytes")
    page = page_of(documents.run(notes=[cut]))
    assert cut in page.text("en") and cut not in page.text("zh")


def test_what_stands_behind_a_place_is_translated() -> None:
    found = documents.finding()
    found["sites"] = [found["sites"][0], {**found["sites"][0], "note": ranks_text([0, 2])}]
    page = page_of(documents.run(findings=[found]))
    assert "ranks 0 and 2" in page.text("en") and "rank 0 和 2" in page.text("zh")


def test_labels_stand_below_their_columns() -> None:
    html = render([documents.run()])
    source = html[html.index('id="operands"') :]
    excerpt = re.split('<span class="row[^>]*>', source[: source.index("</pre>")])[1:]
    rows = [re.sub(r"<[^>]+>", "", row) for row in excerpt]
    assert rows[0] == "88loss = F.cross_entropy(logits, labels)"
    line = rows[0][2:]
    assert rows[1].index("└") == line.index("labels") and rows[1].endswith("└ cuda:0  int64[6]  (target)")
    assert rows[2].index("└") == line.index("logits") and rows[2].endswith("└ cuda:1  float32[6,10]")


def test_the_first_fix_stands_at_the_head_with_its_diff_and_the_others_below() -> None:
    page = page_of(documents.run())
    text = page.text()
    assert (
        "Fix: move labels to the device of logits where it is used likely modeling.py:88 CopyCopied "
        "88-loss = F.cross_entropy(logits, labels) 88+loss = F.cross_entropy(logits, labels.to(logits.device)) Command"
    ) in text
    assert text.count("move labels to") == 1
    assert "Other ways to fix it put lm_head beside the embedding device map or loader possible" in text
    alone = documents.finding()
    del alone["fixes"][1]
    assert "Other ways to fix it" not in page_of(documents.run(findings=[alone])).text()
    copies = [attributes["data-copy"] for tag, attributes in page.elements if "data-copy" in attributes]
    assert copies == ["loss = F.cross_entropy(logits, labels.to(logits.device))"]
    assert "Moving the logits instead would copy them" in text


def test_holds_the_page_of_the_code_in_both_languages() -> None:
    page = page_of(documents.run())
    assert "What not to do" in page.text("en") and "不要这样做" not in page.text("en")
    assert "不要这样做" in page.text("zh") and "What not to do" not in page.text("zh")


def test_every_label_is_there_in_both_languages_with_the_same_fields() -> None:
    for key, texts in labels._labels().items():
        assert set(texts) == set(labels.LANGUAGES), key
        fields = [sorted(re.findall(r"\{(\w+)\}", text)) for text in texts.values()]
        assert fields[0] == fields[1], key
    text = page_of(documents.run()).text("zh")
    assert "出错的运算" in text and "The operation" not in text


def test_sentences_that_have_a_translation_are_there_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Language(catalog={"No hook moves {name}.": "没有 hook 移动 {name}。"})
    monkeypatch.setattr(labels, "language_named", lambda name: known)
    page = page_of(documents.run())
    assert "没有 hook 移动 labels。" in page.text("zh") and "No hook moves labels." not in page.text("zh")
    assert "没有 hook" not in page.text("en") and "No hook moves labels." in page.text("en")


def test_one_module_has_nothing_to_search_or_to_open() -> None:
    loss = documents.model(expression="loss_fct", modules=[documents.module("", type="CrossEntropyLoss")])
    searched = [
        [attributes for _, attributes in page_of(documents.run(models=models)).elements
         if attributes.get("type") == "search"]
        for models in ([loss], [loss, documents.model()])
    ]  # fmt: skip
    assert [len(each) for each in searched] == [0, 1]


def test_folds_layers_that_are_alike_and_marks_what_strayed() -> None:
    model = documents.model(layers=32, gpus=4)
    layer = next(each for each in model["modules"] if each["path"] == "model.layers.9.attention.v_proj")
    layer["tensors"].append({"name": "bias", "is_buffer": False, "device": "cpu", "dtype": "bfloat16", "bytes": 8})
    text = page_of(documents.run(models=[model])).text()
    for row in ("0-7 Layer x 8", "8 Layer", "9 Layer", "10-15 Layer x 6", "16-23 Layer x 8", "24-31 Layer x 8"):
        assert row in text
    assert "v_proj V_Proj ⚠ bias is on cpu, its module on cuda:1" in text
    assert text.count("⚠ 1 not with their module") == 5  # the layer and those around it


def test_offloaded_and_meta_modules_are_said_to_be_so() -> None:
    model = documents.model()
    for module in model["modules"]:
        if module["path"].startswith("model.layers.5"):
            for tensor in module["tensors"]:
                tensor["device"] = "meta"
            for hook in module["hooks"]:
                hook["offload"] = True
    text = page_of(documents.run(models=[model])).text()
    assert "meta (no data)" in text
    assert text.count("offloaded: fetched for each call") == 1
    assert "not with their module" not in text


def test_the_timeline_begins_where_devices_are_used() -> None:
    late = documents.run(steps=4)
    for each in (*late["transfers"], *late["memory"]["samples"], *late["findings"]):
        each["time"] += 100
        each["until"] = each.get("until", 0) + 100
    late["end"]["time"] = 107.0
    html = render([late])
    ticks = re.findall(r'left:([\d.]+)%">([^<]+)<', html[html.index('class="lanes"') :])
    assert [text for _, text in ticks[:3]] == ["1 min 40 s", "1 min 41 s", "1 min 42 s"]
    assert ">0</span>" in render([documents.run()])


def test_phases_transfers_and_memory_stand_on_one_axis() -> None:
    html = render([documents.run(steps=6)])
    timeline = html[html.index('id="timeline"') : html.index('id="transfers"')]
    assert timeline.count('class="axis"') == 1
    bands = re.findall(r'<rect class="phase-(\w+)" x="([\d.]+)" y="0" width="([\d.]+)" height="1000">', timeline)
    assert [phase for phase, _, _ in bands[:4]] == ["load", "forward", "backward", "optimizer"]
    load, forward = ((float(x), float(width)) for _, x, width in bands[:2])
    assert load[0] == 0 and abs(load[1] - 1000 / 6.6) < 8 and abs(forward[1] - 0.4 * 1000 / 6.6) < 8
    assert timeline.count('class="lane memory"') == 2
    # The higher layer is drawn first: the lower one covers it but for its own part.
    assert re.findall(r'<path class="layer phase-(\w+)"', timeline) == ["forward", "load"] * 2
    assert "by the phase that took it" in timeline and "used-area" not in timeline


def test_memory_of_an_older_run_file_has_no_phases() -> None:
    old = documents.run(steps=6)
    for sample in old["memory"]["samples"]:
        del sample["taken_in"]
    html = render([old])
    assert html.count('class="used-area"') == 2 and 'class="layer' not in html
    assert "by the phase that took it" not in html[html.index('id="timeline"') :]


def test_short_phases_share_the_height_of_the_strip() -> None:
    html = render([documents.run(steps=3000)])
    heights = [int(height) for height in re.findall(r'<rect class="phase-forward"[^>]* height="(\d+)"', html)]
    assert heights and all(350 < height < 500 for height in heights[1:-1])


def test_says_how_long_each_phase_took_and_what_it_moved() -> None:
    run = documents.run(steps=4)
    run["phases"] = [
        {"phase": "load", "time": 0.0, "until": 1.0},
        {"phase": "forward", "time": 2.0, "until": 2.5},
        {"phase": "forward", "time": 3.0, "until": 4.5},
    ]
    run["transfers"] = [
        {"place": 0, "time": 0.5, "until": 1.5, "times": 2, "bytes": 2048},  # half of it while loading
        {"place": 0, "time": 3.2, "until": 3.2, "times": 1, "bytes": 4096},
    ]
    text = page_of(run).text()
    assert "loading 1 x 1 s 1 KiB forward 2 x 2 s 4 KiB outside these phases 1 KiB" in text
    assert "outside these phases" not in page_of(documents.run(phases=[])).text()


def test_the_matrix_says_what_went_between_which_devices() -> None:
    text = page_of(documents.run(steps=8)).text()
    assert "From → cuda:0 → cuda:1 → cpu cuda:0 128 B 8 x cuda:1 2 KiB 8 x cpu 8 B 8 x" in text


def test_the_module_that_failed_is_marked_and_in_sight() -> None:
    inside = {**documents.LOSS, "module": "model.layers.4.mlp.part_3", "function": "Part_3.forward"}
    found = documents.finding(stack=[documents.INSIDE, inside, documents.LOOP])
    html = render([documents.run(findings=[found], models=[documents.model(finding=found["id"])])])
    tree = html[html.index('class="tree"') : html.index('id="timeline"')]
    assert tree.count("failed here") == 1
    assert re.search(r"<b>part_3</b> <i>Part_3</i> <strong class=.failed.>", tree)
    assert re.search(r"<details open><summary>\s*<span class=.name.><b>4</b>", tree)
    assert "failed here" not in render([documents.run()])


def test_the_root_is_marked_where_its_own_methods_failed() -> None:
    own = {**documents.LOSS, "function": "LlamaForCausalLM.forward"}
    found = documents.finding(stack=[documents.INSIDE, own, documents.LOOP])
    model = documents.model(finding=found["id"])
    model["modules"][0]["type"] = "LlamaForCausalLM"
    html = render([documents.run(findings=[found], models=[model])])
    assert re.search(r"<b>model</b> <i>LlamaForCausalLM</i> <strong class=.failed.>", html)
    assert html.count("failed here") == 1


def test_a_model_moved_as_a_whole_shows_where_its_hooks_wanted_it() -> None:
    model = documents.model(layers=4, gpus=4)
    for module in model["modules"]:
        for tensor in module["tensors"]:
            tensor["device"] = "cuda:2"
    html = render([documents.run(models=[model])])
    tree = html[html.index('class="tree"') :]
    assert tree.count("<details open>") == 3  # the model, the model in it, its layers
    assert "41 not with their module" in page_of(documents.run(models=[model])).text()


def test_the_hook_of_the_root_says_nothing_about_what_is_below() -> None:
    model = documents.model()
    model["modules"][0] = documents.module("", hook="cuda:0")  # brings the inputs to the first layer
    model["modules"].append(documents.module("model.rotary", "cuda:1", 64))  # not in the device map
    assert "not with their module" not in page_of(documents.run(models=[model])).text()


def test_a_run_without_anything_has_no_empty_parts() -> None:
    nothing = documents.run(
        gpus=0, findings=[], models=[], places=[], transfers=[], memory={"devices": [], "samples": []}, end=None,
        notes=["the process was killed"],
    )  # fmt: skip
    page = page_of(nothing)
    text = page.text()
    for said in (
        "No device failure in this run", "still running when this was written, or killed", "the process was killed",
        "GPUs none",
    ):  # fmt: skip
        assert said in text
    parts = [attributes["id"] for _, attributes in page.elements if attributes.get("class") == "part"]
    assert parts == ["end"]
    linked = {attributes.get("href") for _, attributes in page.elements if attributes.get("href", "").startswith("#")}
    assert linked == {"#findings", "#end"}


def test_a_job_shows_what_became_of_each_rank() -> None:
    job = documents.job(4, killed=1)
    job["ranks"][3].update(how="finished", place="", waited_in="")
    page = page_of(*[documents.run(rank=number, world_size=4, job=job) for number in range(4)])
    said = "rank 1 killed by a signal (SIGKILL) rank 0, 2 failed because a peer rank failed · train.py:9 · waited in "
    assert f"0 1 2 3 {said}all_reduce rank 3 finished" in page.text()
    single = page_of(documents.run())
    assert "strip" not in [attributes.get("class") for _, attributes in single.elements]


def test_the_sentence_of_torch_stands_once() -> None:
    page = page_of(documents.run())
    assert page.text().count(documents.SENTENCE) == 1
    assert "after 6.6 s RuntimeError: see the top of this page" in page.text()
    assert ("a", {"href": "#finding-1"}) in page.elements
    more = documents.run()
    more["end"]["exception"]["message"] = f"in layer 3: {documents.SENTENCE}\nwhile tracing"
    assert "RuntimeError: in layer 3: see the top of this page while tracing" in page_of(more).text()
    ranks = [documents.run(rank=rank, world_size=2) for rank in (0, 1)]
    ranks[1]["end"]["exception"]["message"] = "a peer failed"
    text = page_of(*ranks).text()
    assert text.count(documents.SENTENCE) == 1 and "RuntimeError: a peer failed" in text


def test_no_words_of_torch_where_nothing_raised() -> None:
    assert "torch: " in page_of(documents.run(findings=[documents.finding()])).text()
    assert "torch: " not in page_of(documents.run(findings=[documents.finding(sentence="")])).text()


def test_a_run_without_findings_that_ended_otherwise_says_how() -> None:
    exception = {"type": "ValueError", "message": "no such file"}
    end = {"time": 2.5, "how": "exception", "exit_code": 1, "exception": exception}
    failed = page_of(documents.run(findings=[], end=end))
    assert (
        "It ended otherwise: an uncaught exception, exit code 1, after 2.5 s, ValueError: no such file" in failed.text()
    )
    assert "How the run ended an uncaught exception, exit code 1, after 2.5 s ValueError: see the top" in failed.text()
    finished = page_of(documents.run(findings=[], end={**end, "how": "finished", "exit_code": 0, "exception": None}))
    assert "It ended otherwise" not in finished.text()


def test_gpus_that_were_never_used_have_no_plot() -> None:
    run = documents.run()
    run["memory"]["devices"][0].update(peak_allocated=0, peak_reserved=0)
    page = page_of(run)
    assert "Never used: cuda:0" in page.text()
    assert [attributes.get("class") for _, attributes in page.elements].count("used") == 1


def test_a_finding_without_a_cause_or_without_anything() -> None:
    bare = documents.finding(
        code=None, name="", title="", sites=[], stack=[], operands=[], involved=[], evidence=[], fixes=[],
        naive_fix="", also_at=[], op="", phase="none",
    )  # fmt: skip
    text = page_of(documents.run(findings=[bare], phases=[])).text()
    assert "no cause known" in text and "operands of aten::nll_loss_forward are on cuda:1 and cuda:0" in text
    assert "outside these phases" not in text
    for said in ("Where it happened is not known.", "No operand is known.", "No fix is known; the evidence is below."):
        assert said in text


def test_an_undecided_finding_shows_its_candidates_with_their_pages() -> None:
    names = {"DV101": "single-device-assumption", "DV104": "reduction-boundary"}
    candidates = [{"code": code, "name": name} for code, name in names.items()]
    text = page_of(documents.run(findings=[documents.finding(code="DV000", candidates=candidates)])).text()
    assert "undecided" in text and "DV101 single-device-assumption" in text
    assert "About DV101 single-device-assumption" in text and "About DV104 reduction-boundary" in text


def test_how_often_and_at_how_many_places() -> None:
    text = page_of(documents.run(findings=[documents.finding(count=7)])).text()
    assert "7 times" in text and "2 places" in text
    assert "times 2 places" not in page_of(documents.run()).text()


def test_many_operands_are_not_all_told() -> None:
    operands = [documents.operand(f"x{number}", "cuda:0", 0, []) for number in range(60)]
    page = page_of(documents.run(findings=[documents.finding(operands=operands, involved=list(range(60)))]))
    text = page.text()
    assert text.count("Nothing is recorded about how it came here.") == 6
    assert "Other operands (54)" in text and "14 more are not shown" in text


def test_the_same_finding_of_several_ranks_is_told_once() -> None:
    own = documents.finding(7, title="only rank 0 has this one")
    runs = [documents.run(rank=rank, world_size=8, findings=[own] if rank == 0 else [documents.finding()])
            for rank in (3, 0, 1, 2, 4, 5, 6, 7)]  # fmt: skip
    page = page_of(*runs)
    text = page.text()
    assert text.count("labels stayed on cuda:0") == 3  # at the head, in the list, and above its operands
    assert "ranks 1-7" in text and "Ranks 0-7 of 8" in text
    assert [each for each, _ in page.elements].count("h1") == 2
    assert text.count("modules, as it was at the end") == 1  # the same model
    assert "0-7 an uncaught exception, exit code 1" in text


def test_text_of_the_run_never_becomes_part_of_the_page() -> None:
    def poison(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: poison(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [poison(each, name) for each in value]
        return value + documents.HOSTILE if isinstance(value, str) and name not in CLOSED else value

    run = poison(documents.run(), "")
    run["findings"][0]["sites"][0]["labels"][0]["texts"] = [documents.HOSTILE, documents.HOSTILE]
    html = render([run])
    expected, page = page_of(documents.run()), Page(html)
    assert "window.hacked=1</script><img src=x" in page.text()  # shown, as text
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in expected.elements}
    assert [tag for tag, _ in page.elements].count("script") == 1
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert str(attributes.get("href", "#")).startswith(("#", "https://", "data:,"))
    assert "49" not in re.findall(r"<!--(.{0,4})", page.text())


def test_lone_surrogates_and_control_characters_do_no_harm() -> None:
    run = documents.run()
    run["process"]["command"].append("caf\udce9\x00\x1b[31m")
    assert "caf?" in render([run]).encode("utf-8").decode("utf-8")


def test_asks_nothing_of_the_network() -> None:
    html = render([documents.run()])
    assert "default-src 'none'" in html
    page = Page(html)
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "video", "audio", "base", "form")
        assert "src" not in attributes and (tag != "link" or attributes["href"] == "data:,")
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style and "@import" not in style and "http" not in style


def test_a_large_report_is_small_and_quick() -> None:
    def large() -> documents.Document:
        return documents.run(
            gpus=8, steps=2000, models=[documents.model(layers=32, gpus=8)],
            findings=[documents.finding(number) for number in range(4)],
        )  # fmt: skip

    run = large()
    assert len(run["models"][0]["modules"]) > 500
    render([documents.run()])
    took = []
    for _ in range(3):
        start = time.process_time()
        html = render([run])
        took.append(time.process_time() - start)
    assert len(html.encode()) < 300_000
    assert min(took) < 1


def test_a_model_that_cannot_be_folded_stays_small() -> None:
    model = documents.model(layers=200, gpus=8)
    for number, module in enumerate(model["modules"]):
        module["type"] = f"Type{number}"
    page = render([documents.run(models=[model])])
    assert len(page.encode()) < 300_000
    assert "modules below" in page


def test_rendering_changes_nothing_in_the_document() -> None:
    run = documents.run()
    before = copy.deepcopy(run)
    render([run])
    assert run == before
