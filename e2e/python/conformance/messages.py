"""Cases of requests: field names, pseudo-fields, lengths; and of HPACK."""

from conformance.cases import DONE, OPEN, greeting
from conformance.wire import *  # noqa: F403  # the vocabulary of frames


def malformed(section, name, pairs):
    """A request with these fields is refused, alone."""

    def run(c):
        c.request(pairs=pairs(c))
        c.stream_error(1, PROTOCOL_ERROR, answer=True)
        try:
            c.alive()
        except Closed as error:
            raise General("the connection was ended too") from error

    run.__name__ = f"{name}_is_malformed"
    greeting(section)(run)


def added(*pairs):
    return lambda c: c.headers("GET", pairs)


def lacking(name):
    return lambda c: c.headers("GET", without=(name,))


malformed("8.2.1", "a_field_name_in_upper_case", added(("X-Upper", "1")))
malformed("8.2.1", "a_field_name_with_a_space", added(("x y", "1")))
malformed("8.2.1", "a_field_value_with_a_line_feed", added(("x-value", "a\nb")))
malformed("8.2.2", "connection", added(("connection", "keep-alive")))
malformed("8.2.2", "transfer_encoding", added(("transfer-encoding", "chunked")))
malformed("8.2.2", "keep_alive", added(("keep-alive", "1")))
malformed("8.2.2", "proxy_connection", added(("proxy-connection", "close")))
malformed("8.2.2", "upgrade", added(("upgrade", "h2c")))
malformed("8.2.2", "te_other_than_trailers", added(("te", "trailers, deflate")))
malformed("8.3", "an_unknown_pseudo_field", added((":unknown", "1")))
malformed("8.3", "a_pseudo_field_of_answers", added((":status", "200")))
malformed("8.3", "a_pseudo_field_after_others", lambda c: [("x-first", "1"), *c.headers("GET")])
malformed("8.3.1", "an_empty_path", lambda c: c.headers("GET", path=""))
malformed("8.3.1", "a_request_without_method", lacking(":method"))
malformed("8.3.1", "a_request_without_scheme", lacking(":scheme"))
malformed("8.3.1", "a_request_without_path", lacking(":path"))
malformed("8.3.1", "a_request_with_two_methods", lambda c: [(":method", "GET"), *c.headers("GET")])
malformed("8.3.1", "a_request_with_two_schemes", lambda c: [(":scheme", "http"), *c.headers("GET")])
malformed("8.3.1", "a_request_with_two_paths", lambda c: [(":path", "/"), *c.headers("GET")])


@greeting("8.1")
def a_second_field_block_that_does_not_end_the_stream_is_malformed(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.request(flags=OPEN, pairs=[("x-trailer", "1")])
    c.stream_error(1, PROTOCOL_ERROR, answer=True)


@greeting("8.1")
def trailers_are_taken(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, 0, 1, b"[]"))
    c.request(flags=DONE, pairs=[("x-trailer", "1")])
    c.answered()


@greeting("8.1")
def a_pseudo_field_in_trailers_is_malformed(c):
    c.request(flags=OPEN, pairs=c.headers())
    c.send(frame(DATA, 0, 1, b"[]"))
    c.request(flags=DONE, pairs=[(":path", "/")])
    c.stream_error(1, PROTOCOL_ERROR, answer=True)


def length(name, declared, parts):
    def run(c):
        c.request(flags=OPEN, pairs=c.headers(more=[("content-length", str(declared))]))
        for at, part in enumerate(parts):
            c.send(frame(DATA, END_STREAM if at == len(parts) - 1 else 0, 1, part))
        c.stream_error(1, PROTOCOL_ERROR, answer=True)

    run.__name__ = f"{name}_is_malformed"
    greeting("8.1.1")(run)


length("a_body_shorter_than_its_length", 3, [b"[]"])
length("a_body_longer_than_its_length", 1, [b"[]"])
length("a_body_in_parts_longer_than_its_length", 3, [b"[1", b",2]"])


@greeting("8.1.1")
def an_empty_body_of_a_length_is_malformed(c):
    c.request(pairs=c.headers(more=[("content-length", "5")]))
    c.stream_error(1, PROTOCOL_ERROR, answer=True)


@greeting("8.2.2")
def te_trailers_is_taken(c):
    c.request(pairs=c.headers("GET", [("te", "trailers")]))
    c.answered()


@greeting("8.2.3")
def cookies_in_parts_are_taken(c):
    c.request(pairs=c.headers("GET", [("cookie", "a=1"), ("cookie", "b=2")]))
    c.answered()


@greeting("8.4")
def a_client_that_pushes_is_refused(c):
    c.send(frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\x02" + c.block(c.headers("GET"))))
    c.connection_error(PROTOCOL_ERROR)


@greeting("8.6")
def head_has_no_body(c):
    c.request(pairs=c.headers("HEAD"))
    c.answered()
    if c.lengths.get(1):
        raise Failed(f"{c.lengths[1]} bytes")


def hpack_error(section, name, block):
    def run(c):
        c.send(frame(HEADERS, DONE, 1, block(c)))
        c.connection_error(COMPRESSION_ERROR)

    run.__name__ = name
    greeting(f"hpack {section}")(run)


hpack_error("2.3.3", "an_index_beyond_both_tables", lambda c: c.block(c.headers("GET")) + b"\xc6")
hpack_error("4.2", "a_change_of_table_size_at_the_end_of_a_block", lambda c: c.block(c.headers("GET")) + b"\x21")
hpack_error("5.2", "huffman_padding_of_a_byte", lambda c: c.block(c.headers("GET")) + b"\x00\x01x\x82\x07\xff")
hpack_error("5.2", "huffman_padding_of_zeros", lambda c: c.block(c.headers("GET")) + b"\x00\x01x\x81\x00")
hpack_error("5.2", "a_huffman_string_with_its_end", lambda c: c.block(c.headers("GET")) + b"\x00\x01x\x84\xff\xff\xff\xfc")
hpack_error("6.1", "index_0", lambda c: c.block(c.headers("GET")) + b"\x80")
hpack_error("6.3", "a_table_above_its_limit", lambda c: b"\x3f\xe1\xff\xff\x03" + c.block(c.headers("GET")))
