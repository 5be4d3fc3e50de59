from __future__ import annotations

import contextlib
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgraph.errors import SidecarError
from vgraph.media.sidecars import read_sidecars
from vgraph.media.subtitles import embedded_subtitles, language_code, read_subtitles
from vgraph.media.text import Warnings
from vgraph.types import VideoTrack

SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\nThe café is <i>closed</i>.\nAt nine.\n\n2\n00:00:03,000 --> 00:00:04,000\nYes\n"
)


def read(path, content, encoding="utf-8"):
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    warnings = Warnings(path)
    return [(u.offset_ms, u.end_offset_ms, u.speaker, u.text) for u in read_subtitles(path, warnings)], warnings.texts()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_newlines(tmp_path, encoding, newline):
    spoken, warnings = read(tmp_path / "a.srt", SRT.replace("\n", newline), encoding)
    assert spoken == [(1000, 2500, None, "The café is closed. At nine."), (3000, 4000, None, "Yes")]
    assert warnings == ()


def test_right_to_left_script_and_emoji(tmp_path):
    spoken, _ = read(tmp_path / "a.srt", "1\n00:00:01,000 --> 00:00:02,000\nשלום عليكم 👋\n")
    assert spoken[0][3] == "שלום عليكم 👋"


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.srt", "1\n00:00:05,000 --> 00:00:02,000\nback\n\n" + SRT, 2),
        ("a.srt", "1\n00:00:05,000 --> 00:00:05,000\nat once\n\n" + SRT, 2),
        ("a.vtt", "WEBVTT\n\nNOTE x\n\n00:05.000 --> 00:02.000\nback\n\n00:06.000 --> 00:07.000\nkept\n", 5),
        ("a.srt", SRT + "\n3\n00:00:0x,000 --> 00:00:09,000\nbroken\n", 11),
    ],
)
def test_a_cue_that_ends_before_it_starts_or_cannot_be_read_is_named_and_left_out(tmp_path, name, content, line):
    spoken, warnings = read(tmp_path / name, content)
    assert spoken
    assert all("broken" not in text and "back" not in text and "at once" not in text for *_, text in spoken)
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{name}:{line}: ")


def test_webvtt_voices_are_speakers_and_the_rest_is_no_speech(tmp_path):
    content = """WEBVTT - Dock

STYLE
::cue { color: lime }

NOTE
00:00 is when we begin

intro
00:01.000 --> 00:02.000 align:start position:0%
<v Maria Lopez>Take the <b>parcel</b> &amp; go.</v>

2 - both
00:00:03.500 --> 00:00:05.000
<v.loud Maria Lopez>Now!</v><v Tom>On my <00:00:04.000>way.

NOTE done
"""
    spoken, warnings = read(tmp_path / "a.vtt", content)
    assert spoken == [
        (1000, 2000, "Maria Lopez", "Take the parcel & go."),
        (3500, 5000, "Maria Lopez", "Now!"),
        (3500, 5000, "Tom", "On my way."),
    ]
    assert warnings == ()


def test_ass_names_are_speakers_and_comments_are_no_speech(tmp_path):
    content = """[Script Info]
ScriptType: v4.00+

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:04.00,0:00:05.00,Default,Tom,0,0,0,,{\\i1}Second{\\i0}\\Nline
Comment: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,to do
Dialogue: 0,0:00:01.00,0:00:02.00,Default,Maria,0,0,0,,First, really
Dialogue: 0,0:00:09.00,0:00:08.00,Default,Maria,0,0,0,,back
"""
    spoken, warnings = read(tmp_path / "a.ass", content)
    assert spoken == [(1000, 2000, "Maria", "First, really"), (4000, 5000, "Tom", "Second line")]
    assert len(warnings) == 1
    assert warnings[0].startswith("a.ass:9: ")


def test_an_empty_file_has_no_speech_and_one_without_cues_says_so(tmp_path):
    assert read(tmp_path / "a.srt", "") == ([], ())
    assert read(tmp_path / "a.vtt", "WEBVTT\n") == ([], ())
    assert read(tmp_path / "a.srt", "hello") == ([], ("a.srt: holds no cues",))


def test_what_is_no_text_is_a_sidecar_error(tmp_path):
    with pytest.raises(SidecarError, match=r"a\.srt"):
        read(tmp_path / "a.srt", bytes(range(256)) * 20)
    with pytest.raises(SidecarError, match="utf-16"):
        read(tmp_path / "a.srt", b"\xff\xfeabc")


PIECES = st.sampled_from(
    """00:00:01,000 --> 00:00:02,000
99:99:99.999 --> 1:2
-->
WEBVTT
<v
&#x110000;
[Script Info]
[V4+ Styles]
[Events]
[Fonts]
fontname: x
Style: a
!: a
{\\p1}
Format: Start, End
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,x,,,
Dialogue: 0,0:00:01.00,0:00:02.00,Default,N,0,0,0,,t""".splitlines()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(lines=st.lists(PIECES | st.text(max_size=20), max_size=8), kind=st.sampled_from(["srt", "vtt", "ass"]))
def test_whatever_a_file_holds_it_gives_speech_warnings_or_a_sidecar_error(tmp_path, lines, kind):
    try:
        spoken, _ = read(tmp_path / f"a.{kind}", "\n".join(lines).encode("utf-8", "replace"))
    except SidecarError:
        return
    assert all(0 <= start < end and text for start, end, _, text in spoken)


# --- speakers, and captions that roll up ---------------------------------------------------------------------------------


def cues(*texts: str, step_s: float = 2.0, length_s: float = 2.0) -> str:
    def at(seconds: float) -> str:
        return f"00:00:{int(seconds):02},{round(seconds % 1 * 1000):03}"

    spans = [(n * step_s, n * step_s + length_s) for n in range(len(texts))]
    return "\n\n".join(f"{n}\n{at(a)} --> {at(b)}\n{text}" for n, (text, (a, b)) in enumerate(zip(texts, spans), 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MARIA: Good morning.", [("MARIA", "Good morning.")]),
        ("- MARIA: Hi.\n- TOM LEE: Hello,\nthere.", [("MARIA", "Hi."), ("TOM LEE", "Hello, there.")]),
        ("- Who is it?\n- Me.", [(None, "Who is it?"), (None, "Me.")]),
        (">> REPORTER: Thank you.\n>> Yes.", [("REPORTER", "Thank you."), (None, "Yes.")]),
        ("[GUARD] : Stop!", [("GUARD", "Stop!")]),
        ("ÉLÉONORE D'ARC: Oui.", [("ÉLÉONORE D'ARC", "Oui.")]),
        ("DR. NO: So.", [("DR. NO", "So.")]),
        ("<i>MARIA: Hi</i>", [("MARIA", "Hi")]),
        ("Note: at 10:30 we leave", [(None, "Note: at 10:30 we leave")]),
        ("10:30: THE END", [(None, "10:30: THE END")]),
        ("A: one letter is a list", [(None, "A: one letter is a list")]),
        ("He said: GO", [(None, "He said: GO")]),
        ("MARIA:", [(None, "MARIA:")]),
    ],
)
def test_names_in_capitals_are_speakers(tmp_path, text, said):
    spoken, warnings = read(tmp_path / "a.srt", cues(text))
    assert [(speaker, words) for _, _, speaker, words in spoken] == said
    assert warnings == ()


def test_captions_that_roll_up_are_told_once(tmp_path):
    spoken, _ = read(
        tmp_path / "a.srt",
        cues("we met at\nthe harbour", "the harbour\nat nine", "at nine\nand left", "and left\nat ten"),
    )
    assert [text for *_, text in spoken] == ["we met at the harbour", "at nine", "and left", "at ten"]


def test_cues_that_only_hold_a_line_until_the_next_are_not_told(tmp_path):
    content = """WEBVTT

00:00:00.000 --> 00:00:02.000
first<00:00:00.500><c> line</c>

00:00:02.000 --> 00:00:02.010
first line

00:00:02.010 --> 00:00:04.000
first line
second<00:00:03.000><c> line</c>
"""
    spoken, _ = read(tmp_path / "a.vtt", content)
    assert spoken == [(0, 2000, None, "first line"), (2010, 4000, None, "second line")]


def test_what_is_said_twice_is_told_twice(tmp_path):
    spoken, _ = read(tmp_path / "a.srt", cues("No.", "No.", "No.\nNo.", step_s=3.0))
    assert [text for *_, text in spoken] == ["No.", "No.", "No. No."]


# --- in the container ----------------------------------------------------------------------------------------------------


def with_streams(path, *subtitles, language="eng", start_ms=0):
    """A Matroska file of four seconds with subtitle streams made from the text of .srt, .vtt or .ass files: (kind, text)."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(av.open(str(path), "w"))
        video = out.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        video.codec_context.time_base = Fraction(1, 1000)
        streams = []
        for n, (kind, text) in enumerate(subtitles):
            source = path.parent / f"{path.stem}-{n}.{kind}"
            source.write_text(text, encoding="utf-8")
            opened = stack.enter_context(av.open(str(source)))
            made = out.add_stream_from_template(opened.streams.subtitles[0])
            made.metadata["language"] = language
            streams.append((opened, made))
        for n in range(40):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
            frame.pts, frame.time_base = start_ms + n * 100, Fraction(1, 1000)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        for opened, made in streams:
            for packet in opened.demux(opened.streams.subtitles[0]):
                if packet.size:
                    packet.stream = made
                    out.mux(packet)
    return path


def inside(path):
    warnings = Warnings(path)
    return [
        (u.offset_ms, u.end_offset_ms, u.speaker, u.text, u.language) for u in embedded_subtitles(path, warnings)
    ], warnings.texts()


def test_the_subtitle_stream_of_a_container_is_speech(tmp_path):
    path = with_streams(tmp_path / "a.mkv", ("srt", SRT.replace("Yes", "MARIA: <b>Yes</b>")), language="ger")
    assert inside(path) == (
        [(1000, 2500, None, "The café is closed. At nine.", "de"), (3000, 4000, "MARIA", "Yes", "de")],
        (),
    )


def test_times_count_from_the_first_picture(tmp_path):
    path = with_streams(tmp_path / "a.mkv", ("srt", SRT), start_ms=500)
    assert [start for start, *_ in inside(path)[0]] == [500, 2500]


def test_names_in_an_ass_stream_are_speakers(tmp_path):
    content = """[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:02.00,Default,Maria,0,0,0,,{\\i1}First{\\i0}, really\\Nso
"""
    assert inside(with_streams(tmp_path / "a.mkv", ("ass", content)))[0] == [
        (1000, 2000, "Maria", "First, really so", "en")
    ]


def test_of_several_streams_one_is_read_and_the_others_are_named(tmp_path):
    path = with_streams(tmp_path / "a.mkv", ("srt", SRT), ("srt", SRT.replace("Yes", "Ja")))
    spoken, warnings = inside(path)
    assert len(spoken) == 2 and len(warnings) == 1 and "subtitle stream" in warnings[0]


def test_a_container_without_subtitles_has_none(tmp_path):
    assert inside(with_streams(tmp_path / "a.mkv")) == ([], ())


def test_a_file_beside_the_video_comes_before_the_stream_within(tmp_path):
    path = with_streams(tmp_path / "a.mkv", ("srt", SRT))
    picture = VideoTrack("mpeg4", 64, 48, 0, 10.0, False, 40)
    (tmp_path / "a-0.srt").unlink()
    assert [u.text for u in read_sidecars(path, picture, streams=True).utterances] == [
        "The café is closed. At nine.",
        "Yes",
    ]
    assert read_sidecars(path, picture).utterances == ()
    path.with_suffix(".srt").write_text(cues("beside"), encoding="utf-8")
    assert [u.text for u in read_sidecars(path, picture, streams=True).utterances] == ["beside"]


@pytest.mark.parametrize(
    ("code", "language"),
    [("eng", "en"), ("deu", "de"), ("ger", "de"), ("de-AT", "de"), ("und", None), (None, None), ("xyz", "xyz")],
)
def test_languages_of_containers_are_kept_as_codes(code, language):
    assert language_code(code) == language
