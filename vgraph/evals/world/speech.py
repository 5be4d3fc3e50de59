"""What microphones hear: WebVTT with voices, and sound by the program espeak-ng where it is installed."""

from __future__ import annotations

import io
import shutil
import subprocess
import wave
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from vgraph.evals.world.noise import Names, Noise
from vgraph.evals.world.scene import Scene
from vgraph.evals.world.script import Line, Recording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATE = 16_000
PROGRAM = "espeak-ng"
SPEEDS = (165, 200, 240)
"""Words a minute: the first at which a line fits its time is taken."""


def vtt(scene: Scene, recording: Recording, noise: Noise) -> Iterator[str]:
    """The lines of a WebVTT file; times are media time."""
    yield "WEBVTT"
    yield ""
    yield "NOTE Subtitles of a synthetic world, exact to the millisecond."
    for line, speaker in speakers(scene, recording, noise):
        start, end = line.start_ms - recording.start_ms, line.end_ms - recording.start_ms
        yield ""
        yield f"{_stamp(start)} --> {_stamp(end)}"
        yield f"<v {speaker}>{line.text}</v>"
    yield ""


def speakers(scene: Scene, recording: Recording, noise: Noise) -> Iterator[tuple[Line, str]]:
    """What is heard, each line with the name its speaker is given."""
    names = Names(scene.script, noise, f"speakers {recording.stem}")
    return ((line, names.heard(line.speaker)) for line in lines_of(scene, recording))


def lines_of(scene: Scene, recording: Recording) -> list[Line]:
    return [line for line in scene.script.lines if scene.heard(line, recording)]


def _stamp(ms: int) -> str:
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


def can_speak() -> bool:
    return shutil.which(PROGRAM) is not None


class Sound:
    """The sound of a recording, a second at a time; lines are spoken when first needed and forgotten when over."""

    def __init__(self, scene: Scene, recording: Recording) -> None:
        self.recording = recording
        self.voices = {person.id: person.voice for person in scene.script.people}
        self.waiting = lines_of(scene, recording)[::-1]
        self.speaking: list[tuple[int, NDArray[np.float32]]] = []

    def second(self, number: int) -> NDArray[np.float32]:
        """Samples of the second of media time that begins at `number` seconds; ask for them in order."""
        import numpy as np

        mixed = np.zeros(RATE, np.float32)
        first = number * RATE
        while self.waiting and self._sample(self.waiting[-1]) < first + RATE:
            line = self.waiting.pop()
            spoken = _spoken(line.text, self.voices[line.speaker], line.end_ms - line.start_ms)
            self.speaking.append((self._sample(line), spoken))
        for start, samples in self.speaking:
            low, high = max(start, first), min(start + len(samples), first + RATE)
            if low < high:
                mixed[low - first : high - first] += samples[low - start : high - start]
        self.speaking = [(start, samples) for start, samples in self.speaking if start + len(samples) > first + RATE]
        return mixed

    def _sample(self, line: Line) -> int:
        return (line.start_ms - self.recording.start_ms) * RATE // 1000


@lru_cache(maxsize=256)
def _spoken(text: str, voice: str, room_ms: int) -> NDArray[np.float32]:
    """A line spoken in the time it has, cut off at its end if need be; silence when the program fails."""
    import numpy as np

    room = room_ms * RATE // 1000
    samples = np.zeros(0, np.float32)
    for speed in SPEEDS:
        samples = _said(text, voice, speed)
        if len(samples) <= room:
            break
    kept: NDArray[np.float32] = samples[:room]
    return kept


def _said(text: str, voice: str, speed: int) -> NDArray[np.float32]:
    import numpy as np

    command = [PROGRAM, "-v", voice, "-s", str(speed), "--stdout", "--", text]
    try:
        output = subprocess.run(command, capture_output=True, check=True, timeout=30).stdout  # noqa: S603 - no shell
        with wave.open(io.BytesIO(output)) as file:
            rate = file.getframerate()
        data = np.frombuffer(output[44:], "<i2").astype(np.float32) / 32768
    except (OSError, subprocess.SubprocessError, wave.Error, EOFError):
        return np.zeros(0, np.float32)
    times = np.arange(int(len(data) * RATE / rate)) * (rate / RATE)
    resampled: NDArray[np.float32] = (np.interp(times, np.arange(len(data)), data) * 0.7).astype(np.float32)
    return resampled
