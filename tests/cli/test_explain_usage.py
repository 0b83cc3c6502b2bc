"""Questions that cannot be asked: exit 2, a sentence, and the nearest names."""

from __future__ import annotations

import pytest

NORM = ("explain", "LayerNormFwdOp", "--arch", "90")
BLEND = ("explain", "BlendFwdOp", "--import", "acme_blend", "--arch", "90")


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        pytest.param(["explian"], ["no command 'explian'", "mean explain"], id="command"),
        pytest.param(["--verison"], ["no such option '--verison'"], id="root-option"),
        pytest.param(["explain"], ["explain needs an OP"], id="no-op"),
        pytest.param(
            ["explain", "LayerNormFwd", "--n", "4"],
            ["no op 'LayerNormFwd'", "mean LayerNormFwdOp", "--import MODULE adds ops"],
            id="op",
        ),
        pytest.param(
            ["explain", "Zzz"],
            ["no op 'Zzz'", "known: AdaLayerNormFwdOp", "LayerNormFwdOp, RMSNormFwdOp"],
            id="op-nothing-near",
        ),
        pytest.param(
            [*NORM, "--n", "4", "--interface", "layernorm"],
            ["no interface 'layernorm'", "mean layer_norm?"],
            id="interface",
        ),
        pytest.param(
            [*BLEND, "--n", "4", "--casual"],
            ["no fact or option '--casual'", "mean --causal", "facts --n, --batch, --scale"],
            id="fact",
        ),
        pytest.param([*NORM, "--n", "4", "--formt", "md"], ["mean --format"], id="option"),
        pytest.param(
            [*NORM, "--m", "4"], ["no fact or option '--m'", "--n, --eps"], id="fact-nothing-near"
        ),
        pytest.param(
            ["explain", "--n", "4"], ["no option '--n'", "name the op before"], id="fact-without-op"
        ),
        pytest.param(
            [*BLEND, "--n", "4", "--mode", "FASR"],
            ["no mode 'FASR'", "mean FAST?", "--mode takes FAST, EXACT"],
            id="choice",
        ),
        pytest.param(
            [*NORM, "--n", "4", "--dtype", "floot16"],
            ["no dtype 'floot16'", "mean float16", "--dtype takes bfloat16"],
            id="dtype",
        ),
        pytest.param([*NORM, "--n", "four"], ["--n takes a whole number", "got 'four'"], id="int"),
        pytest.param([*NORM, "--n", "4.0"], ["--n takes a whole number"], id="float-for-int"),
        pytest.param(
            [*NORM, "--n", "4", "--eps", "small"],
            ["--eps takes a finite number", "got 'small'"],
            id="float",
        ),
        pytest.param(
            [*NORM, "--n", "4", "--eps", "none"], ["--eps takes a finite number"], id="not-none"
        ),
        pytest.param(
            ["explain", "LayerNormFwdOp", "--n", "4", "--gpu", "h20"],
            ["no board 'h20'", "h200", "known boards: a100, a40"],
            id="board",
        ),
        pytest.param(
            ["explain", "LayerNormFwdOp", "--n", "4", "--device", "cudda:0"],
            ["no device 'cudda'", "mean cuda"],
            id="device",
        ),
        pytest.param(
            ["explain", "LayerNormFwdOp", "--n", "4", "--device", "nonsense"],
            ["no device 'nonsense'", "--device takes cpu, cuda"],
            id="device-nothing-near",
        ),
        pytest.param(
            [*NORM, "--n", "4", "--target", "acmee", "--import", "acme_target"],
            ["no target 'acmee'", "mean acme?"],
            id="target",
        ),
        pytest.param([*NORM, "--n", "4", "--format", "jsn"], ["'jsn'", "'json'"], id="format"),
        pytest.param([*NORM, "--n", "4", "more"], ["'more' is no name=value"], id="extra"),
        pytest.param([*NORM, "--n"], ["'--n' requires an argument"], id="no-value"),
    ],
)
def test_an_unknown_name_or_value_is_answered_with_the_nearest(cli, words, fragments):
    """Each is a usage failure: nothing on stdout, ``error:`` first on stderr."""
    result = cli(*words)

    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    for fragment in fragments:
        assert fragment in result.err


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        pytest.param(NORM, "LayerNormFwdOp needs --n", id="required-missing"),
        pytest.param(
            [*BLEND, "--parts", "1"], "BlendFwdOp.blend needs --n", id="required-missing-of-two"
        ),
        pytest.param([*NORM, "--n", "0"], "--n must be 1 to 2147483647, got 0", id="below"),
        pytest.param([*NORM, "--n=-1"], "--n must be 1 to 2147483647, got -1", id="negative"),
        pytest.param([*NORM, "--n", "2147483648"], "got 2147483648", id="above"),
        pytest.param([*BLEND, "--n", "4097"], "--n must be 1 to 4096, got 4097", id="just-above"),
        pytest.param(
            [*NORM, "--n", "4", "--eps", "-1e-9"], "--eps must be 0.0 or more", id="float-below"
        ),
        pytest.param(
            [*NORM, "--n", "4", "--eps", "nan"], "--eps takes a finite number", id="not-a-number"
        ),
        pytest.param(
            ["explain", "GQADenseFwdOp", "--seqlen-kv", "8", "--sm-scale", "nan"],
            "--sm-scale takes a finite number or none; got 'nan'",
            id="not-a-number-where-every-number-goes",
        ),
        pytest.param(
            [*NORM, "--n", "4", "--dtype", "float64"],
            "no op makes such a call: dtype must be float16, bfloat16 or float32",
            id="impossible-dtype",
        ),
        pytest.param(
            [*BLEND, "--interface", "blend", "--n", "8", "--batch", "9"],
            "no op makes such a call: batch must not exceed n",
            id="impossible-together",
        ),
        pytest.param(
            [*BLEND, "--interface", "split", "--n", "8", "--causal"],
            "--causal is no fact of BlendFwdOp.split",
            id="fact-of-another-interface",
        ),
    ],
)
def test_a_call_that_no_op_makes_is_rejected(cli, words, fragment):
    """A missing, out-of-range, impossible or misplaced fact is exit 2 with its reason."""
    result = cli(*words)

    assert result.code == 2
    assert result.out == ""
    assert fragment in result.err


@pytest.mark.parametrize(
    ("words", "command"),
    [
        pytest.param(
            ["explain", "LayerNormFwdOp"], "tileops explain LayerNormFwdOp --n 768", id="workload"
        ),
        pytest.param(
            ["explain", "GemmFwdOp", "--gpu", "h200", "--m", "5"],
            "tileops explain GemmFwdOp --gpu h200 --m 5 --n 8192 --k 8192",
            id="what-was-given-stays",
        ),
        pytest.param(
            ["map", "GemmFwdOp", "--vary", "n=1..9", "--arch", "90", "--m", "1"],
            "tileops map GemmFwdOp --vary n=1..9 --arch 90 --m 1 --k 8192",
            id="map",
        ),
        pytest.param(
            ["explain", "BatchNormFwdOp", "--interface", "batch_norm_fwd_infer"],
            "tileops explain BatchNormFwdOp --interface batch_norm_fwd_infer --n 1 --c 64",
            id="first-workload-of-the-interface",
        ),
        pytest.param(
            [*BLEND, "--interface", "blend"],
            "tileops explain BlendFwdOp --import acme_blend --arch 90 --interface blend --n 1",
            id="least-of-the-range-without-workloads",
        ),
    ],
)
def test_a_call_without_its_facts_is_answered_with_one_that_can_be_run(cli, words, command):
    """The help line is what was given, and what is missing with values of the manifest."""
    refused = cli(*words)

    assert refused.code == 2
    assert refused.err.splitlines()[1] == f"help: {command}"
    run = cli(*command.split()[1:])
    assert run.code == 0, run.err


def test_no_example_is_made_up_where_none_is_possible(cli):
    """What is given can exclude every value that is known."""
    result = cli(*BLEND, "--interface", "blend", "--batch", "4")

    assert result.code == 2
    assert result.err.splitlines()[1:] == [
        "help: tileops explain BlendFwdOp --help lists every fact"
    ]


def test_help_of_an_op_lists_its_workloads(cli):
    """--workload takes one of them; names are not broken over lines."""
    result = cli("explain", "GemmFwdOp", "--help")

    section = result.out.partition("\nWorkloads:\n")[2].partition("\n\n")[0]
    names = [name.strip() for name in section.replace("\n", " ").rstrip(",").split(",")]
    assert {"square-4096", "attention-output-tokens-4096", "input-gradient-4096"} <= set(names)


@pytest.mark.parametrize("command", ["explain", "map"])
def test_help_of_an_op_lists_its_interfaces(cli, command):
    """Where there are several, each has a sentence and its facts."""
    result = cli(command, "BatchNormFwdOp", "--help")
    section = " ".join(result.out.partition("\nInterfaces:\n")[2].partition("\n\n")[0].split())
    assert section == (
        "batch_norm_fwd_train Batch normalization by the statistics of the batch, which move the "
        "running ones; its calls have every fact above "
        "batch_norm_fwd_infer Batch normalization by running statistics; its calls have every fact "
        "above"
    )
    assert "Interfaces:" not in cli(command, "LayerNormFwdOp", "--help").out


def test_help_lists_the_facts_of_interfaces_that_differ(cli):
    """An interface whose calls have fewer facts than the op names its own."""
    out = " ".join(cli("explain", "BlendFwdOp", "--import", "acme_blend", "--help").out.split())
    assert "to state precedence; its calls have --n, --parts" in out


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--n", "4096"], id="upper-end"),
        pytest.param(["--n", "1"], id="lower-end"),
        pytest.param(["--n", "8", "--batch", "8"], id="just-possible"),
        pytest.param(["--n", "8", "--scale", "none"], id="optional-none"),
        pytest.param(["--n", "8", "--no-causal", "--mode", "EXACT"], id="flag-and-choice"),
        pytest.param(["--n=8", "--batch=2"], id="equals-sign"),
    ],
)
def test_values_at_the_edge_are_accepted(cli, words):
    """Both ends of a range belong to it."""
    assert cli(*BLEND, "--interface", "blend", *words).code == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["explain", "--n", "4", "LayerNormFwdOp", "--arch", "90"], id="fact-first"),
        pytest.param(["explain", "--arch", "90", "LayerNormFwdOp", "--n", "4"], id="option-first"),
        pytest.param(
            ["explain", "--format=text", "--arch=90", "LayerNormFwdOp", "--n=4"], id="equals-signs"
        ),
        pytest.param(
            ["explain", "--import=acme_blend", "--arch=90", "BlendFwdOp", "--n=4"],
            id="op-of-another-package",
        ),
    ],
)
def test_the_op_is_found_wherever_it_stands(cli, words):
    """Facts and options may come before the op."""
    assert cli(*words).code == 0


@pytest.mark.parametrize(
    ("given", "stands_for"),
    [
        pytest.param("bf16", "bfloat16", id="short"),
        pytest.param("torch.float32", "float32", id="torch"),
        pytest.param("HALF", "float16", id="upper-case"),
    ],
)
def test_dtypes_have_several_spellings(cli, given, stands_for):
    """The answer always uses torch's name."""
    assert f"dtype {stands_for};" in cli(*NORM, "--n", "4", "--dtype", given).out


BATCH_NORM = ("explain", "BatchNormFwdOp", "--gpu", "h200")
STATISTICS = ("running_mean=f32[3]", "running_var=f32[3]")
X = "input=f16[2,3,4]"
TRAIN, INFER = "batch_norm_fwd_train", "batch_norm_fwd_infer"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param(
            (X,),
            [
                "error: BatchNormFwdOp: running_mean must be given with training = False, got None",
                f"help: with training=true it asks {TRAIN}",
            ],
            id="a-parameter-that-needs-less",
        ),
        pytest.param(
            (X, *STATISTICS, "--interface", TRAIN),
            [
                f"error: this call asks {TRAIN} for no kernel",
                f"help: it asks {INFER}",
                f"help: with training=true it asks {TRAIN}",
            ],
            id="training-asked-with-a-call-of-inference",
        ),
        pytest.param(
            (X, *STATISTICS, "training=true", "--interface", INFER),
            [
                f"error: this call asks {INFER} for no kernel",
                f"help: it asks {TRAIN}",
                f"help: with training=false it asks {INFER}",
            ],
            id="inference-asked-with-a-call-of-training",
        ),
        pytest.param(
            (X, *STATISTICS, "--why-not", "fwd_train_wide"),
            [f"error: this call asks {INFER}, which fwd_train_wide is no key of"],
            id="key-of-an-interface-that-is-not-asked",
        ),
        pytest.param(
            ("--n", "2", "--c", "3", "--no-has-running-stats", "--interface", INFER),
            [
                "error: no op makes such a call: has_running_stats must be true in inference",
                f"help: --interface {TRAIN} has such a call",
            ],
            id="facts-of-training",
        ),
        pytest.param(
            ("--n", "1", "--c", "3", "--no-has-running-stats"),
            [
                "error: no op makes such a call: n * spatial must be more than 1 in training, got "
                f"1 ({TRAIN}); has_running_stats must be true in inference ({INFER})"
            ],
            id="facts-of-neither",
        ),
        pytest.param(
            ("--n", "2", "--c", "3", "--training"),
            [
                "error: no fact or option '--training'",
                "help: training is a parameter of the op; a call that is given as tensors has it "
                "as training=, and facts go to an --interface",
            ],
            id="a-parameter-as-an-option",
        ),
        pytest.param(
            ("--n", "2", "--c", "3", "training=true"),
            [
                "error: --n states a fact, and training= a call that has its own",
                "help: ask by facts or by tensors, not by both",
                f"help: facts are asked about by --interface: {TRAIN}, {INFER}",
            ],
            id="facts-and-a-parameter",
        ),
    ],
)
def test_what_would_make_the_call_is_named(cli, words, lines):
    """An op of several interfaces says which parameter or interface the words are right for."""
    result = cli(*BATCH_NORM, *words)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[: len(lines)] == lines


def test_a_name_in_another_case_is_the_one_meant(cli):
    """No other name is offered beside it."""
    result = cli("explain", "layernormfwdop", "--n", "8")
    assert result.err.splitlines()[0] == (
        "error: no op 'layernormfwdop'; did you mean LayerNormFwdOp?"
    )
