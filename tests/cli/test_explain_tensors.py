"""Calls given as tensors, parameters and workloads instead of facts."""

from __future__ import annotations

import json
import shlex

import jsonschema
import pytest

from tileops.cli._index import in_tree_index

NORM = ("explain", "LayerNormFwdOp", "--arch", "90")
ROUTE = ("explain", "RouteFwdOp", "--import", "acme_route", "--arch", "90")
ROWS = ("input=f16[32,256]", "normalized_shape=256")


@pytest.fixture
def ask(cli):
    """Ask in JSON and validate the answer against the schema that ``--schema`` prints."""
    schema = json.loads(cli("explain", "--schema").out)

    def ask(*words):
        answer = json.loads(cli(*words, "--format", "json").out)
        jsonschema.validate(answer, schema)
        return answer

    return ask


def requested(answer):
    """Return interface, outcome and the facts named of every request of an answer."""
    return [
        (
            one["interface"],
            one["groups"][0]["outcome"],
            {name: fact["value"] for name, fact in one["facts"].items()},
        )
        for one in answer["interfaces"]
    ]


@pytest.mark.parametrize("where", [["--arch", "90"], ["--gpu", "b200"], ["--device", "cpu"]])
def test_a_call_given_as_tensors_is_answered_like_its_facts(ask, where):
    """The op turns the tensors into the facts; everything after is the same."""
    op = ("explain", "LayerNormFwdOp", *where)
    tensors = ask(*op, "input=bf16[4,32,256]", "weight=bf16[256]", "normalized_shape=256")
    facts = ask(*op, "--n", "256", "--eps", "1e-5", "--dtype", "bfloat16")

    assert tensors["interfaces"] == facts["interfaces"]
    assert facts["call"] is None


def test_the_call_stands_in_the_answer(ask):
    """Inputs, absent ones too, and parameters, those not given marked, are part of the document."""
    answer = ask(*NORM, "input=f16[2,3,8]@(1,2,6)", "bias=f16[3,8]", "normalized_shape=(3,8)")

    assert answer["call"] == {
        "workload": None,
        "inputs": {
            "input": {"dtype": "float16", "shape": [2, 3, 8], "stride": [1, 2, 6]},
            "weight": None,
            "bias": {"dtype": "float16", "shape": [3, 8], "stride": None},
        },
        "params": {
            "normalized_shape": {"value": [3, 8], "default": False},
            "eps": {"value": 1e-5, "default": True},
        },
        "empty": False,
    }


@pytest.mark.parametrize("form", ["text", "md"])
def test_people_are_told_the_call_too(cli, form):
    """One line lists it, between the target and the interfaces."""
    out = cli(*NORM, *ROWS, "--format", form).out

    line = (
        "input float16[32, 256], weight none, bias none, normalized_shape (256,), "
        "eps 1e-05 (default)"
    )
    assert line in out
    assert out.index("in-tree kernels") < out.index(line) < out.index("n arch 90")


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        pytest.param(["input=half[1,8]", "normalized_shape=8,"], {"n": 8}, id="comma"),
        pytest.param(
            ["input=torch.float32[ 2, 3,8 ]", "normalized_shape=[3, 8]"],
            {"n": 24, "dtype": "float32"},
            id="spaces",
        ),
        pytest.param(
            ["input=FP16[8]", "normalized_shape=8", "eps=1"], {"eps": 1.0}, id="int-for-float"
        ),
        pytest.param(
            ["normalized_shape=8", "input=f16[8]", "weight=none"], {"n": 8}, id="any-order-none"
        ),
    ],
)
def test_values_have_several_spellings(ask, words, facts):
    """Tuples as in Python or bare, dtypes in any spelling, ``none`` for what is absent."""
    ((_, outcome, found),) = requested(ask(*NORM, *words))

    assert outcome == "selected"
    assert facts.items() <= found.items()


def test_the_root_mean_square_takes_the_epsilon_of_the_dtype(ask):
    """The op's own requests are asked, not a copy of them: eps none means the dtype's."""
    words = ("x=f16[4,8]", "normalized_shape=8", "eps=none")
    ((_, _, facts),) = requested(ask("explain", "RMSNormFwdOp", "--arch", "90", *words))

    assert facts["eps"] == 2**-10


@pytest.mark.parametrize(
    ("words", "requests"),
    [
        pytest.param(["x=f16[3,8]"], [("head", 8)], id="one"),
        pytest.param(["x=f16[3,4]", "places=i64[5]"], [("head", 4), ("tail", 4), ("tail", 8)]),
        pytest.param(
            ["x=f16[3,4]", "places=i64[5]", "--interface", "tail"],
            [("tail", 4), ("tail", 8)],
            id="one-interface",
        ),
    ],
)
def test_every_kernel_request_is_explained(ask, words, requests):
    """In order, an interface twice where it is asked twice; --interface keeps those of one."""
    answer = ask(*ROUTE, "groups=2", "causal=true", *words)

    found = requested(answer)
    assert [(interface, facts["n"]) for interface, _, facts in found] == requests
    assert answer["answered"] is True


def test_one_request_that_nothing_serves_is_a_no(cli):
    """The call would fail, so the code is 1, and the command shows that request again."""
    result = cli(*ROUTE, "groups=2,3", "causal=true", "x=f16[3,8]", "places=i64[5]")

    assert result.code == 1
    last = next(line for line in result.out.splitlines() if "Reproduce it with: " in line)
    again = cli(*shlex.split(last.partition(": tileops ")[2]))
    assert again.code == 1
    assert "serves rows of at most 8, got 16" in again.out


def test_parameters_of_every_type_reach_the_op(ask):
    """Dtypes become dtypes, choices stay words, tuples tuples; defaults are filled in."""
    words = ("x=f16[3,8]", "groups=2,4", "mode=exact", "causal=false", "accumulate=bf16")
    answer = ask(*ROUTE, *words)

    ((_, _, facts),) = requested(answer)
    assert facts == {"n": 8, "groups": [2, 4], "accumulate": "bfloat16"}
    assert {name: one["value"] for name, one in answer["call"]["params"].items()} == {
        "groups": [2, 4],
        "mode": "exact",
        "causal": False,
        "accumulate": "bfloat16",
    }


@pytest.mark.parametrize("op", list(in_tree_index()))
def test_the_workloads_of_every_op_are_answered(ask, op):
    """The first and the last workload of each op in the tree select a key on an H200."""
    for name in (in_tree_index()[op].workloads[0], in_tree_index()[op].workloads[-1]):
        answer = ask("explain", op, "--workload", name, "--gpu", "h200")

        assert answer["call"]["workload"] == name
        assert answer["answered"] is True


def test_words_change_a_workload(ask):
    """What words state replaces what the workload says; ``none`` takes an input away."""
    answer = ask(
        *ROUTE, "--workload", "short-rows", "groups=7", "places=none", "accumulate=float32"
    )

    assert requested(answer) == [
        ("head", "selected", {"n": 8, "groups": [7], "accumulate": "float32"})
    ]
    assert answer["call"]["params"]["causal"] == {"value": True, "default": False}


def test_a_workload_of_another_package_has_dtypes_too(ask):
    """The parameters of a workload are read as the manifest writes them."""
    found = requested(ask(*ROUTE, "--workload", "short-rows"))

    assert [(name, facts["accumulate"]) for name, _, facts in found] == [
        ("head", "float16"),
        ("tail", "float16"),
        ("tail", "float16"),
    ]


@pytest.mark.parametrize("where", [[], ["--device", "cpu"], ["--gpu", "b200"]])
def test_a_call_that_writes_nothing_runs_nothing(cli, ask, where):
    """An empty output is answered yes wherever it is asked, and no interface is."""
    words = ("explain", "LayerNormFwdOp", *where, "input=f16[0,256]", "normalized_shape=256")

    text = cli(*words)
    answer = ask(*words)

    assert text.code == 0
    assert "nothing runs: every tensor that the call writes is empty" in text.out
    assert "Nothing runs: every tensor" in cli(*words, "--format", "md").out
    assert answer["call"]["empty"] is True
    assert answer["interfaces"] == []


def test_a_target_that_would_serve_comes_first(cli):
    """As with facts: it is said before the call, and answers."""
    result = cli("explain", "LayerNormFwdOp", "--gpu", "b200", *ROWS, "--import", "acme_target")

    assert result.code == 0
    assert result.out.startswith("target   acme serves every call of LayerNormFwdOp (its detector)")
    assert "unserved" in result.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param([*NORM, *ROWS, "--expect", "layer_norm"], 0, id="met"),
        pytest.param(
            [*NORM, *ROWS, "--import", "acme_short_rows", "--expect", "layer_norm"], 1, id="missed"
        ),
        pytest.param(
            [
                *(*NORM, *ROWS, "--import", "acme_short_rows"),
                *("--without", "acme_short_rows", "--expect", "layer_norm"),
            ],
            0,
            id="met-without-the-rival",
        ),
        pytest.param(
            [*NORM, "input=f16[0,8]", "normalized_shape=8", "--expect", "layer_norm"],
            1,
            id="nothing-runs",
        ),
        pytest.param([*NORM, *ROWS, "--expect", "layer_nrm"], 2, id="no-such-key"),
    ],
)
def test_expectations_hold_for_tensors(cli, words, code):
    """--expect, --import and --without mean what they mean with facts."""
    result = cli(*words)
    assert result.code == code
    assert ("note: --expect layer_norm is not met\n" in result.err) is (code == 1)


def test_why_not_is_answered_for_the_request_that_has_the_key(cli):
    """The key belongs to one of the requests; the change is one of that request's facts."""
    words = ("x=f16[3,9]", "places=i64[2]", "groups=1", "causal=true")
    out = cli(*ROUTE, *words, "--why-not", "tail").out

    assert "--n 8 (is 9)" in out
    assert "why not tail" not in out.partition("RouteFwdOp.tail")[0]


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        pytest.param(
            [*NORM, "inptu=f16[8]"],
            ["no input or parameter 'inptu'", "mean input?", "the parameters normalized_shape"],
            id="input",
        ),
        pytest.param([*NORM, "normalised_shape=8"], ["mean normalized_shape?"], id="parameter"),
        pytest.param(
            [*NORM, "input=f16[8]", "more"],
            ["'more' is no name=value", "--help lists inputs"],
            id="word",
        ),
        pytest.param([*NORM, "=f16[8]"], ["no input or parameter ''"], id="no-name"),
        pytest.param(
            [*NORM, *ROWS, "--n", "256"],
            ["--n states a fact", "input= a call", "not by both"],
            id="facts-and-tensors",
        ),
        pytest.param(
            [*NORM, "--workload", "hidden-4096-token-1", "--eps", "1"],
            ["--eps states a fact", "--workload a call"],
            id="facts-and-workload",
        ),
        pytest.param(
            [*NORM, "--workload", "hidden-4096-tokens"],
            ["LayerNormFwdOp has no workload 'hidden-4096-tokens'", "hidden-4096-token-1"],
            id="workload",
        ),
        pytest.param([*NORM, "eps=1", "eps=1"], ["eps= is given twice"], id="again"),
        pytest.param(
            [*NORM, "input=floot16[8]"],
            ["no dtype 'floot16'", "mean float16", "input= takes bfloat16"],
            id="dtype",
        ),
        pytest.param([*NORM, "input=f16"], ["'f16' is no tensor; write it like"], id="no-shape"),
        pytest.param([*NORM, "input=half[8"], ["'half[8' is no tensor"], id="open-bracket"),
        pytest.param(
            [*NORM, "input=f16[2,-8]"], ["'f16[2,-8]' has a negative size"], id="negative-size"
        ),
        pytest.param(
            [*NORM, "input=bf16[8]@8"],
            ["'bf16[8]@8' is no tensor", "like f16[32,256]@(256,1)"],
            id="strides-without-brackets",
        ),
        pytest.param([*NORM, f"input=f16[{'9' * 5000}]"], ["input= "], id="too-many-digits"),
        pytest.param(
            [*NORM, "input=f16[4,8]@(8)"], ["input= has 2 sizes and 1 stride"], id="strides"
        ),
        pytest.param(
            [*NORM, "normalized_shape=x"],
            ["normalized_shape= takes values with commas"],
            id="tuple",
        ),
        pytest.param([*NORM, "eps=x"], ["eps= takes a finite number; got 'x'"], id="number"),
        pytest.param(
            [*NORM, "eps=none"], ["eps= takes a finite number; got 'none'"], id="not-none"
        ),
        pytest.param(
            [*ROUTE, "mode=exct"],
            ["no mode 'exct'", "mode= takes fast, exact"],
            id="choice",
        ),
        pytest.param(
            ["explain", "BlendFwdOp", "--import", "acme_blend", "x=f16[8]"],
            ["BlendFwdOp has no signature", "ask by its facts: --n, --batch"],
            id="no-signature",
        ),
        pytest.param(
            ["explain", "BlendFwdOp", "--import", "acme_blend", "--workload", "w"],
            ["BlendFwdOp has no signature, so --workload cannot be read"],
            id="no-signature-workload",
        ),
    ],
)
def test_words_that_give_no_call_are_answered_with_what_would(cli, words, fragments):
    """Each is a usage failure: nothing on stdout, ``error:`` first on stderr."""
    result = cli(*words)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    for fragment in fragments:
        assert fragment in result.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            [*NORM, "normalized_shape=8"],
            "LayerNormFwdOp: input must be given, got None",
            id="input-missing",
        ),
        pytest.param(
            [*NORM, "input=f16[8]"],
            "LayerNormFwdOp: normalized_shape has no default and must be tuple[int, ...]",
            id="parameter-missing",
        ),
        pytest.param(
            [*NORM, "input=f16[4,9]", "normalized_shape=8"],
            "LayerNormFwdOp: input must have shape (*B, 8)",
            id="shape",
        ),
        pytest.param(
            [*NORM, "input=f16[4,8]", "weight=f32[8]", "normalized_shape=8"],
            "LayerNormFwdOp: weight must have dtype float16",
            id="dtype",
        ),
        pytest.param(
            [*NORM, "input=i32[4,8]", "normalized_shape=8"],
            "LayerNormFwdOp: input must have dtype float16, bfloat16 or float32, got int32",
            id="dtype-of-none",
        ),
        pytest.param(
            [*NORM, "input=f16[4]", "normalized_shape=()"],
            "LayerNormFwdOp: normalized_shape names at least one dim",
            id="refinement",
        ),
        pytest.param(
            [*ROUTE, "x=f16[4,8]", "groups=1"],
            "RouteFwdOp: scale must be given with causal = None",
            id="conditional-input",
        ),
        pytest.param(
            [*ROUTE, "x=f16[4,8]", "groups=1", "scale=f32[8]@(2)"],
            "RouteFwdOp: scale must be contiguous",
            id="strides",
        ),
        pytest.param(
            ["explain", "LayerNormFwdOp", *ROWS, "--device", "meta"],
            "LayerNormFwdOp: input must hold data, got meta",
            id="device",
        ),
        pytest.param(
            [*ROUTE, "x=f16[4,8]", "groups=1", "causal=true", "--interface", "spare"],
            "this call asks spare for no kernel",
            id="interface-not-asked",
        ),
    ],
)
def test_a_call_that_fails_a_check_is_answered_with_its_sentence(cli, words, sentence):
    """The op's own checks speak: exit 2, as when the op is called."""
    result = cli(*words)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {sentence}")


def test_an_op_that_cannot_be_constructed_is_exit_3(cli):
    """A constructor that raises is a failure of the op, and its error is the cause."""
    result = cli(*ROUTE, "x=f16[4,8]", "groups=13", "causal=true")

    assert (result.code, result.out) == (3, "")
    assert "RouteFwdOp cannot be constructed with these parameters" in result.err
    assert "cause: OSError: the thirteenth group is lost" in result.err


def test_help_lists_inputs_and_parameters(cli):
    """With their dtypes, shapes, presence, types and defaults, from the index or an import."""
    norm = cli("explain", "LayerNormFwdOp", "--help")
    route = cli("explain", "RouteFwdOp", "--import", "acme_route", "--help")

    lines = {" ".join(line.split()) for line in (norm.out + route.out).splitlines()}
    assert {
        "input= float16 | bfloat16 | float32 [*B, *normalized_shape]",
        "weight= float16 | bfloat16 | float32 [*normalized_shape], optional",
        "normalized_shape= tuple[int, ...] (required)",
        "eps= float (default 1e-05)",
        "scale= float32 [N], optional when causal is not None",
        "mode= fast|exact (default fast)",
        "causal= bool or none (default none)",
        "accumulate= dtype (default float32)",
    } <= lines


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([*NORM, "inptu=f16[8]"], id="unknown-name"),
        pytest.param([*NORM, *ROWS, "--n", "4"], id="facts-too"),
        pytest.param([*NORM, "input=f16[8"], id="no-tensor"),
        pytest.param([*NORM, "--workload", "zz"], id="unknown-workload"),
    ],
)
def test_wrong_words_load_no_torch(modules_after, words):
    """What the index can tell is told before torch is imported."""
    assert modules_after(*words).isdisjoint({"torch", "tilelang", "z3", "libcst", "numpy", "yaml"})


def test_an_answer_about_tensors_loads_torch_alone(modules_after):
    """No kernel is built, so nothing that compiles kernels is loaded."""
    loaded = modules_after(*NORM, *ROWS)

    assert "torch" in loaded
    assert loaded.isdisjoint({"tilelang", "tvm", "z3", "libcst", "rich"})
