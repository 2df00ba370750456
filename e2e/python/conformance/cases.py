"""What RFC 9113 (HTTP/2) and RFC 7541 (HPACK) ask of a server, one case a function, by section."""

import struct

from conformance.wire import *  # noqa: F403  # the vocabulary of frames

CASES = []


def case(section):
    def register(function):
        CASES.append((section, function.__name__, function))
        return function

    return register


def greeting(section, own=()):
    """A case on a connection that has been greeted, with these settings of ours."""

    def register(function):
        def on(host, port):
            connection = Connection(host, port, own=own)
            try:
                function(connection)
            finally:
                connection.close()

        CASES.append((section, function.__name__, on))
        return function

    return register


OPEN = END_HEADERS
DONE = END_HEADERS | END_STREAM


@case("3.4")
def a_wrong_preface_ends_the_connection(host, port):
    connection = Connection(host, port, greet=False)
    connection.send(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + frame(SETTINGS))
    # It may be told so in HTTP/1.1.
    try:
        while True:
            connection.take(1)
    except Closed:
        connection.close()


@case("3.4")
def the_first_frame_of_the_server_is_its_settings(host, port):
    Connection(host, port).close()


@case("3.4")
def a_client_that_begins_without_settings_is_refused(host, port):
    connection = Connection(host, port, greet=False)
    connection.send(PREFACE + frame(PING, payload=bytes(8)))
    connection.connection_error(PROTOCOL_ERROR)
    connection.close()


@greeting("4.1")
def a_frame_of_an_unknown_type_is_ignored(c):
    c.send(frame(0x77, 0, 0, b"unknown"))
    c.alive()


@greeting("4.1")
def unknown_flags_are_ignored(c):
    c.send(frame(PING, 0x16, 0, b"alive?!!"))
    c.until(lambda one: one.type == PING and "ACK" in one.flags)
    c.alive()


@greeting("4.1")
def the_reserved_bit_is_ignored(c):
    c.send(frame(PING, 0, 1 << 31, b"alive?!!"))
    c.until(lambda one: one.type == PING and "ACK" in one.flags)
    c.alive()


@greeting("4.2")
def a_data_frame_of_the_largest_size_is_taken(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, END_STREAM, 1, bytes(1 << 14)))
    c.answered()


@greeting("4.2")
def a_data_frame_above_the_largest_size_is_an_error(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, END_STREAM, 1, bytes(c.theirs[MAX_FRAME_SIZE] + 1)))
    c.stream_error(1, FRAME_SIZE_ERROR)


@greeting("4.2")
def a_headers_frame_above_the_largest_size_ends_the_connection(c):
    c.send(frame(HEADERS, DONE, 1, bytes(c.theirs[MAX_FRAME_SIZE] + 1)))
    c.connection_error(FRAME_SIZE_ERROR)


@greeting("4.3")
def a_field_block_that_cannot_be_read_is_a_compression_error(c):
    c.send(frame(HEADERS, DONE, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
    c.connection_error(COMPRESSION_ERROR)


@greeting("4.3")
def another_frame_within_a_field_block_ends_the_connection(c):
    c.send(frame(HEADERS, END_STREAM, 1, c.block(c.headers("GET"))) + frame(PRIORITY, 0, 1, bytes(4) + b"\x01"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("4.3")
def headers_of_another_stream_within_a_field_block_end_the_connection(c):
    block = c.block(c.headers("GET"))
    c.send(frame(HEADERS, END_STREAM, 1, block) + frame(HEADERS, DONE, 3, block))
    c.connection_error(PROTOCOL_ERROR)


def on_an_idle_stream(name, data):
    def run(c):
        c.send(data)
        c.connection_error(PROTOCOL_ERROR)

    run.__name__ = f"{name}_on_an_idle_stream_ends_the_connection"
    greeting("5.1")(run)


on_an_idle_stream("data", frame(DATA, END_STREAM, 1, b"[]"))
on_an_idle_stream("rst_stream", frame(RST_STREAM, 0, 1, struct.pack(">I", 8)))
on_an_idle_stream("window_update", frame(WINDOW_UPDATE, 0, 1, struct.pack(">I", 100)))
on_an_idle_stream("continuation", frame(CONTINUATION, DONE, 1, b""))


def after_its_end(name, more):
    """Frames on a stream that the client has half-closed, and on one that is closed on both sides."""

    def half_closed(c):
        c.request()
        c.send(more(c))
        c.stream_error_or_answer_then(1, STREAM_CLOSED)

    def closed(c):
        c.request()
        c.answered()
        c.send(more(c))
        c.stream_error(1, STREAM_CLOSED, PROTOCOL_ERROR)

    def reset(c):
        c.request(flags=OPEN, pairs=c.headers())
        c.send(frame(RST_STREAM, 0, 1, struct.pack(">I", 8)) + more(c))
        c.ignored_or_stream_error(1, STREAM_CLOSED, PROTOCOL_ERROR)

    for state, run in (("half_closed", half_closed), ("closed", closed), ("reset", reset)):
        run.__name__ = f"{name}_on_a_{state}_stream_is_an_error"
        greeting("5.1")(run)


after_its_end("data", lambda c: frame(DATA, END_STREAM, 1, b"[]"))
after_its_end("headers", lambda c: frame(HEADERS, DONE, 1, c.block(c.headers("GET"))))


@greeting("5.1")
def continuation_on_a_half_closed_stream_ends_the_connection(c):
    c.request()
    c.send(frame(CONTINUATION, END_HEADERS, 1, c.block([("a", "b")])))
    c.connection_error(STREAM_CLOSED, PROTOCOL_ERROR)


@greeting("5.1.1")
def a_stream_of_an_even_number_ends_the_connection(c):
    c.request(stream=2)
    c.connection_error(PROTOCOL_ERROR)


@greeting("5.1.1")
def a_stream_of_a_smaller_number_ends_the_connection(c):
    c.request(stream=5)
    c.request(stream=3)
    c.connection_error(PROTOCOL_ERROR, STREAM_CLOSED)


@greeting("5.1.2")
def streams_beyond_the_limit_are_refused(c):
    limit = c.theirs.get(MAX_CONCURRENT_STREAMS)
    if limit is None or limit > 2000:
        raise Failed(f"the server allows {limit} streams at once")
    for number in range(limit + 1):
        c.request(2 * number + 1, OPEN, c.headers())
    c.stream_error(2 * limit + 1, PROTOCOL_ERROR, REFUSED_STREAM)


@greeting("5.4.1")
def a_connection_is_closed_after_its_error(c):
    c.send(frame(PING, 0, 0, bytes(6)))
    c.connection_error(FRAME_SIZE_ERROR)
    try:
        while True:
            c.read()
    except Closed:
        return


@greeting("5.5")
def an_unknown_frame_within_a_field_block_ends_the_connection(c):
    c.send(frame(HEADERS, END_STREAM, 1, c.block(c.headers("GET"))) + frame(0x77, 0, 0, b"unknown"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.1")
def data_on_stream_0_ends_the_connection(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, END_STREAM, 0, b"[]"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.1")
def padding_as_long_as_the_data_frame_ends_the_connection(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, END_STREAM | PADDED, 1, b"\x06[]\0\0"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.1")
def padded_data_is_taken(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, END_STREAM | PADDED, 1, b"\x02[]\0\0"))
    c.answered()


@greeting("6.2")
def headers_on_stream_0_end_the_connection(c):
    c.request(stream=0)
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.2")
def padding_longer_than_the_headers_frame_ends_the_connection(c):
    block = c.block(c.headers("GET"))
    c.send(frame(HEADERS, DONE | PADDED, 1, bytes([len(block) + 1]) + block))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.2")
def padded_headers_with_a_priority_are_taken(c):
    block = c.block(c.headers("GET"))
    c.send(frame(HEADERS, DONE | PADDED | PRIORITISED, 1, b"\x04" + bytes(4) + b"\x10" + block + bytes(4)))
    c.answered()


@greeting("6.3")
def priority_on_stream_0_ends_the_connection(c):
    c.send(frame(PRIORITY, 0, 0, bytes(4) + b"\x10"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.3")
def priority_of_a_wrong_length_is_an_error(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(PRIORITY, 0, 1, bytes(4)))
    c.stream_error(1, FRAME_SIZE_ERROR)


@greeting("6.3")
def priority_of_an_idle_stream_is_taken(c):
    c.send(frame(PRIORITY, 0, 3, bytes(4) + b"\x10"))
    c.alive()


@greeting("6.4")
def rst_stream_on_stream_0_ends_the_connection(c):
    c.send(frame(RST_STREAM, 0, 0, struct.pack(">I", 8)))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.4")
def rst_stream_of_a_wrong_length_ends_the_connection(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(RST_STREAM, 0, 1, bytes(3)))
    c.connection_error(FRAME_SIZE_ERROR)
