"""Reads a recorded set with DuckDB and pandas, and compares it with docs/COLUMNS.md and with what a client got.

usage: check_set.py SET_DIR COLUMNS_MD SENT_FILE

SENT_FILE is what drive.py wrote. Fails with what differs; prints the counts by class as JSON.
"""

import json
import re
import sys

import duckdb
import numpy as np
import pandas as pd

DUCKDB_TYPES = {
    "text": "VARCHAR",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "binary": "BLOB",
    "timestamp(µs, UTC)": "TIMESTAMP WITH TIME ZONE",
    "list of text": "VARCHAR[]",
    "list of float64": "DOUBLE[]",
}

# The class that each planted fault must get, with its detail where there is one.
EXPECTED = {0: "BIT_EQUAL", 7: "GROSS", 8: "DEGENERATE", 9: "WITHIN_TOL"}


def documented(columns_md, table):
    """The columns of a table as documented: (name, DuckDB type, may be null)."""
    text = open(columns_md, encoding="utf-8").read()
    section = text.split(f"\n## {table}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (yes|no) \|", section, re.M)
    assert rows, f"no columns of {table} in {columns_md}"
    return [(name, DUCKDB_TYPES[kind.strip()], null == "yes") for name, kind, null in rows]


def check_columns(files, columns):
    described = duckdb.sql(f"describe select * from read_parquet('{files}', hive_partitioning=false)").fetchall()
    found = [(row[0], row[1]) for row in described]
    assert found == [column[:2] for column in columns], set(found) ^ {column[:2] for column in columns}
    for name, _, may_be_null in columns:
        nulls = duckdb.sql(f"""select count(*) from read_parquet('{files}') where "{name}" is null""").fetchall()[0][0]
        assert may_be_null or nulls == 0, f"{nulls} nulls in {name}"


def check_rows(frame, sent):
    assert len(frame) == len(sent), f"{len(frame)} rows for {len(sent)} requests"
    assert sorted(frame.request_id) == sorted(sent), "each request is recorded once"
    assert sorted(frame.sequence) == list(range(len(sent))), "sequence numbers without gaps"
    for row in frame.itertuples():
        request = sent[row.request_id]
        about = (row.request_id, request["encoding"], row.primary_undecodable, row.shadow_undecodable)
        assert row.protocol == ("v2_json" if request["encoding"].startswith("json") else "v2_binary"), (about, row.protocol)
        assert (row.primary_status, row.shadow_status) == (200, 200), about
        assert (row.primary_outcome, row.shadow_outcome) == ("answered", "answered"), about
        assert (row.model, row.primary_model_version, row.shadow_model_version) == ("score", "1", "2"), about
        assert list(row.primary_output_names) == ["LABEL", "NAME", "SCORE"], about
        assert list(row.primary_output_dtypes) == ["INT64", "BYTES", "FP32"], about
        # LABEL comes before SCORE among the values.
        scores = np.asarray(row.primary_values)[-len(request["scores"]):]
        np.testing.assert_array_equal(scores, request["scores"], err_msg=str(about))


def main(directory, columns_md, sent_file):
    exchanges = f"{directory}/exchanges/**/*.parquet"
    ledger = f"{directory}/ledger/**/*.parquet"
    sent = {line["id"]: line for line in map(json.loads, open(sent_file))}

    check_columns(exchanges, documented(columns_md, "exchanges"))
    check_columns(ledger, documented(columns_md, "ledger"))
    frame = pd.read_parquet(f"{directory}/exchanges")
    check_rows(frame, sent)

    by_id = dict(duckdb.sql(f"select request_id, class from read_parquet('{exchanges}')").fetchall())
    wrong = {key: (by_id[key], line) for key, line in sent.items() if by_id[key] != EXPECTED[line["fault"]]}
    assert not wrong, f"wrong classes: {wrong}"
    assert frame["class"].value_counts().to_dict() == pd.Series(by_id).value_counts().to_dict()

    last = f"read_parquet('{ledger}') qualify snapshot = max(snapshot) over (partition by proxy, run)"
    counts = duckdb.sql(f"select item, sum(count)::bigint from (select * from {last}) group by item").fetchall()
    counts = {item: count for item, count in counts if count}
    expected = {"mirrored": len(sent), "outcome.answered": len(sent), "delivered": len(sent)}
    assert counts == expected, f"ledger {counts}, expected {expected}"
    print(json.dumps(frame["class"].value_counts().to_dict()))


if __name__ == "__main__":
    main(*sys.argv[1:4])
