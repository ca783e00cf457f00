"""The codes as their manifests have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.diagnostics import codes
from devsan.errors import DevsanError

MANIFEST = 'code = "DV101"\n[summary]\nen = "a"\nzh = "b"\n'


def test_a_number_belongs_to_one_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.toml").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.setattr(codes, "folder", lambda: tmp_path)
    with pytest.raises(DevsanError, match="expected DV101 to be one code, got first and second"):
        codes.all_codes.__wrapped__()


def test_a_manifest_has_the_chinese_of_its_detectors() -> None:
    code = codes.find_code("silent-transfer")
    assert code is not None
    assert code.chinese["the IOMMU is enabled and the GPUs have no NVLink"].startswith("启用了 IOMMU")
