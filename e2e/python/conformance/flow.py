"""Cases of the connection's own frames: settings, pings, windows, continuations."""

import struct

from conformance.cases import DONE, OPEN, greeting
from conformance.wire import *  # noqa: F403  # the vocabulary of frames


def window(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


@greeting("6.5")
def an_acknowledgement_of_settings_with_a_payload_ends_the_connection(c):
    c.send(frame(SETTINGS, ACK, 0, settings((INITIAL_WINDOW_SIZE, 100))))
    c.connection_error(FRAME_SIZE_ERROR)


@greeting("6.5")
def settings_on_a_stream_end_the_connection(c):
    c.send(frame(SETTINGS, 0, 1, settings((MAX_CONCURRENT_STREAMS, 100))))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.5")
def settings_of_a_wrong_length_end_the_connection(c):
    c.send(frame(SETTINGS, 0, 0, bytes(3)))
    c.connection_error(FRAME_SIZE_ERROR)


def setting(name, value, *codes):
    def run(c):
        c.send(frame(SETTINGS, 0, 0, settings((name, value))))
        c.connection_error(*codes)

    run.__name__ = f"setting_{name}_of_{value}_ends_the_connection"
    greeting("6.5.2")(run)


setting(ENABLE_PUSH, 2, PROTOCOL_ERROR)
setting(INITIAL_WINDOW_SIZE, 1 << 31, FLOW_CONTROL_ERROR)
setting(MAX_FRAME_SIZE, (1 << 14) - 1, PROTOCOL_ERROR)
setting(MAX_FRAME_SIZE, 1 << 24, PROTOCOL_ERROR)


@greeting("6.5.2")
def an_unknown_setting_is_ignored(c):
    c.send(frame(SETTINGS, 0, 0, settings((0xFE03, 1), (0x99, 7))))
    c.until(lambda one: one.type == SETTINGS and "ACK" in one.flags)
    c.alive()


@greeting("6.5.3")
def settings_are_acknowledged(c):
    c.send(frame(SETTINGS, 0, 0, settings((ENABLE_PUSH, 0))))
    c.until(lambda one: one.type == SETTINGS and "ACK" in one.flags)


@greeting("6.5.3", own=((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)))
def the_last_value_of_a_setting_counts(c):
    c.request()
    c.only_bytes(1, 1)


@greeting("6.7")
def a_ping_is_answered_with_its_payload(c):
    c.send(frame(PING, payload=b"12345678"))
    answer = c.until(lambda one: one.type == PING and "ACK" in one.flags)
    if answer.opaque_data != b"12345678":
        raise Failed(f"payload {answer.opaque_data}")


@greeting("6.7")
def an_acknowledgement_of_no_ping_is_ignored(c):
    c.send(frame(PING, ACK, 0, b"87654321"))
    c.alive()


@greeting("6.7")
def a_ping_on_a_stream_ends_the_connection(c):
    c.send(frame(PING, 0, 1, bytes(8)))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.7")
def a_ping_of_a_wrong_length_ends_the_connection(c):
    c.send(frame(PING, 0, 0, bytes(6)))
    c.connection_error(FRAME_SIZE_ERROR)


@greeting("6.8")
def goaway_on_a_stream_ends_the_connection(c):
    c.send(frame(GOAWAY, 0, 1, bytes(8)))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.8")
def a_client_that_says_goodbye_gets_its_answer(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(GOAWAY, 0, 0, bytes(8)) + frame(DATA, END_STREAM, 1, b"[]"))
    c.answered()


@greeting("6.9")
def a_window_update_of_0_ends_the_connection(c):
    c.send(window(0, 0))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.9")
def a_window_update_of_0_on_a_stream_is_an_error(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(window(1, 0))
    c.stream_error(1, PROTOCOL_ERROR)


@greeting("6.9")
def a_window_update_of_a_wrong_length_ends_the_connection(c):
    c.send(frame(WINDOW_UPDATE, 0, 0, bytes(3)))
    c.connection_error(FRAME_SIZE_ERROR)


@greeting("6.9.1", own=((INITIAL_WINDOW_SIZE, 1),))
def no_more_is_sent_than_the_window_lets(c):
    c.request()
    c.only_bytes(1, 1)


@greeting("6.9.1")
def a_window_of_the_connection_above_the_largest_ends_it(c):
    c.send(window(0, (1 << 31) - 1) * 2)
    c.connection_error(FLOW_CONTROL_ERROR)


@greeting("6.9.1")
def a_window_of_a_stream_above_the_largest_is_an_error(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(window(1, (1 << 31) - 1) * 2)
    c.stream_error(1, FLOW_CONTROL_ERROR)


@greeting("6.9.2", own=((INITIAL_WINDOW_SIZE, 0),))
def a_larger_initial_window_opens_the_streams_that_wait(c):
    c.request()
    c.only_bytes(1, 0)
    c.send(frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 1))))
    c.only_bytes(1, 1)


@greeting("6.9.2", own=((INITIAL_WINDOW_SIZE, 3),))
def a_window_may_become_negative(c):
    c.request()
    c.only_bytes(1, 3)
    # Now 2 - 3 below nothing; two more make one byte.
    c.send(frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 2))) + window(1, 2))
    c.only_bytes(1, 4)


@greeting("6.9.2")
def an_initial_window_that_overflows_a_stream_ends_the_connection(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(window(1, (1 << 31) - 1 - 65535) + frame(SETTINGS, 0, 0, settings((INITIAL_WINDOW_SIZE, 65536))))
    c.connection_error(FLOW_CONTROL_ERROR)


@greeting("6.10")
def a_field_block_in_many_parts_is_taken(c):
    block = c.block(c.headers("GET", [("x-long", "v" * 100)]))
    parts = [block[:10], block[10:50], block[50:]]
    c.send(frame(HEADERS, END_STREAM, 1, parts[0]) + frame(CONTINUATION, 0, 1, parts[1]))
    c.send(frame(CONTINUATION, END_HEADERS, 1, parts[2]))
    c.answered()


@greeting("6.10")
def continuation_after_the_end_of_the_field_block_ends_the_connection(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(CONTINUATION, END_HEADERS, 1, c.block([("a", "b")])))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.10")
def continuation_on_stream_0_ends_the_connection(c):
    c.send(frame(HEADERS, END_STREAM, 1, c.block(c.headers("GET"))) + frame(CONTINUATION, END_HEADERS, 0, b""))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.10")
def data_within_a_field_block_ends_the_connection(c):
    c.send(frame(HEADERS, 0, 1, c.block(c.headers())) + frame(DATA, END_STREAM, 1, b"[]"))
    c.connection_error(PROTOCOL_ERROR)


@greeting("6.10")
def a_field_block_without_end_is_bounded(c):
    c.send(frame(HEADERS, END_STREAM, 1, c.block(c.headers("GET"))))
    part = c.block([("x-flood", "v" * 8000)])
    for _ in range(2000):
        c.send(frame(CONTINUATION, 0, 1, part))
    # However it is worded: CVE-2024-27316 and its like.
    c.connection_error(*range(14))
