"""What is here and what is not: every need with what would serve it, every extra with its packages, the endpoint if one is set."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from vgraph.errors import MissingDependency, VGraphError
from vgraph.models.choose import NEEDS, PROVIDERS, Wanted, picked
from vgraph.models.endpoint import Endpoint
from vgraph.models.loading import EXTRAS, command, installed

_DISTRIBUTIONS: Final = {"cv2": ("opencv-python-headless", "opencv-python"), "av": ("av",)}
_PROBE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. `command` is what adds or mends it; empty when nothing is to be done."""

    kind: Literal["need", "extra", "core", "endpoint", "tool"]
    name: str
    ok: bool
    detail: str
    command: str = ""


def doctor(wanted: Wanted) -> tuple[Check, ...]:
    """All checks. Nothing is loaded or downloaded; the network is used only to ask an endpoint that is set."""
    return (*_needs(wanted), *_core(), *_extras(), *_endpoint(wanted), *_tools())


def _needs(wanted: Wanted) -> Iterator[Check]:
    for need in NEEDS:
        try:
            pick = picked(need, wanted)
        except MissingDependency as error:
            yield Check("need", need, ok=False, detail=str(error), command=error.command)
        except VGraphError as error:
            yield Check("need", need, ok=False, detail=str(error))
        else:
            nothing = pick.spec == "none"
            off = getattr(wanted, need) == "none"
            mend = _first_command(need) if nothing and not off else ""
            yield Check("need", need, ok=not nothing or off, detail=f"{pick.spec}: {pick.reason}", command=mend)


def _first_command(need: str) -> str:
    """What would serve a need that nothing serves: a local provider's package, else its weights, else an endpoint."""
    for name, provider in PROVIDERS[need].items():
        if provider.setting:
            continue
        missing = [package for package in provider.packages if not installed(package)]
        if missing:
            return command(missing[0])
        return f"export VGRAPH_MODELS__{need.upper()}={name}:{provider.default}"
    setting = next(provider.setting for provider in PROVIDERS[need].values())
    return f"export VGRAPH_MODELS__OPENAI_BASE_URL=http://… VGRAPH_MODELS__{setting.upper()}=…"


def _core() -> Iterator[Check]:
    yield Check("core", "python", ok=True, detail=platform.python_version())
    for package in ("av", "cv2", "openai", "wordllama"):
        found = _version(package)
        yield Check("core", package, found is not None, found or "missing", "" if found else "pip install vgraph")


def _extras() -> Iterator[Check]:
    for extra in sorted(set(EXTRAS.values()) - {""}):
        packages = [package for package, own in EXTRAS.items() if own == extra]
        versions = {package: _version(package) for package in packages}
        absent = not all(versions.values())
        detail = ", ".join(f"{package} {version or 'missing'}" for package, version in versions.items())
        yield Check("extra", extra, not absent, detail, f"pip install 'vgraph[{extra}]'" if absent else "")


def _version(package: str) -> str | None:
    """The installed version, without importing; None when it cannot be imported."""
    if not installed(package):
        return None
    for distribution in _DISTRIBUTIONS.get(package, (package.replace("_", "-"),)):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "present"


def _endpoint(wanted: Wanted) -> Iterator[Check]:
    if not (wanted.openai_base_url or wanted.openai_api_key):
        return
    endpoint = Endpoint(base_url=wanted.openai_base_url, api_key=wanted.openai_api_key, timeout_s=_PROBE_S, retries=0)
    try:
        served = endpoint.models()
    except VGraphError as error:
        yield Check("endpoint", endpoint.address, ok=False, detail=str(error))
    else:
        named = {
            getattr(wanted, provider.setting)
            for providers in PROVIDERS.values()
            for provider in providers.values()
            if provider.setting and getattr(wanted, provider.setting)
        }
        unknown = sorted(named - set(served)) if served else []
        detail = f"answers; does not list {', '.join(unknown)}" if unknown else "answers"
        yield Check("endpoint", endpoint.address, not unknown, detail)


def _tools() -> Iterator[Check]:
    yield Check("tool", "ffmpeg", ok=True, detail="not needed: PyAV brings its own")
    speaks = shutil.which("espeak-ng")
    detail = speaks or "absent; optional, it gives the synthetic world a voice"
    yield Check("tool", "espeak-ng", ok=True, detail=detail, command="" if speaks else "apt-get install espeak-ng")
