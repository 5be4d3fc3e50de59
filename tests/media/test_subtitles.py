from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vgraph.errors import SidecarError
from vgraph.media.subtitles import read_subtitles
from vgraph.media.text import Warnings

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
