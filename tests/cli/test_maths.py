"""`specviz theory` and `specviz simulate` through the command line."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands import simulate as simulate_module
from specviz.cli.main import main
from specviz.cli.shared.terminal_output import ProgressBar
from specviz.maths.simulation_report import AtTemperature, at_temperatures
from specviz.maths.toy_distributions import ToyPair
from tests.cli.conftest import Specviz


def told(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(args) == 0
    return capsys.readouterr().out


def read(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    out = told(capsys, *args, "--json")

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found: dict[str, Any] = json.loads(out, parse_constant=refuse)
    return found


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("specviz: ")
    assert "Traceback" not in err
    return err


# -- theory


@pytest.mark.parametrize(
    ("alpha", "k", "digits"),
    [
        ("0.5", "4", "1.94"),
        ("0.6", "4", "2.31"),
        ("0.7", "4", "2.77"),
        ("0.8", "4", "3.36"),
        ("0.9", "4", "4.10"),
        ("0.5", "8", "1.996"),
        ("0.6", "8", "2.47"),
        ("0.7", "8", "3.20"),
        ("0.8", "8", "4.33"),
        ("0.9", "8", "6.13"),
    ],
)
def test_expected_tokens_to_the_printed_digits(
    capsys: pytest.CaptureFixture[str], alpha: str, k: str, digits: str
) -> None:
    [row] = read(capsys, "theory", "--alpha", alpha, "--k", k)["rows"]
    assert f"{row['expected_tokens']:.{len(digits) - 2}f}" == digits


@pytest.mark.parametrize(
    ("alpha", "c", "k", "digits"),
    [
        (".8", "10", "4", "2.40"),
        (".8", "10", "8", "2.40"),
        (".9", "10", "8", "3.40"),
        (".6", "10", "4", "1.65"),
        (".8", "5", "4", "1.87"),
        (".7", "8", "4", "1.85"),
        (".7", "8", "8", "1.60"),
        (".8", "10", "16", "1.88"),
    ],
)
def test_speedups_to_the_printed_digits(
    capsys: pytest.CaptureFixture[str], alpha: str, c: str, k: str, digits: str
) -> None:
    args = ("theory", "--alpha", alpha, "--k", k, "--c", c)
    assert f"{read(capsys, *args)['rows'][0]['speedup']:.2f}" == digits
    assert digits in told(capsys, *args)


@pytest.mark.parametrize(
    ("alpha", "k", "operations", "speed"),
    [
        (".6", "2", "1.53", "1.96"),
        (".7", "3", "1.58", "2.53"),
        (".8", "2", "1.23", "2.44"),
        (".8", "5", "1.63", "3.69"),
        (".9", "2", "1.11", "2.71"),
        (".9", "10", "1.60", "6.86"),
    ],
)
def test_table_1_with_free_drafts(
    capsys: pytest.CaptureFixture[str], alpha: str, k: str, operations: str, speed: str
) -> None:
    out = told(capsys, "theory", "--alpha", alpha, "--k", k, "--c", "inf")
    first = out.splitlines()[2].split()
    assert first[2] == "inf"
    assert (first[4], first[-1]) == (speed, operations)


def test_best_k_and_break_even(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = read(capsys, "theory", "--alpha", ".8", "--k", "4", "--c", "8,10")["rows"]
    assert f"{one['break_even_alpha']:.3f}" == "0.336"
    assert (two["best_k"], f"{two['best_speedup']:.2f}") == (6, "2.47")


def test_the_note_on_the_rule_of_thumb(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "theory", "--alpha", "0.8", "--c", "10")
    assert "at α = 0.8, c = 10 the best K is 6 (2.47×); K = 8 gives 2.40×, K = 16 gives 1.88×" in out
    assert "Rule of thumb" not in told(capsys, "theory", "--alpha", "0.5")
    assert "and for" in told(capsys, "theory", "--alpha", "0.8..0.9..0.01")


def test_lists_and_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    rows = read(capsys, "theory", "--alpha", "0.5..0.7,1", "--k", "1..3", "--c", "1..9..4,inf")["rows"]
    assert sorted({row["alpha"] for row in rows}) == [0.5, 0.6, 0.7, 1.0]
    assert sorted({row["k"] for row in rows}) == [1, 2, 3]
    assert [row["c"] for row in rows[::12]] == [1.0, 5.0, 9.0, "inf"]
    assert len(rows) == 4 * 3 * 4
    assert all(len(row["distribution"]) == row["k"] + 1 for row in rows)


def test_tables_at_80_columns_break_no_number(specviz: Specviz) -> None:
    out = specviz("theory", "--k", "0,40", "--c", "0.5,inf", PYTHONIOENCODING="utf-8", COLUMNS="80").stdout.decode()
    assert all(len(line) <= 80 for line in out.splitlines() if line[:1] in " 0─")
    assert "…" not in out
    assert "0.03!" in out and "! slower than the target alone." in out


def test_plot(capsys: pytest.CaptureFixture[str], specviz: Specviz) -> None:
    out = told(capsys, "theory", "--alpha", "0.5,0.8", "--c", "10,inf", "--plot")
    assert "a  α = 0.5: best K 2, 1.46×" in out
    assert "b  α = 0.8: best K 6, 2.47×" in out
    assert "b  α = 0.8: best K ≥ 32" in out
    assert "\x1b" not in out, "not a terminal: no colours"
    chart = out.split("a  α")[0].splitlines()[1:-1]
    marks = [line.index("b") for line in chart if "b" in line]
    assert len(marks) == 1
    plain = specviz("theory", "--alpha", "0.8", "--plot", PYTHONIOENCODING="ascii").stdout
    assert plain.isascii() and b"?" not in plain and b"alpha = 0.8: best K 6, 2.47x" in plain


def test_derive(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "theory", "--derive", "--alpha", "0.8", "--k", "4", "--c", "8")
    assert out.count("check:") == out.count(", holds") >= 12
    assert "alpha = 1 - (1/2) sum_x |p(x) - q(x)| = 1 - TV(p, q)" in out
    assert "K = 4, c = 8, alpha = 0.33" in out
    found = read(capsys, "theory", "--derive")
    assert found["holds"] is True and len(found["derivations"]) == 5


def test_a_derivation_that_fails_exits_with_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specviz.maths.derivations.TOLERANCE", -1.0)
    assert main(["theory", "--derive"]) == 3
    assert "FAILS" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--alpha", "1.1"), "--alpha: '1.1' is not a number from 0 to 1."),
        (("--alpha", "-0.1"), "--alpha"),
        (("--alpha", "nan"), "--alpha"),
        (("--alpha", "inf"), "--alpha"),
        (("--alpha", ""), "--alpha"),
        (("--alpha", "0.5,"), "--alpha"),
        (("--alpha", "0.9..0.5"), "is descending"),
        (("--alpha", "0..1..0"), "not a valid step"),
        (("--alpha", "0..1..1e-9"), "more than 1000 numbers"),
        (("--alpha", "0.1..0.2..0.05..1"), "not a valid range"),
        (("--alpha", "..0.5"), "--alpha"),
        (("--alpha", "½"), "--alpha"),
        (("--k", "1.5"), "--k: '1.5' is not a whole number from 0 to 1000."),
        (("--k", "-1"), "--k"),
        (("--k", "1001"), "--k"),
        (("--k", "1e999"), "--k"),
        (("--k", "0..1e300"), "--k"),
        (("--k", "four"), "--k: 'four'"),
        (("--k", "inf"), "--k"),
        (("--c", "0"), "--c: '0' is not a number above 0 or inf."),
        (("--c", "-3"), "--c"),
        (("--c", "1..inf"), "is infinite"),
        (("--c", "\x1b[31m"), "--c"),
        (("--c", "1e400"), "--c"),
        (("--alpha", "0..1..0.001,0", "--k", "1"), "more than 1000"),
        (("--alpha", "0..1..0.002", "--k", "1..30"), "Shorten a list."),
        (("--alpha", "0..1..0.01", "--k", "1000", "--c", "1..20"), "Shorten a list."),
        (("--plot", "--json"), "--plot cannot be combined"),
        (("--plot", "--alpha", "0..1"), "--plot draws at most 9"),
        (("--plot", "--c", "1..5"), "--plot draws at most 9"),
    ],
)
def test_impossible_inputs_of_theory(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str) -> None:
    err = refused(capsys, "theory", *args)
    assert words in err
    assert "\x1b" not in err


def test_the_extremes_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        len(read(capsys, "theory", "--alpha", "0,1,1e-300", "--k", "0,1000", "--c", "1e-300,1e300,inf")["rows"]) == 18
    )
    told(capsys, "theory", "--alpha", "0,1", "--k", "0,33", "--c", "1e-300,1e300,inf")
    told(capsys, "theory", "--alpha", "0,1", "--c", "1e-9,inf", "--plot")
    told(capsys, "theory", "--alpha", "0", "--k", "0", "--c", "1e-300", "--derive")


@pytest.mark.parametrize("columns", [24, 40, 60])
def test_narrow_tables_break_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = told(capsys, "theory", "--alpha", "0.8", "--k", "4", "--c", "10")
    tables = [line for line in out.splitlines() if line[:1] in " 0" or set(line) == {"─"}]
    assert max(map(len, tables)) <= columns
    cells = " ".join(tables).split()
    for number in ("3.362", "2.40", "2.47", "0.287", "5.00", "1.49", "0.200", "0.160", "0.128", "0.102", "0.410"):
        assert number in cells, number
    for title in ("speedup", "ceiling", "operations", "P(N=i)", "break-even α"):
        assert title in out, title
    assert all(line.split()[:3] == ["0.8", "4", "10"] for line in tables if line.startswith("0.8 4 10"))

    out = told(capsys, "simulate", "--rule", "all", "--vocab", "10", "--rounds", "200")
    assert "…" not in out
    for title in ("tokens/round", "TV exact", "chi-square"):
        assert title in out, title
    assert out.count("first-free ") >= 2, "each table below another names its rows"
    table = out.split("\n\n", 1)[1].split("keeps:")[0]
    assert max(map(len, table.splitlines())) <= max(columns, len("residual-p 3.496 ±0.017"))


def test_repeated_lists_all_count(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("theory", "--alpha", ".5", "--alpha", ".6,.7", "--k", "1", "--k", "2..3", "--c", "5", "--c", "inf")
    rows = read(capsys, *args)["rows"]
    assert sorted({row["alpha"] for row in rows}) == [0.5, 0.6, 0.7]
    assert sorted({row["k"] for row in rows}) == [1, 2, 3]
    assert {row["c"] for row in rows} == {5.0, "inf"}


# -- simulate


def test_simulate_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "simulate")
    assert "p zipf, q uniform mixed with 50% of p, V = 100, K = 4, R = 10000, seed 0" in out
    for words in ("sum min(p, q)    0.7530", "1 - TV(p, q)     0.7530", "accepted/tested", "expected", "chi-square"):
        assert words in out
    assert re.search(r"formula +3\.0687 .*[-+]\d\.\d standard errors from tokens/round", out)
    histogram = [line for line in out.splitlines() if re.match(r"  [1-5] +\d+ +\d+\.\d", line)]
    assert len(histogram) == 5
    assert "Drafts at other temperatures" in out


def test_simulate_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = read(capsys, "simulate", "--rule", "all", "--seed", "5")
    rules = {rule["rule"]: rule for rule in found["rules"]}
    assert len(rules) == 7
    for name, rule in rules.items():
        assert rule["keeps_distribution"] == (name in ("exact", "equality"))
        assert sum(rule["histogram_n"].values()) == found["rounds"] == 10_000
        chance, tested = rule["alpha"]["accept_chance"], rule["tested"]
        error = (chance * (1 - chance) / tested) ** 0.5
        assert abs(rule["alpha"]["accepted_over_tested"] - chance) < 4 * error
        p = rule["chi_square"]["p_value"]
        assert p > 1e-3 if rule["keeps_distribution"] else p < 1e-6
        assert (rule["total_variation_exact"] < 1e-12) == rule["keeps_distribution"]
    exact = rules["exact"]
    assert exact["alpha"]["sum_min"] == pytest.approx(exact["alpha"]["one_minus_tv"])
    assert abs(exact["formula_off_by_se"]) < 3
    assert [row["temperature"] for row in found["draft_temperatures"]] == [0.25, 0.5, 0.7, 1.0, 1.5, 2.0]
    assert read(capsys, "simulate", "--rule", "all", "--seed", "5") == found, "same seed, same rounds"


def test_rules_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "simulate", "--rule", "exact,first-free", "--rule", "wrong-q", "--rule", "exact")
    table = [line.split() for line in out.splitlines() if line.split()[:2] and line.split()[1:2] in (["yes"], ["no"])]
    assert [(row[0], row[1]) for row in table] == [("exact", "yes"), ("first-free", "no"), ("wrong-q", "no")]
    assert max(map(len, out.splitlines())) <= 110
    assert "…" not in out


def test_numbers_are_taken_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "q"
    file.write_text(".1 .2 .7")
    small = ("simulate", "--rounds", "50")
    for args, mix in (
        (("--p", ".5,.25,.25", "--q", ".25,.25,.5"), 0.0),
        (("--vocab", "3", "--q", str(file)), 0.0),
        (("--q", "disjoint"), 0.0),
        (("--q", "equal"), 0.0),
        (("--q", "peaked"), 0.5),
        (("--p", ".5,.25,.25"), 0.5),
        (("--q", "disjoint", "--mix", ".3"), 0.3),
        (("--p", ".5,.5", "--q", ".2,.8", "--varying"), 0.5),
    ):
        assert read(capsys, *small, *args)["mix"] == mix, args
    [rule] = read(capsys, *small, "--p", ".5,.25,.25", "--q", ".25,.25,.5")["rules"]
    assert rule["alpha"]["sum_min"] == pytest.approx(0.75)


def test_numbers_that_do_not_sum_to_1(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("simulate", "--rounds", "50", "--p", ".5,.5", "--q", "1,3")
    assert "p as given, q as given, divided by their sum, V = 2," in told(capsys, *args)
    assert read(capsys, *args)["divided_by_their_sum"] == ["q"]
    assert "divided" not in told(capsys, "simulate", "--rounds", "50", "--p", ".1,.2,.7", "--q", ".3,.3,.4")


def test_other_draft_temperatures_only_where_they_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    totals: list[int] = []

    def counted(pair: ToyPair, *, rounds: int, **given: Any) -> list[AtTemperature]:
        asked.append(rounds)
        return at_temperatures(pair, rounds=rounds, **given)

    class CountedBar(ProgressBar):
        def __init__(self, total: int, label: str, **options: Any) -> None:
            totals.append(total)
            super().__init__(total, label, **options)

    monkeypatch.setattr(simulate_module, "at_temperatures", counted)
    monkeypatch.setattr(simulate_module, "ProgressBar", CountedBar)
    told(capsys, "simulate", "--rounds", "70", "--varying")
    told(capsys, "simulate", "--rounds", "70", "--rule", "exact,greedy")
    assert asked == []
    told(capsys, "simulate", "--rounds", "70")
    assert asked == [70]
    assert totals == [70, 140, 70 * 7], "and the bar counts them"


def test_no_degree_of_freedom_has_no_p(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("simulate", "--p", "1", "--q", "1", "--rounds", "3")
    assert "nothing to test" in told(capsys, *args)
    assert re.search(r"(?m)^exact .* 0/0 +–$", told(capsys, *args, "--rule", "exact,greedy"))
    found = read(capsys, *args)
    assert found["rules"][0]["chi_square"]["p_value"] is None
    assert found["draft_temperatures"][0]["p_value"] is None


def test_varying_side_by_side_shows_the_formula(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = told(capsys, "simulate", "--varying", "--rule", "all")
    title = next(line for line in out.splitlines() if "keeps" in line)
    assert title.split()[4:6] == ["tokens/round", "formula"]
    [exact] = [line.split() for line in out.splitlines() if line.startswith("exact  ") and "yes" in line]
    assert float(exact[6]) - float(exact[4]) > 4 * float(exact[5].removeprefix("±"))
    assert "the formula is too high" in out
    assert "formula" not in told(capsys, "simulate", "--rule", "all", "--rounds", "100")


def test_varying_shows_the_formula_above(capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, "simulate", "--varying")
    off = re.search(r"(\+\d+\.\d) standard errors", out)
    assert off and float(off[1]) > 4
    assert "the formula is too high" in out


def test_lists_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = tmp_path / "p.txt"
    lines.write_text("0.1\n0.2, 0.3\n0.4\n")
    listed = tmp_path / "q.json"
    listed.write_text("[4, 3, 2, 1]")
    found = read(capsys, "simulate", "--p", str(lines), "--q", str(listed), "--mix", "0")
    assert found["vocab"] == 4
    assert found["rules"][0]["alpha"]["sum_min"] == pytest.approx(0.6)
    again = read(capsys, "simulate", "--p", "0.1,0.2,0.3,0.4", "--q", "4 3 2 1", "--mix", "0", "--vocab", "4")
    assert again["rules"] == found["rules"]
    shaped = read(capsys, "simulate", "--p", "1,0,0", "--q", "disjoint", "--mix", "0")
    assert shaped["rules"][0]["alpha"]["accepted_over_tested"] == 0.0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ("--p", "nowhere.txt"),
            "--p: nowhere.txt is not a shape (zipf, uniform, peaked), a list of numbers, or a readable file",
        ),
        (("--p", "equal"), "--p: equal is not a shape"),
        (("--p", "."), "--p"),
        (("--p", "a\0b"), "--p"),
        (("--p", "1,-1"), "--p: the list cannot be used"),
        (("--p", "1,nan"), "--p: the list cannot be used: 'nan' is not a finite number."),
        (("--p", "1,,2"), "--p: the list cannot be used: there is nothing between two commas."),
        (("--p", ""), "--p: an empty string is not a shape"),
        (("--p", "0,0"), "at least one"),
        (("--q", "1,1e999"), "--q"),
        (("--p", "1,2", "--q", "1,2,3"), "2 and 3 numbers"),
        (("--p", "1,2", "--vocab", "3"), "do not fit a vocabulary of 3"),
        (("--q", "disjoint", "--vocab", "1"), "two ids or more"),
        (("--mix", "1.5"), "--mix"),
        (("--vocab", "0"), "--vocab"),
        (("--vocab", "10000000"), "--vocab"),
        (("--k", "33"), "--k"),
        (("--rounds", "0"), "--rounds"),
        (("--seed", "-1"), "--seed"),
        (("--rule", "nucleus"), "--rule: 'nucleus' is none of exact, equality, greedy"),
        (("--rule", ""), "--rule"),
        (("--varying", "--mix", "0"), "--varying"),
    ],
)
def test_impossible_inputs_of_simulate(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str) -> None:
    assert words in refused(capsys, "simulate", *args)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty."),
        (b" \n", "it is empty."),
        (b"one two", "'one' is not a finite number."),
        (b"\xff\xfe", "is not UTF-8 text."),
        (b"[1, [2]]", "it is not a JSON list of numbers."),
        (b"[true]", "it is not a JSON list of numbers."),
        (b"[]", "it contains no number."),
        (b"[1, NaN]", "'nan' is not a finite number."),
        (b'{"p": 1}', "is not a finite number."),
        (b"[" * 100_000, "it is not a JSON list of numbers."),
        (b"1,,2,-", "there is nothing between two commas."),
        (b"1,2,-", "'-' is not a finite number."),
    ],
)
def test_files_that_hold_no_distribution(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "p"
    path.write_bytes(data)
    err = refused(capsys, "simulate", "--p", str(path))
    assert str(path) in err and words in err


def test_a_million_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    found = read(capsys, "simulate", "--rounds", "1000000", "--vocab", "1000", "--k", "8")
    assert found["rules"][0]["chi_square"]["p_value"] > 1e-3


def test_a_bar_is_drawn_only_when_it_takes_long_and_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def drawn(*, delay_s: float, terminal: bool) -> str:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
        with ProgressBar(100, "rounds", delay_s=delay_s) as bar:
            bar.advance(30)
            bar.advance(20)
        return capsys.readouterr().err

    assert "50/100" in drawn(delay_s=0.0, terminal=True)
    assert drawn(delay_s=60.0, terminal=True) == drawn(delay_s=0.0, terminal=False) == ""
