"""The scalars of an event file of TensorBoard, read by hand: its own reader is missing on many machines."""
import glob
import os
import struct


def single(value):
    """The nearest FP32 number, as these files hold it."""
    return struct.unpack("f", struct.pack("f", value))[0]


def fields(message):
    """(number, value) of each field of a protobuf message; bytes where a length stands before them."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
        value = message[at:at + size]
        at += size
        yield number, value if kind == 2 else struct.unpack("<d" if kind == 1 else "<f", value)[0]


def scalars_of(folder):
    """{tag: [(step, wall time, value), ...]} of the one event file in the folder."""
    name, = glob.glob(os.path.join(folder, "*tfevents*"))
    with open(name, "rb") as file:
        data = file.read()
    scalars, at = {}, 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        event = dict(fields(data[at + 12:at + 12 + length]))  # behind the length and its checksum
        at += length + 16
        for _, summary in fields(event.get(5, b"")):
            value = dict(fields(summary))
            if 2 in value:
                scalars.setdefault(value[1].decode(), []).append((event.get(2, 0), event[1], value[2]))
    return scalars
