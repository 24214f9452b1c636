"""A program written by hand: four layers, each a product and two collectives, then a product of the whole."""

import functools
import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm

from tars_jax.training.planning.collectives import Collective, find_collectives
from tars_jax.training.planning.hlo import Program, Shape, parse, shapes_in
from tars_jax.training.planning.kernels import DYNAMIC, grid, grouped_flops
from tars_jax.training.planning.operations import count_flops, count_seconds, count_traffic, silent_kernels

TEXT = """HloModule jit_update, is_scheduled=true

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[]{:T(128)} parameter(0)
  %b = f32[]{:T(128)} parameter(1)
  ROOT %sum = f32[]{:T(128)} add(%a, %b)
}

%fused_product (param_0: bf16[4,8,16], param_1: s32[], param_2: bf16[32,8]) -> bf16[32,16] {
  %param_0 = bf16[4,8,16]{2,1,0:T(8,128)(2,1)} parameter(0)
  %param_1 = s32[]{:T(128)} parameter(1)
  %zero = s32[] constant(0)
  %slice = bf16[1,8,16]{2,1,0:T(8,128)} dynamic-slice(%param_0, %param_1, %zero, %zero), dynamic_slice_sizes={1,8,16}
  %weights = bf16[8,16]{1,0:T(8,128)(2,1)} bitcast(%slice)
  %param_2 = bf16[32,8]{1,0:T(8,128)(2,1)} parameter(2)
  ROOT %convolution.1 = bf16[32,16]{1,0:T(8,128)(2,1)} convolution(%param_2, %weights), dim_labels=bf_io->bf
}

%first (param_0: bf16[8,8]) -> bf16[32,8] {
  %param_0.1 = bf16[8,8]{1,0:T(8,128)(2,1)} parameter(0)
  %all-gather.2 = bf16[32,8]{1,0:T(8,128)(2,1)} all-gather(%param_0.1), replica_groups=[2,4]<=[8], dimensions={0}
  ROOT %begun = bf16[32,8]{1,0:T(8,128)(2,1)S(1)} custom-call(%all-gather.2), custom_call_target="AsyncCollectiveStart"
}

%last (param_0: bf16[8,8]) -> bf16[32,8] {
  %param_0.3 = bf16[8,8]{1,0:T(8,128)(2,1)} parameter(0)
  %all-gather.3 = bf16[32,8]{1,0:T(8,128)(2,1)} all-gather(%param_0.3), replica_groups=[2,4]<=[8], dimensions={0}
  ROOT %ended = bf16[32,8]{1,0:T(8,128)(2,1)S(1)} custom-call(%all-gather.3), custom_call_target="AsyncCollectiveDone"
}

%all-reduce-scatter (param_0: bf16[32,16]) -> bf16[8,16] {
  %param_0.2 = bf16[32,16]{1,0:T(8,128)(2,1)} parameter(0)
  %all-reduce.3 = bf16[32,16]{1,0:T(8,128)(2,1)} all-reduce(%param_0.2), replica_groups=[2,4]<=[8], to_apply=%add
  %here = s32[]{:T(128)} constant(0)
  ROOT %mine = bf16[8,16]{1,0:T(8,128)(2,1)} dynamic-slice(%all-reduce.3, %here, %here), dynamic_slice_sizes={8,16}
}

%condition (c: (s32[], bf16[8,8], bf16[4,8,16])) -> pred[] {
  %layers = s32[]{:T(128)} constant(4)
  %c = (s32[]{:T(128)}, bf16[8,8]{1,0}, bf16[4,8,16]{2,1,0}) parameter(0)
  %number = s32[]{:T(128)} get-tuple-element(%c), index=0
  ROOT %less = pred[]{:T(512)} compare(%number, %layers), direction=LT
}

%body (b: (s32[], bf16[8,8], bf16[4,8,16])) -> (s32[], bf16[8,8], bf16[4,8,16]) {
  %b.1 = (s32[]{:T(128)}, bf16[8,8]{1,0:T(8,128)(2,1)}, /*index=2*/bf16[4,8,16]{2,1,0:T(8,128)(2,1)}) parameter(0)
  %layer = s32[]{:T(128)} get-tuple-element(%b.1), index=0
  %x = bf16[8,8]{1,0:T(8,128)(2,1)} get-tuple-element(%b.1), index=1
  %stack = bf16[4,8,16]{2,1,0:T(8,128)(2,1)} get-tuple-element(%b.1), index=2
  %start = bf16[32,8]{1,0:T(8,128)(2,1)S(1)} fusion(%x), kind=kCustom, calls=%first
  %done = bf16[32,8]{1,0:T(8,128)(2,1)S(1)} fusion(%x), kind=kCustom, calls=%last
  %y = bf16[32,16]{1,0:T(8,128)(2,1)} fusion(%stack, %layer, %done), kind=kOutput, calls=%fused_product
  %scattered = bf16[8,16]{1,0:T(8,128)(2,1)} fusion(%y), kind=kCustom, calls=%all-reduce-scatter
  %left = bf16[8,8]{1,0:T(8,128)(2,1)} slice(%scattered), slice={[0:8], [0:8]}
  ROOT %next = (s32[]{:T(128)}, bf16[8,8]{1,0}, bf16[4,8,16]{2,1,0}) tuple(%layer, %left, %stack)
}

ENTRY %main (x.1: bf16[8,8], stack.1: bf16[4,8,16]) -> f32[8,8] {
  %zero.1 = s32[]{:T(128)} constant(0)
  %x.1 = bf16[8,8]{1,0:T(8,128)(2,1)} parameter(0)
  %stack.1 = bf16[4,8,16]{2,1,0:T(8,128)(2,1)} parameter(1)
  %carry = (s32[]{:T(128)}, bf16[8,8]{1,0}, bf16[4,8,16]{2,1,0}) tuple(%zero.1, %x.1, %stack.1)
  %loop = (s32[]{:T(128)}, bf16[8,8]{1,0}, bf16[4,8,16]{2,1,0}) while(%carry), condition=%condition, body=%body
  %last = bf16[8,8]{1,0:T(8,128)(2,1)} get-tuple-element(%loop), index=1
  %product = f32[8,8]{1,0:T(8,128)} dot(%last, %last), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %total = f32[8,8]{1,0:T(8,128)} all-reduce(%product), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=%add
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return parse(TEXT)


def test_shapes() -> None:
    found = shapes_in("(bf16[2,3]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/s4[5]{0}, f32[]{:T(128)}, pred[7]{0})")
    assert found == (Shape("bf16", (2, 3), 1), Shape("s4", (5,)), Shape("f32", ()), Shape("pred", (7,)))
    assert [shape.bytes for shape in found] == [12, 2.5, 4, 7]


def test_a_loop_runs_as_often_as_its_condition_says(program: Program) -> None:
    assert program.runs["main"] == 1
    assert program.runs["body"] == program.runs["fused_product"] == program.runs["all-reduce-scatter"] == 4
    assert program.unknown_loops == 0
    assert program.fused == {"fused_product", "first", "last", "all-reduce-scatter"}


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_loop_of_unknown_length_is_counted_as_told_and_said(rounds: int) -> None:
    program = parse(TEXT.replace("%layers = s32[]{:T(128)} constant(4)", "%layers = s32[] custom-call()"), rounds)
    assert program.unknown_loops == 1
    assert program.runs["body"] == rounds


def test_operations_of_all_layers(program: Program) -> None:
    """Four products [32, 8] x [8, 16], one [8, 8] x [8, 8]."""
    assert count_flops(program) == 4 * 2 * 32 * 8 * 16 + 2 * 8 * 8 * 8


def test_traffic_leaves_out_what_stays_on_the_chip(program: Program) -> None:
    """A layer: x for each of its two fusions (128 bytes each, their outputs stay); one layer of the stack (256), its
    number (4) and y out (1024); y in and a quarter of it out (1024 + 256); the slice read and written (128 + 128). At
    the end two readings of x (256), the product out (256), and in and out of the all-reduce (512).
    """
    assert count_traffic(program) == 4 * (2 * 128 + 256 + 4 + 1024 + 1280 + 256) + 256 + 256 + 512


SCATTERED = """HloModule jit_decode, is_scheduled=true

%into (param_0: f32[64,32], param_1: s32[4,1], param_2: f32[4,32]) -> f32[64,32] {
  %param_0 = f32[64,32]{1,0} parameter(0)
  %param_1 = s32[4,1]{1,0} parameter(1)
  %param_2 = f32[4,32]{1,0} parameter(2)
  ROOT %inner = f32[64,32]{1,0} scatter(%param_0, %param_1, %param_2), update_window_dims={1}, to_apply=%set
}

ENTRY %main (cache: f32[64,32], rows: s32[4,1], new: f32[4,32]) -> f32[64,32] {
  %cache = f32[64,32]{1,0} parameter(0)
  %rows = s32[4,1]{1,0} parameter(1)
  %new = f32[4,32]{1,0} parameter(2)
  %once = f32[64,32]{1,0} scatter(%cache, %rows, %new), update_window_dims={1}, to_apply=%set
  ROOT %twice = f32[64,32]{1,0} fusion(%once, %rows, %new), kind=kCustom, calls=%into
}
"""


def test_what_is_scattered_into_an_array_counts_and_not_the_array() -> None:
    """By itself: 4 rows of 128 bytes read and written; in a fusion: the same, and four indices read."""
    assert count_traffic(parse(SCATTERED)) == 2 * 512 + (2 * 512 + 16)


NESTED = """HloModule jit_decode, is_scheduled=true

%one (stack.1: f32[8,64], at.1: s32[]) -> f32[64] {
  %stack.1 = f32[8,64]{1,0} parameter(0)
  %at.1 = s32[] parameter(1)
  %part = f32[1,64]{1,0} dynamic-slice(%stack.1, %at.1), dynamic_slice_sizes={1,64}
  ROOT %flat = f32[64]{0} bitcast(%part)
}

%twice (stack.2: f32[8,64], at.2: s32[], x.2: f32[64]) -> f32[64] {
  %stack.2 = f32[8,64]{1,0} parameter(0)
  %at.2 = s32[] parameter(1)
  %x.2 = f32[64]{0} parameter(2)
  %within = f32[64]{0} fusion(%stack.2, %at.2), kind=kLoop, calls=%one
  ROOT %sum = f32[64]{0} add(%within, %x.2)
}

ENTRY %main (stack: f32[8,64], at: s32[], x: f32[64]) -> f32[64] {
  %stack = f32[8,64]{1,0} parameter(0)
  %at = s32[] parameter(1)
  %x = f32[64]{0} parameter(2)
  ROOT %y = f32[64]{0} fusion(%stack, %at, %x), kind=kLoop, calls=%twice
}
"""


def test_a_slice_in_a_fusion_within_a_fusion() -> None:
    """A row of the stack (256 bytes), its number, x, and y out; if anything else read the stack, all of it (2048)."""
    assert count_traffic(parse(NESTED)) == 256 + 4 + 256 + 256
    whole = NESTED.replace("add(%within, %x.2)", "custom-call(%within, %x.2, %stack.2)")
    assert count_traffic(parse(whole)) == 2048 + 4 + 256 + 256


def test_collectives_once_though_in_pieces(program: Program) -> None:
    """The two fusions are one all-gather of a layer; an all-reduce with a slice is a reduce-scatter."""
    assert set(find_collectives(program, 8)) == {
        Collective("all-gather", (0, 1, 2, 3), 8 * 8 * 2 * 4, 4),
        Collective("reduce-scatter", (0, 1, 2, 3), 32 * 16 * 2, 4),
        Collective("all-reduce", tuple(range(8)), 8 * 8 * 4, 1),
    }


def _only(instruction: str, *operands: str) -> Program:
    lines = [f"  %p{number} = {shape} parameter({number})" for number, shape in enumerate(operands)]
    return parse("\n".join(["ENTRY %main () -> f32[] {", *lines, f"  ROOT %{instruction}", "}"]))


def test_a_batch_of_products_written_as_a_dilated_convolution() -> None:
    """Six products [3, 5] x [5, 7]: of the window's 6 x 6 positions only the diagonal meets an element."""
    program = _only(
        "c = f32[6,3,7] convolution(%p0, %p1), window={size=6 stride=5 lhs_dilate=6}, dim_labels=0bf_0io->0bf",
        "f32[6,3,5]",
        "f32[6,5,7]",
    )
    assert count_flops(program) == 6 * 2 * 3 * 5 * 7


def test_a_padded_convolution() -> None:
    """One line of 4, a window of 3 with 1 of padding: 2 + 3 + 3 + 2 pairs."""
    program = _only(
        "c = f32[1,4,1] convolution(%p0, %p1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        "f32[1,4,1]",
        "f32[3,1,1]",
    )
    assert count_flops(program) == 2 * 10


def test_kernels() -> None:
    """A kernel says its operations; others are named."""
    call = 'f32[4,4] custom-call(%p0), custom_call_target="tpu_custom_call", backend_config={"x":1'
    stated = _only(f'k = {call},"cost_estimate":{{"flops":"123","bytes_accessed":"9"}}}}', "f32[4,4]")
    assert (count_flops(stated), silent_kernels(stated)) == (123, ())
    silent = _only(f"k = {call}}}", "f32[4,4]")
    assert (count_flops(silent), silent_kernels(silent)) == (0, ("k",))


SPLASH = 'custom-call(%p0, %p1, %p2), custom_call_target="tpu_custom_call"'
BLOCKS = ("s8[1,4,2]", "bf16[2,64,16]", "bf16[1,64,16]")  # 4 of queries by 2 of keys; 2 heads of 64 tokens, of 16


@pytest.mark.parametrize(
    ("kernel", "products"),
    [
        ("splash_mha_fwd_residuals.1 = f32[2,64,16]", 2),
        ("splash_mha_dkv_no_residuals.1 = (f32[1,64,16], f32[1,64,16])", 4),
        (
            "splash_mha_dkv_no_residuals.1 = (f32[2,2,64,16], f32[1,64,16], f32[1,64,16])",
            5,
        ),  # and the queries' gradient
        ("splash_mha_dq_no_residuals.1 = f32[2,64,16]", 3),
    ],
)
def test_splash_attention_in_the_blocks_that_causality_leaves(kernel: str, products: int) -> None:
    """Blocks of 16 queries by 32 keys: the four rows of them visit 1, 1, 2 and 2."""
    program = _only(f"{kernel} {SPLASH}", *BLOCKS)
    assert count_flops(program) == products * 6 * 2 * (2 * 16 * 32 * 16)
    assert silent_kernels(program) == ()


def test_a_grouped_product_computes_whole_blocks() -> None:
    """[64, 40] rows of 3 groups by [3, 40, 24] in blocks of 16 x 32 x 16: 4 + 2 blocks of rows, 2 of 40, 2 of 24."""
    assert grouped_flops((2, DYNAMIC, 2), (16 * 32, 32 * 16, 16 * 16), visits=6) == 2 * (6 * 16) * (2 * 32) * (2 * 16)


@pytest.mark.parametrize(
    ("product", "shapes", "expected"),
    [
        (gmm, ((256, 384), (3, 384, 256)), [2, DYNAMIC, 3]),
        (tgmm, ((384, 256), (256, 256)), [2, 3, DYNAMIC]),
    ],
)
def test_the_grid_that_a_grouped_product_carries(
    product: Callable[..., jax.Array], shapes: tuple[tuple[int, ...], ...], expected: list[int]
) -> None:
    """256 rows of 3 groups, [256, 384] by [3, 384, 256], and the gradient of the kernels, in blocks of 64, 128, 128."""
    arrays = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes]
    blocked = functools.partial(product, tiling=(64, 128, 128))
    traced = jax.jit(blocked).trace(*arrays, jax.ShapeDtypeStruct((3,), jnp.int32))
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    (body,) = re.findall(r"\\22body\\22: \\22([^\\]*)\\22", text)
    bounds, blocks = grid(body)
    assert bounds == expected
    assert sorted(blocks) == sorted([64 * 128, 64 * 128, 128 * 128])


def test_a_kernel_reads_as_often_as_it_says() -> None:
    call = 'f32[4,4] custom-call(%p0), custom_call_target="tpu_custom_call", backend_config={"x":1'
    for said, moved in ((9, 128), (1000, 1000)):
        kernel = _only(f'k = {call},"cost_estimate":{{"flops":"123","bytes_accessed":"{said}"}}}}', "f32[4,4]")
        assert count_traffic(kernel) == moved


def test_each_instruction_takes_the_longer_of_compute_and_traffic(program: Program) -> None:
    """A layer: 128 bytes of x for each of two fusions, a product of 8192 FLOP and 1284 bytes, a slice of 256; then a
    product of 1024 FLOP and 512 bytes. At 16 FLOP/s all of them wait for memory, at 1 FLOP/s products for compute.
    """
    moved = {"start": 128, "done": 128, "y": 256 + 4 + 1024, "left": 256}
    expected = 4 * (moved["start"] + moved["done"] + moved["y"] + moved["left"]) + 256 + 256
    assert count_seconds(program, 16, 1) == expected
    assert count_seconds(program, 1, 1) == expected - 4 * moved["y"] + 4 * 8192 - 512 + 1024
