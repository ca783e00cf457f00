"""Where the tests of a suite come from: a checkout that is given, or the package's source archive on PyPI."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tarfile
from pathlib import Path

from suite import Suite


class NoCheckout(Exception):
    """There are no tests to run; the sentence says what to do."""


def installed(suite: Suite) -> str:
    """Returns the version of the suite's package."""
    try:
        return importlib.metadata.version(suite.distribution)
    except importlib.metadata.PackageNotFoundError:
        raise NoCheckout(f"{suite.distribution} is not installed, so its tests cannot be run") from None


def find(suite: Suite, given: Path | None, folder: Path) -> Path:
    """Returns the checkout that was given, or unpacks the archive of the installed version into ``folder``."""
    version = installed(suite)
    if given is not None:
        if not (given / suite.tests).is_dir():
            raise NoCheckout(f"expected a checkout of {suite.name} with a folder {suite.tests}/, got {given}")
        return given.resolve()
    unpacked = folder / f"{suite.distribution.replace('-', '_')}-{version}"
    if not suite.archived:
        raise NoCheckout(
            f"the archives of {suite.distribution} have no tests: give a checkout of version {version} "
            f"with --checkout {suite.name}=<folder>"
        )
    if not (unpacked / suite.tests).is_dir():
        _download(suite, version, folder)
    if not (unpacked / suite.tests).is_dir():
        raise NoCheckout(f"expected a folder {suite.tests}/ in the archive of {suite.name} {version}, got none")
    return unpacked


def _download(suite: Suite, version: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    requirement = f"{suite.distribution}=={version}"
    options = ["--quiet", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--dest", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, requirement], capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise NoCheckout(
            f"pip could not download {requirement} ({said[0]}): give a checkout with --checkout {suite.name}=<folder>"
        )
    for archive in folder.glob(f"{suite.distribution.replace('-', '[-_]')}-{version}.tar.gz"):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        # The tests are a package, which the archive leaves the empty file of out.
        (folder / archive.name.removesuffix(".tar.gz") / suite.tests / "__init__.py").touch()
