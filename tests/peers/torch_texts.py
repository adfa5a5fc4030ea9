"""Texts of AG News as the program reads them (docs/data.md#texts), in PyTorch.

What stands here is gpu/data/text_sets.h and gpu/data/text_encoding.h once more: a text is title and description with a
blank between, a backslash and an n are a line break, a character is its place in the alphabet + 1 and others are 0,
the last of the first `length` characters comes first. Imported by torch_accuracy.py, which has found out that PyTorch
is there.
"""
import csv
import io
import os

import torch

TRAIN_FILES, TEST_FILE = ("train.csv", "train_part.csv"), "test.csv"
CLASSES = ("1", "2", "3", "4")
# Capital letters, first and last, and how far behind them the small ones are: ASCII, Latin-1, Greek, Cyrillic.
CAPITALS = ((0x41, 0x5A, 32), (0xC0, 0xDE, 32), (0x391, 0x3A9, 32), (0x410, 0x42F, 32), (0x400, 0x40F, 80))
NO_CAPITALS = (0xD7, 0x3A2)  # a sign and a place that is not assigned


def capitals():
    """(capital letter, small letter) of all that there are."""
    return [(chr(point), chr(point + by)) for first, last, by in CAPITALS for point in range(first, last + 1)
            if point not in NO_CAPITALS]


def numbers_of(alphabet):
    """The byte of each character; a capital letter has that of the small one if the alphabet has no capitals."""
    numbers = {character: place + 1 for place, character in enumerate(alphabet)}
    if not any(capital in numbers for capital, _ in capitals()):
        numbers.update({capital: numbers[small] for capital, small in capitals() if small in numbers})
    return numbers


def encoded(text, numbers, length):
    """`length` bytes: the first characters, the last one first, and 0 behind the first."""
    return bytes(numbers.get(character, 0) for character in reversed(text[:length])).ljust(length, b"\0")


def rows_of(path):
    """(class from 0, text) of each row. Bytes that are no UTF-8 become U+FFFD, one for each maximal subpart."""
    with open(path, "rb") as file:
        content = file.read().decode("utf-8-sig", errors="replace")
    rows = []
    for fields in csv.reader(io.StringIO(content, newline=""), strict=True):
        if not fields:
            continue
        if len(fields) != 3 or fields[0] not in CLASSES:
            raise ValueError(f"{path}: a row is not a class from 1 to 4, a title and a description: {fields[:2]}")
        text = " ".join(field for field in fields[1:] if field)
        rows.append((CLASSES.index(fields[0]), text.replace("\\n", "\n")))
    return rows


def files_in(folder):
    """The paths of the texts to train on and to test with."""
    there = [name for name in TRAIN_FILES if os.path.exists(os.path.join(folder, name))]
    return [os.path.join(folder, name) for name in ((there or TRAIN_FILES)[0], TEST_FILE)]


def read(path, alphabet, length, most, device):
    """Bytes (N, length) and classes of the first `most` rows of a file, 0: of all."""
    rows, numbers = rows_of(path)[:most or None], numbers_of(alphabet)
    data = b"".join(encoded(text, numbers, length) for _, text in rows)
    texts = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, length)
    return texts.to(device), torch.tensor([label for label, _ in rows], device=device)


def one_hot(texts, channels):
    """(N, channels, length): 1 where the byte is the channel's number, from 1 on; nowhere where it is 0."""
    numbers = torch.arange(1, channels + 1, dtype=torch.uint8, device=texts.device)
    return texts[:, None, :] == numbers[:, None]
