"""Tiny random checkpoints in the real layout: they load as real ones do and know nothing."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image


def jpeg(colour: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (50, 40), colour).save(buffer, "JPEG")
    return buffer.getvalue()


def tiny_clip(folder: Path) -> Path:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    sizes = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    letters = [chr(code) for code in range(33, 127)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    text = {
        **sizes,
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 77,
        "bos_token_id": vocabulary["<|startoftext|>"],
        "eos_token_id": vocabulary["<|endoftext|>"],
    }
    picture = {**sizes, "image_size": 32, "patch_size": 8}
    CLIPModel(CLIPConfig(text_config=text, vision_config=picture, projection_dim=16)).save_pretrained(folder)
    processor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    CLIPProcessor(image_processor=processor, tokenizer=CLIPTokenizer(vocab=vocabulary, merges=[])).save_pretrained(
        folder
    )
    return folder


def tiny_detector(folder: Path) -> Path:
    """A YOLOS detector: the smallest of the transformers' object detectors to build."""
    from transformers import YolosConfig, YolosForObjectDetection, YolosImageProcessor

    config = YolosConfig(
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=[64, 64],
        num_detection_tokens=5,
        id2label={0: "person", 1: "van"},
    )
    YolosForObjectDetection(config).save_pretrained(folder)
    YolosImageProcessor(size={"shortest_edge": 64, "longest_edge": 64}).save_pretrained(folder)
    return folder


def tiny_siglip(folder: Path) -> Path:
    """SigLIP: a text tower whose last token is pooled, a picture tower with its own pooling head, one space."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    sizes = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {
        token: number for number, token in enumerate(["<pad>", "</s>", "<unk>", *pre_tokenizers.ByteLevel.alphabet()])
    }
    text = {
        **sizes,
        "vocab_size": len(tokens),
        "max_position_embeddings": 16,
        "projection_size": 32,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 2,
    }
    picture = {**sizes, "image_size": 32, "patch_size": 8}
    SiglipModel(SiglipConfig(text_config=text, vision_config=picture)).save_pretrained(folder)
    made = Tokenizer(models.BPE(vocab=tokens, merges=[], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    SiglipProcessor(
        image_processor=SiglipImageProcessor(size={"height": 32, "width": 32}), tokenizer=tokenizer
    ).save_pretrained(folder)
    return folder


def tiny_smolvlm(folder: Path) -> Path:
    """SmolVLM (Idefics3): picture tiles between words, as its real checkpoints lay them out."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessor,
        Idefics3Processor,
        PreTrainedTokenizerFast,
    )

    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    special = [
        "<|im_start|>",
        "<end_of_utterance>",
        "<fake_token_around_image>",
        "<image>",
        "<global-img>",
        "<unk>",
        "<pad>",
        *tiles,
    ]
    tokens = {token: number for number, token in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), *special])}
    made = Tokenizer(models.BPE(vocab=tokens, merges=[], unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<|im_start|>",
        eos_token="<end_of_utterance>",
        pad_token="<pad>",
        unk_token="<unk>",
    )
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    template = (
        "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}:"
        "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %} {{ part['text'] }}{% endif %}{% endfor %}"
        "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
    )
    pictures = Idefics3ImageProcessor(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    Idefics3Processor(pictures, tokenizer, image_seq_len=4, chat_template=template).save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {
        "bos_token_id": tokens["<|im_start|>"],
        "eos_token_id": tokens["<end_of_utterance>"],
        "pad_token_id": tokens["<pad>"],
    }
    text = {"model_type": "llama", "num_key_value_heads": 2, "vocab_size": len(tokens), "max_position_embeddings": 4096}
    config = Idefics3Config(
        text_config={**sizes, **ends, **text},
        vision_config={**sizes, "image_size": 32, "patch_size": 8},
        scale_factor=2,
        image_token_id=tokens["<image>"],
        pad_token_id=tokens["<pad>"],
    )
    Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def tiny_classifier(folder: Path, labels: int = 1) -> Path:
    """A BERT that classifies pairs: with one label it is laid out as cross-encoders are."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(chr(code) for code in range(97, 123))]
    words += [f"##{chr(code)}" for code in range(97, 123)]
    sizes = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=64, num_labels=labels, **sizes)
    folder.mkdir(parents=True, exist_ok=True)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizer(vocab={word: number for number, word in enumerate(words)}, model_max_length=64).save_pretrained(
        folder
    )
    return folder


def tiny_llama(folder: Path, characters: str = "") -> Path:
    """A language model of single bytes, or of the characters given, without a form of conversation."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    signs = sorted(characters or pre_tokenizers.ByteLevel.alphabet())
    tokens = {token: number for number, token in enumerate([*signs, "<unk>", "<pad>"])}
    made = Tokenizer(models.BPE(vocab=tokens, merges=[], unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<pad>").save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=len(tokens),
        num_key_value_heads=2,
        max_position_embeddings=4096,
        initializer_range=0.3,
        pad_token_id=tokens["<pad>"],
        **sizes,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
