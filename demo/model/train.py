"""Trains the demo's click ranker and writes ranker.json and reference.json beside this file.

    python3 -m venv VENV && VENV/bin/pip install scikit-learn==1.9.1 && VENV/bin/python demo/model/train.py

The data is made up, the model is real: gradient-boosted trees (Friedman 2001) as scikit-learn fits them.
The same seed and the same scikit-learn give the same files.

ranker.json     {"name", "version", "features": [{"name", "integer", "quantiles"}], "threshold", "bias",
                "learning_rate", "trees": [{"feature", "threshold", "left", "right", "value"}]}
                feature -1 marks a leaf; a row goes left when row[feature] <= threshold, both float32;
                probability = 1 / (1 + exp(-(bias + learning_rate * sum of leaf values))).
                quantiles are those of the training data at 0, 5, ..., 100 %: the load generator draws from them.
reference.json  {"inputs": [[8 floats]], "probabilities": [float]} as scikit-learn computes them.
"""

import json
import pathlib

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

SEED = 20261130
ROWS = 20_000
HERE = pathlib.Path(__file__).resolve().parent

FEATURES = [
    ("user_click_rate", False),
    ("ad_click_rate", False),
    ("relevance", False),
    ("position", True),
    ("bid", False),
    ("hour", True),
    ("days_since_seen", False),
    ("account_age_days", False),
]


def draw(rng, rows):
    """Features of `rows` impressions, float32 [rows, 8], in the order of FEATURES."""
    columns = [
        rng.beta(2, 14, rows),
        rng.beta(2, 24, rows),
        rng.beta(2, 2, rows),
        rng.integers(1, 9, rows),
        rng.lognormal(-0.5, 0.6, rows),
        rng.integers(0, 24, rows),
        rng.exponential(5.0, rows),
        rng.exponential(400.0, rows),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def clicks(rng, x):
    """Whether each impression was clicked: a logistic rule with interactions no linear model has."""
    user, ad, relevance, position, bid, hour, seen, age = x.astype(np.float64).T
    logit = (
        -2.0
        + 9.0 * user
        + 8.0 * ad
        + 3.0 * (relevance - 0.5)
        - 0.35 * (position - 1.0)
        + 4.0 * relevance * (user > 0.15)
        + 0.5 * np.cos((hour - 20.0) / 24.0 * 2.0 * np.pi)
        - 0.8 * (seen < 1.0)
        + 0.2 * np.log1p(bid)
        - 0.1 * np.log1p(age / 100.0)
    )
    return (rng.random(len(x)) < 1.0 / (1.0 + np.exp(-logit))).astype(np.int64)


def threshold32(threshold):
    """The largest float32 not above a threshold: for float32 features `<=` decides the same, and it is short to print."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(str(rounded))


def tree_of(estimator):
    t = estimator.tree_
    leaf = t.children_left < 0
    return {
        "feature": [-1 if is_leaf else int(f) for f, is_leaf in zip(t.feature, leaf)],
        "threshold": [0 if is_leaf else threshold32(v) for v, is_leaf in zip(t.threshold, leaf)],
        "left": [0 if is_leaf else int(n) for n, is_leaf in zip(t.children_left, leaf)],
        "right": [0 if is_leaf else int(n) for n, is_leaf in zip(t.children_right, leaf)],
        "value": [float(v) if is_leaf else 0 for v, is_leaf in zip(t.value[:, 0, 0], leaf)],
    }


def reference_inputs(rng, trees):
    """Usual rows, then rows that sit exactly on a threshold, then rows far outside the training data."""
    usual = draw(rng, 96)
    edges = draw(rng, 64)
    for row, (tree, node) in zip(edges, ((t, n) for t in trees for n in range(len(t["feature"])))):
        if tree["feature"][node] >= 0:
            row[tree["feature"][node]] = np.float32(tree["threshold"][node])
    outside = np.array([[0.0] * 8, [-1.0] * 8, [1e6] * 8, [-1e30] * 8], dtype=np.float32)
    return np.concatenate([usual, edges, outside])


def main():
    rng = np.random.default_rng(SEED)
    x = draw(rng, ROWS)
    y = clicks(rng, x)
    model = GradientBoostingClassifier(
        n_estimators=60, max_depth=4, learning_rate=0.1, min_samples_leaf=40, random_state=SEED
    ).fit(x, y)

    held_out = draw(rng, ROWS)
    p = model.predict_proba(held_out)[:, 1]
    held_out_y = clicks(rng, held_out)
    order = np.argsort(p)
    ranks = np.empty(ROWS)
    ranks[order] = np.arange(1, ROWS + 1)
    positives = held_out_y.sum()
    auc = (ranks[held_out_y == 1].sum() - positives * (positives + 1) / 2) / (positives * (ROWS - positives))
    print(f"clicked {y.mean():.3f}, held-out AUC {auc:.3f}")
    print("score quantiles", np.round(np.quantile(p, [0, 0.05, 0.5, 0.95, 1]), 4), "share over 0.5", (p >= 0.5).mean())

    trees = [tree_of(e) for e in model.estimators_[:, 0]]
    quantiles = np.quantile(x, np.linspace(0, 1, 21), axis=0)
    rate = float(y.mean())
    ranker = {
        "name": "ranker",
        "version": "1",
        "features": [
            {"name": name, "integer": integer, "quantiles": [float(f"{q:.6g}") for q in quantiles[:, i]]}
            for i, (name, integer) in enumerate(FEATURES)
        ],
        "threshold": 0.5,
        "bias": float(np.log(rate / (1.0 - rate))),
        "learning_rate": model.learning_rate,
        "trees": trees,
    }
    inputs = reference_inputs(rng, trees)
    reference = {
        "inputs": [[float(v) for v in row] for row in inputs],
        "probabilities": [float(v) for v in model.predict_proba(inputs)[:, 1]],
    }
    for name, value in (("ranker.json", ranker), ("reference.json", reference)):
        (HERE / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
