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
