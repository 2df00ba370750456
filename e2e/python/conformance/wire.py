"""A connection that speaks HTTP/2 frames, right or wrong, and what its peer may answer to them."""

import socket
import struct

import hpack
from hyperframe.frame import Frame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATIENCE = 10

# Types of frames (RFC 9113, section 6).
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
# Flags.
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 0x1, 0x1, 0x4, 0x8, 0x20
# Error codes (section 7).
PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, COMPRESSION_ERROR = 1, 3, 5, 6, 7, 9
# Settings.
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5


class Failed(Exception):
    """The peer did something else than the case asks."""


class General(Exception):
    """The peer ended what had to end, with the general PROTOCOL_ERROR instead of the particular code, or ended more
    than had to end: no worse for anybody but the client that was wrong."""


class Closed(Exception):
    """The peer has closed the connection."""


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    length = len(payload) if length is None else length
    return struct.pack(">I", length)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def settings(*pairs):
    return b"".join(struct.pack(">HI", name, value) for name, value in pairs)


def match(one, codes):
    """Whether the code of a GOAWAY or RST_STREAM is one of these."""
    if one.error_code in codes:
        return
    kind = type(one).__name__
    what = f"{kind} with error {one.error_code}, not {' or '.join(map(str, codes))}"
    raise General(what) if one.error_code == PROTOCOL_ERROR else Failed(what)


class Connection:
    """A connection after the exchange of settings, unless told otherwise."""

    def __init__(self, host, port, greet=True, own=()):
        self.authority = f"{host}:{port}"
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.encoder.huffman_coding = False
        self.theirs = {MAX_FRAME_SIZE: 1 << 14, INITIAL_WINDOW_SIZE: 65535}
        self.answers, self.lengths, self.buffer = {}, {}, b""
        if greet:
            self.send(PREFACE + frame(SETTINGS, payload=settings(*own)))
            first = self.read()
            if first.type != SETTINGS:
                raise Failed(f"the first frame is {first}")
            # The acknowledgement of our own settings: from here on both sides are settled.
            self.until(lambda one: one.type == SETTINGS and "ACK" in one.flags)

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            # What it said before it closed is still to be read.
            self.broken = error

    def headers(self, method="POST", more=(), without=(), path="/v1/models/m:predict"):
        pairs = [(":method", method), (":scheme", "http"), (":path", path), (":authority", self.authority)]
        return [pair for pair in pairs if pair[0] not in without] + list(more)

    def block(self, pairs):
        return self.encoder.encode([hpack.NeverIndexedHeaderTuple(*pair) for pair in pairs])

    def request(self, stream=1, flags=END_HEADERS | END_STREAM, pairs=None):
        pairs = self.headers("GET") if pairs is None else pairs
        self.send(frame(HEADERS, flags, stream, self.block(pairs)))

    def take(self, size):
        while len(self.buffer) < size:
            try:
                more = self.socket.recv(1 << 16)
            except TimeoutError as error:
                raise Failed("no answer in time") from error
            except OSError as error:
                raise Closed from error
            if not more:
                raise Closed
            self.buffer += more
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def read(self):
        """The next frame; the connection's own duties are done on the way."""
        head = self.take(9)
        one, length = Frame.parse_frame_header(memoryview(head), strict=False)
        one.type = head[3]
        if length > (1 << 14) and one.type not in (SETTINGS,):
            raise Failed(f"a frame of {length} bytes, above what we allow")
        one.parse_body(memoryview(self.take(length)))
        if one.type == SETTINGS and "ACK" not in one.flags:
            self.theirs.update(one.settings)
            self.send(frame(SETTINGS, ACK))
        if one.type == HEADERS:
            block, last = one.data, one
            while "END_HEADERS" not in last.flags:
                last = self.read()
                block += last.data
            self.answers.setdefault(one.stream_id, []).extend(self.decoder.decode(block))
        if one.type == DATA:
            self.lengths[one.stream_id] = self.lengths.get(one.stream_id, 0) + len(one.data)
        return one

    def until(self, wanted):
        while True:
            one = self.read()
            if wanted(one):
                return one
            if one.type == GOAWAY:
                raise Failed(f"the connection was ended: error {one.error_code}")

    # What a case may expect.

    def connection_error(self, *codes):
        """GOAWAY with one of these codes, or the end of the connection."""
        try:
            while True:
                one = self.read()
                if one.type == GOAWAY:
                    return match(one, codes)
                if one.type == RST_STREAM:
                    raise Failed(f"only stream {one.stream_id} was reset, error {one.error_code}")
        except Closed:
            return

    def stream_error(self, stream, *codes, answer=False):
        """RST_STREAM or GOAWAY with one of these codes, or the end; with `answer`, a 4xx does as well."""
        try:
            while True:
                one = self.read()
                if one.type == GOAWAY or (one.type == RST_STREAM and one.stream_id == stream):
                    return match(one, codes)
                if one.type == HEADERS and one.stream_id == stream:
                    status = dict(self.answers[stream])[":status"]
                    if not (answer and status.startswith("4")):
                        raise Failed(f"answered with {status}")
                    return
        except Closed:
            return

    def answered(self, stream=1, statuses=("200",)):
        """A whole answer with one of these statuses."""
        while True:
            one = self.until(lambda one: one.stream_id == stream and one.type in (HEADERS, DATA, RST_STREAM))
            if one.type == RST_STREAM:
                raise Failed(f"reset, error {one.error_code}")
            if "END_STREAM" in one.flags:
                break
        status = dict(self.answers[stream])[":status"]
        if status not in statuses:
            raise Failed(f"status {status}")

    def stream_error_or_answer_then(self, stream, *codes):
        """As a stream error; an answer that crossed the wrong frame on its way does not count."""
        try:
            while True:
                one = self.read()
                if one.type == GOAWAY or (one.type == RST_STREAM and one.stream_id == stream):
                    return match(one, codes)
        except Closed:
            return

    def ignored_or_stream_error(self, stream, *codes):
        """What follows a reset may have crossed it on its way: it is ignored, or a stream error."""
        self.send(frame(PING, payload=b"alive?!!"))
        try:
            while True:
                one = self.read()
                if one.type == PING and "ACK" in one.flags:
                    return
                if one.type == GOAWAY or (one.type == RST_STREAM and one.stream_id == stream):
                    return match(one, codes)
        except Closed:
            return

    def only_bytes(self, stream, count):
        """So many bytes of the answer's body have come, and no more come before a PING is answered."""
        while self.lengths.get(stream, 0) < count or stream not in self.answers:
            self.until(lambda one: one.stream_id == stream)
        self.send(frame(PING, payload=b"no more?"))
        self.until(lambda one: one.type == PING and "ACK" in one.flags and one.opaque_data == b"no more?")
        if self.lengths.get(stream, 0) != count:
            raise Failed(f"{self.lengths[stream]} bytes of the body, the window lets {count}")

    def alive(self):
        """It still answers a PING, and a new request."""
        self.send(frame(PING, payload=b"alive?!!"))
        self.until(lambda one: one.type == PING and "ACK" in one.flags and one.opaque_data == b"alive?!!")
        self.request(stream=101)
        self.answered(101)
