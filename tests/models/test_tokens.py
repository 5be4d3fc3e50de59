"""Tokens are rather over- than underestimated, in any script: checked against the tokenizers that lie in packages and fixtures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vgraph.models.loading import installed
from vgraph.models.tokens import tokens_in

TEXTS = {
    "English": "A woman in a red coat hands a parcel to the man in the white van at 14:05, then walks back to the loading dock.",
    "German": "Eine Frau im roten Mantel übergibt dem Mann im weißen Lieferwagen ein Paket und geht zurück zur Laderampe.",
    "Russian": "Женщина в красном пальто передаёт посылку мужчине в белом фургоне и возвращается к погрузочной площадке.",
    "Chinese": "一名穿红色外套的女子把包裹交给白色面包车里的男子,然后走回装卸平台。",
    "Japanese": "赤いコートの女性が白いバンの男性に荷物を渡し、積み込み場に戻る。",
    "Korean": "빨간 코트를 입은 여자가 흰 밴에 탄 남자에게 소포를 건네고 하역장으로 돌아간다.",
    "Arabic": "تسلّم امرأة ترتدي معطفًا أحمر طردًا إلى الرجل في الشاحنة البيضاء ثم تعود إلى رصيف التحميل.",
    "Hindi": "लाल कोट पहने एक महिला सफेद वैन में बैठे आदमी को पार्सल देती है और लोडिंग डॉक पर लौट जाती है।",
    "Thai": "ผู้หญิงสวมเสื้อโค้ตสีแดงส่งพัสดุให้ชายในรถตู้สีขาว แล้วเดินกลับไปที่ท่าขนของ",
    "Amharic": "ቀይ ኮት የለበሰች ሴት ነጭ መኪና ውስጥ ላለው ሰው ጥቅል ሰጠችና ወደ መጫኛ ቦታ ተመለሰች።",
    "Tamil": "சிவப்பு கோட் அணிந்த பெண் வெள்ளை வேனில் இருந்த ஆணிடம் பொதியைக் கொடுத்துவிட்டுத் திரும்பினாள்.",
    "emoji": "👩🏽‍🚒🚐📦🏗️🤝👨🏿‍🔧🧍🏻‍♀️",
    "a line of evidence": "[3a6f949af73f530a12503dab-0000150000] camera dock, 2026-03-03 09:02:30 CET, +0:02:30, caption: plate M-LD 8610",
    "numbers": "2026-03-03 09:02:30 0123456789 12.5 66 78 90 1 2 3 4 5 6",
}


def counted(file: Path, text: str) -> int:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.skipif(not installed("tokenizers"), reason="tokenizers is not installed")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_is_not_below_llama_2(text: str) -> None:
    import wordllama

    [file] = Path(wordllama.__file__).parent.rglob("l2_supercat_tokenizer_config.json")
    assert counted(file, text) <= tokens_in(text) <= 2 * counted(file, text)


@pytest.mark.skipif(not installed("tokenizers"), reason="tokenizers is not installed")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_it_is_not_below_gpt_2(text: str, weights: Callable[[str], Path]) -> None:
    assert counted(weights("whisper-base") / "tokenizer.json", text) <= tokens_in(text)


def test_any_text_has_a_length_and_longer_ones_have_more() -> None:
    assert tokens_in("") == 0
    assert tokens_in("a lone \ud800 surrogate") > tokens_in("a lone  surrogate") > tokens_in("a lone")
