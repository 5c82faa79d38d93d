"""What brings operands as they lie in memory to a function that runs whole gangs of dense lanes.

    i8 feed(lanes, table, count, first, state, uniform values, args, steps)
                                                    whether any lane was suspect, or a signal came

runs `count` lanes from lane `first` on, of the operands that NumPy's arrays `args` and `steps` say:

    all operands dense lanes:   lanes(whole gangs, as they lie), then what is left as a block; of many lanes first a
                                block that ends where a cache line of the results begins
    otherwise blocks:           operands that are something else converted into buffers that stay in the cache,
                                lanes(the block), results that do not lie dense copied to their places

A block shorter than a gang is filled up with its last lane, which asks for nothing that no real lane does. So every
lane is computed by the same instructions, wherever it lies. Which function converts an operand
(`pyflat.targets.numba.conversions`) is in the state, with the bit `LANES` where its elements are lanes: these are used
as they lie where they are dense and aligned, and are copied by a loop here where the rest of the word is 0.

This code is the same for all kernels, and reads from a table what a kernel's operands are: int64 numbers, which are how
many operands there are, how many of them are read, the lanes in a gang, those in a block, the bytes of all buffers, and
the bytes of a lane of each operand, 0 where it is uniform, or not read in this call. It is compiled once, and kernels
find its address in the state.
"""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Sequence

from pyflat.targets.numba.jit import MachineCode, Passes, Processor, compile_ir, made_once, processor

SUSPECTS, INTERRUPTED, FETCHED = 0, 1, 2
"""Slots of the state: how often suspect lanes were seen; 1 when a signal made the kernel leave, `STOPPED` when its call
is given up, so that all that run it leave; what the handler raised (type, value, traceback)."""

STOPPED = 2

SECOND, FEED, CONVERSIONS = 5, 6, 7
"""Slots of the state of a kernel: the elements that went the second of two ways (`autotune`), the address of the feed,
and from there on, one for each operand, the function that converts it."""

LANES = 1
"""The bit beside that address where elements are lanes already."""

LEFT_EARLY = 2
"""What a function returns that was left because of a signal, together with 1 for suspect lanes."""

BUFFERS = 2**14
"""Bytes of all buffers together: with what they are filled from, they stay in the first-level cache. On a Zen 5 of
2**13 to 2**16 the fastest or within the noise of it on two light kernels, four dtypes and three sizes; 2**16 took up to
1.6 times as long."""

LEAST_LANES = 128
"""Lanes in a block, however many operands there are: a sum of 26 columns of which one is int32 takes 1.2 times as long
by blocks of 64, and what converts ten columns a tenth less."""

LINE = 64
"""Bytes of a cache line. A register that is stored across two of them takes as long as two, and NumPy's arrays begin 16
bytes behind one: on a Xeon with AVX-512 four columns of 280,000 lanes took up to 1.5 times as long."""

MANY_LANES = 8_192
"""From so many lanes on results are stored at whole cache lines: a block at the front takes 0.1 us."""

AT_ONCE = 8
"""Elements that are copied in a trip. Unrolled here, LLVM need not: it would take 80 ms for this code instead of 30."""

SLOT = 8
"""Bytes for a lane in a buffer, and for a uniform value."""


class SharedState:
    """Memory that a kernel and Python share. CPython runs signal handlers in the main thread only."""

    __slots__ = ("flags", "words")

    def __init__(self, feed: int, conversions: Sequence[int]) -> None:
        self.words = array("q", [*[0] * FEED, feed, *conversions])
        self.flags = tuple(ctypes.c_int64.from_buffer(self.words, 8 * k) for k in (SUSPECTS, INTERRUPTED))
        """The first two slots as objects that are true where they are not 0."""

    @property
    def address(self) -> int:
        return self.words.buffer_info()[0]

    def raise_interrupt(self) -> None:
        """Raise what a signal handler raised inside the kernel."""
        if self.words[INTERRUPTED] != 1 or threading.current_thread() is not threading.main_thread():
            return
        raised = [ctypes.c_void_p(self.words[FETCHED + k] or None) for k in range(3)]
        for slot in range(INTERRUPTED, FETCHED + 3):
            self.words[slot] = 0
        restore = ctypes.pythonapi.PyErr_Restore
        restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
        restore(*raised)

    def raise_discarded(self) -> None:
        """`raise_interrupt` where what the kernel has computed is given up: all that share the state see it by
        its count of suspects, which is never 0 again."""
        self.words[SUSPECTS] = 1
        self.raise_interrupt()


def feed_address() -> int:
    """Where the feed is; valid as long as the process."""
    return _compiled(processor()).address


@made_once
def _compiled(cpu: Processor) -> MachineCode:
    return compile_ir(feed_text(), "feed", {}, cpu, passes=Passes.STRAIGHT)


def feed_text() -> str:
    """The module of the function `feed`."""
    return _FEED + _BLOCKS + _FILL + _copies("gather") + _copies("scatter")


def _read(name: str, place: str, type_: str = "i64") -> str:
    """The number at a place, `%name`, and the place itself, `%name_at`."""
    return f"%{name}_at = getelementptr {place}\n  %{name} = load {type_}, ptr %{name}_at"


_TAKE = f"""\
  {_read("size", "i64, ptr %sizes, i64 %k")}
  {_read("step", "i64, ptr %steps, i64 %k")}
"""
_LIES = f"""\
  {_read("word", "i64, ptr %converts, i64 %k")}
  %own = trunc i64 %word to i1
  %unit = icmp eq i64 %step, %size
  %own_unit = and i1 %own, %unit
  %address = ptrtoint ptr %place to i64
  %mask = sub i64 %size, 1
  %low = and i64 %address, %mask
  %aligned = icmp eq i64 %low, 0
  %lies_so = and i1 %own_unit, %aligned
"""
"""Of operand k: the bytes of a lane and the distance of two; whether it lies as a kernel reads it."""

_MOVED = f"""\
  {_read("buffer", "%moved, ptr %moved, i64 0, i32 1", "ptr")}
  {_read("place", "%moved, ptr %moved, i64 0, i32 2", "ptr")}
  {_read("step", "%moved, ptr %moved, i64 0, i32 3")}
  {_read("size", "%moved, ptr %moved, i64 0, i32 4")}
  %away = mul i64 %count, %step
  %next = getelementptr i8, ptr %place, i64 %away
  store ptr %next, ptr %place_at
"""
"""What is known of an operand that has a buffer, which goes on."""

_FEED = f"""
define i8 @feed(ptr %lanes, ptr %table, i64 %count, i64 %first, ptr %state, ptr %uniforms, ptr %args, ptr %steps) {{
entry:
  %operands = load i64, ptr %table
  {_read("inputs", "i64, ptr %table, i64 1")}
  {_read("gang", "i64, ptr %table, i64 2")}
  %sizes = getelementptr i64, ptr %table, i64 5
  %converts = getelementptr i64, ptr %state, i64 {CONVERSIONS}
  %places = alloca ptr, i64 %operands
  br label %next
next:
  %k = phi i64 [0, %entry], [%k_next, %look]
  %all_dense = phi i1 [true, %entry], [%still_dense, %look]
  %result = phi i64 [0, %entry], [%result_next, %look]
  %result_size = phi i64 [{LINE}, %entry], [%result_size_next, %look]
  %more = icmp slt i64 %k, %operands
  br i1 %more, label %look, label %aim
look:
{_TAKE}  {_read("arg", "ptr, ptr %args, i64 %k", "ptr")}
  %away = mul i64 %first, %step
  %place = getelementptr i8, ptr %arg, i64 %away
  %place_at = getelementptr ptr, ptr %places, i64 %k
  store ptr %place, ptr %place_at
{_LIES}  %uniform = icmp eq i64 %size, 0
  %dense = or i1 %uniform, %lies_so
  %still_dense = and i1 %all_dense, %dense
  %is_result = icmp sge i64 %k, %inputs
  %is_wide = icmp sge i64 %size, 4
  %is_wide_result = and i1 %is_result, %is_wide
  %result_next = select i1 %is_wide_result, i64 %address, i64 %result
  %result_size_next = select i1 %is_wide_result, i64 %size, i64 %result_size
  %k_next = add i64 %k, 1
  br label %next
aim:
  %behind_line = and i64 %result, {LINE - 1}
  %between_lines = icmp ne i64 %behind_line, 0
  %many = icmp sge i64 %count, {MANY_LANES}
  %many_dense = and i1 %many, %all_dense
  %peels = and i1 %many_dense, %between_lines
  br i1 %peels, label %front, label %run
front:
  %to_line = sub i64 {LINE}, %behind_line
  %few_in_front = udiv i64 %to_line, %result_size
  %found_front = call i8 @blocks(ptr %lanes, ptr %table, i64 0, i64 %few_in_front, i64 %gang, ptr %state, ptr %uniforms,
                                 ptr %places, ptr %steps)
  %stopped = icmp uge i8 %found_front, {LEFT_EARLY}
  br i1 %stopped, label %stop, label %behind
stop:
  ret i8 %found_front
behind:
  %first_behind = add i64 %first, %few_in_front
  %count_behind = sub i64 %count, %few_in_front
  %found_behind = call i8 @feed(ptr %lanes, ptr %table, i64 %count_behind, i64 %first_behind, ptr %state, ptr %uniforms,
                                ptr %args, ptr %steps)
  %found_all = or i8 %found_front, %found_behind
  ret i8 %found_all
run:
  %enough = icmp sge i64 %count, %gang
  br i1 %enough, label %gangs, label %less
gangs:
  %rest = urem i64 %count, %gang
  %whole = sub i64 %count, %rest
  br i1 %all_dense, label %direct, label %blockwise
direct:
  %found_direct = call i8 %lanes(i64 %whole, ptr %state, ptr %uniforms, ptr %places)
  br label %ran
blockwise:
  %found_blocks = call i8 @blocks(ptr %lanes, ptr %table, i64 0, i64 %whole, i64 0, ptr %state, ptr %uniforms,
                                  ptr %places, ptr %steps)
  br label %ran
ran:
  %found = phi i8 [%found_direct, %direct], [%found_blocks, %blockwise]
  %left_early = icmp uge i8 %found, {LEFT_EARLY}
  %all = icmp eq i64 %rest, 0
  %done = or i1 %left_early, %all
  br i1 %done, label %end, label %less
end:
  ret i8 %found
less:
  %before = phi i8 [0, %run], [%found, %ran]
  %start = phi i64 [0, %run], [%whole, %ran]
  %few = sub i64 %count, %start
  %any = icmp sgt i64 %few, 0
  br i1 %any, label %last, label %none
none:
  ret i8 %before
last:
  %after = call i8 @blocks(ptr %lanes, ptr %table, i64 %start, i64 %few, i64 %gang, ptr %state, ptr %uniforms,
                           ptr %places, ptr %steps)
  %both = or i8 %before, %after
  ret i8 %both
}}
"""
_BLOCKS = f"""
%moved = type {{ptr, ptr, ptr, i64, i64}}

define internal i8 @blocks(ptr %lanes, ptr %table, i64 %start, i64 %count, i64 %least, ptr %state, ptr %uniforms,
                           ptr %places, ptr %steps) noinline {{
entry:
  %operands = load i64, ptr %table
  {_read("inputs", "i64, ptr %table, i64 1")}
  {_read("most", "i64, ptr %table, i64 3")}
  {_read("bytes", "i64, ptr %table, i64 4")}
  %sizes = getelementptr i64, ptr %table, i64 5
  %converts = getelementptr i64, ptr %state, i64 {CONVERSIONS}
  %room = mul i64 %most, {SLOT}
  %buffers = alloca i8, i64 %bytes, align 64
  %given = alloca ptr, i64 %operands
  %strides = alloca i64, i64 %operands
  %fetched = alloca %moved, i64 %operands
  %stored = alloca %moved, i64 %operands
  %no_padding = icmp eq i64 %least, 0
  br label %operand
operand:
  %k = phi i64 [0, %entry], [%k_next, %planned]
  %buffer = phi ptr [%buffers, %entry], [%buffer_next, %planned]
  %fetches = phi i64 [0, %entry], [%fetches_next, %planned]
  %stores = phi i64 [0, %entry], [%stores_next, %planned]
  %more = icmp slt i64 %k, %operands
  br i1 %more, label %look, label %block
look:
{_TAKE}  {_read("first", "ptr, ptr %places, i64 %k", "ptr")}
  %away = mul i64 %start, %step
  %place = getelementptr i8, ptr %first, i64 %away
{_LIES}  %function = and i64 %word, -2
  %convert = getelementptr i8, ptr null, i64 %function
  %direct = and i1 %lies_so, %no_padding
  %uniform = icmp eq i64 %size, 0
  %as_it_is = or i1 %direct, %uniform
  %taken = select i1 %as_it_is, ptr %place, ptr %buffer
  %stride = select i1 %direct, i64 %size, i64 0
  %given_at = getelementptr ptr, ptr %given, i64 %k
  store ptr %taken, ptr %given_at
  %stride_at = getelementptr i64, ptr %strides, i64 %k
  store i64 %stride, ptr %stride_at
  br i1 %as_it_is, label %planned, label %plan
plan:
  %is_result = icmp sge i64 %k, %inputs
  %list = select i1 %is_result, ptr %stored, ptr %fetched
  %length = select i1 %is_result, i64 %stores, i64 %fetches
  %it = getelementptr %moved, ptr %list, i64 %length
  store ptr %convert, ptr %it
  %it_buffer = getelementptr %moved, ptr %it, i64 0, i32 1
  store ptr %buffer, ptr %it_buffer
  %it_place = getelementptr %moved, ptr %it, i64 0, i32 2
  store ptr %place, ptr %it_place
  %it_step = getelementptr %moved, ptr %it, i64 0, i32 3
  store i64 %step, ptr %it_step
  %it_size = getelementptr %moved, ptr %it, i64 0, i32 4
  store i64 %size, ptr %it_size
  %one_store = zext i1 %is_result to i64
  %one_fetch = sub i64 1, %one_store
  %more_stores = add i64 %stores, %one_store
  %more_fetches = add i64 %fetches, %one_fetch
  %behind = getelementptr i8, ptr %buffer, i64 %room
  br label %planned
planned:
  %buffer_next = phi ptr [%buffer, %look], [%behind, %plan]
  %fetches_next = phi i64 [%fetches, %look], [%more_fetches, %plan]
  %stores_next = phi i64 [%stores, %look], [%more_stores, %plan]
  %k_next = add i64 %k, 1
  br label %operand
block:
  %left = phi i64 [%count, %operand], [%left_next, %done]
  %flags = phi i8 [0, %operand], [%flags_run, %done]
  %short = icmp slt i64 %left, %most
  %lanes_now = select i1 %short, i64 %left, i64 %most
  %full = icmp sge i64 %lanes_now, %least
  %padded = select i1 %full, i64 %lanes_now, i64 %least
  br label %fetch
fetch:
  %f = phi i64 [0, %block], [%f_next, %bring]
  %flags_now = phi i8 [%flags, %block], [%flags_next, %bring]
  %more_to_fetch = icmp slt i64 %f, %fetches
  br i1 %more_to_fetch, label %bring, label %run
bring:
  %f_it = getelementptr %moved, ptr %fetched, i64 %f
  %beyond = call i8 @fill(ptr %f_it, i64 %lanes_now, i64 %padded)
  %flags_next = or i8 %flags_now, %beyond
  %f_next = add i64 %f, 1
  br label %fetch
run:
  %found = call i8 %lanes(i64 %padded, ptr %state, ptr %uniforms, ptr %given)
  %flags_run = or i8 %flags_now, %found
  %left_early = icmp uge i8 %found, {LEFT_EARLY}
  br i1 %left_early, label %end, label %store
store:
  %r = phi i64 [0, %run], [%r_next, %put]
  %more_to_store = icmp slt i64 %r, %stores
  br i1 %more_to_store, label %put, label %stored_all
put:
  %r_it = getelementptr %moved, ptr %stored, i64 %r
  call void @empty(ptr %r_it, i64 %lanes_now)
  %r_next = add i64 %r, 1
  br label %store
stored_all:
  %left_next = sub i64 %left, %lanes_now
  %over = icmp eq i64 %left_next, 0
  br i1 %over, label %end, label %go_on
go_on:
  %g = phi i64 [0, %stored_all], [%g_next, %move]
  %more_to_move = icmp slt i64 %g, %operands
  br i1 %more_to_move, label %move, label %done
move:
  %g_at = getelementptr ptr, ptr %given, i64 %g
  %g_place = load ptr, ptr %g_at
  {_read("g_stride", "i64, ptr %strides, i64 %g")}
  %g_away = mul i64 %g_stride, %lanes_now
  %g_moved = getelementptr i8, ptr %g_place, i64 %g_away
  store ptr %g_moved, ptr %g_at
  %g_next = add i64 %g, 1
  br label %go_on
done:
  br label %block
end:
  ret i8 %flags_run
}}
"""
"""`least` is 0 for whole gangs; otherwise there are fewer lanes than these, which are filled up, also where they lie
dense. `moved` is an operand that has a buffer: how it is converted, the buffer, where its next lanes are, their
distance and their size."""

_FILL = f"""
define internal i8 @fill(ptr %moved, i64 %count, i64 %padded) {{
entry:
  %convert = load ptr, ptr %moved
{_MOVED}  %is_filled = icmp eq ptr %place, null
  br i1 %is_filled, label %still, label %bring
still:
  store ptr null, ptr %place_at
  ret i8 0
bring:
  %is_same = icmp eq i64 %step, 0
  br i1 %is_same, label %last_time, label %look
last_time:
  store ptr null, ptr %place_at
  br label %look
look:
  %own = icmp eq ptr %convert, null
  br i1 %own, label %copy, label %convert_them
copy:
  call void @gather(i64 %size, ptr %buffer, ptr %place, i64 %step, i64 %count)
  br label %filled
convert_them:
  %found = call i8 %convert(ptr %buffer, ptr %place, i64 %step, i64 %count)
  br label %filled
filled:
  %beyond = phi i8 [0, %copy], [%found, %convert_them]
  %missing = sub i64 %padded, %count
  %complete = icmp eq i64 %missing, 0
  br i1 %complete, label %done, label %pad
pad:
  %length = mul i64 %count, %size
  %behind = getelementptr i8, ptr %buffer, i64 %length
  %back = sub i64 0, %size
  %last = getelementptr i8, ptr %behind, i64 %back
  call void @gather(i64 %size, ptr %behind, ptr %last, i64 0, i64 %missing)
  br label %done
done:
  ret i8 %beyond
}}

define internal void @empty(ptr %moved, i64 %count) {{
entry:
{_MOVED}  call void @scatter(i64 %size, ptr %buffer, ptr %place, i64 %step, i64 %count)
  ret void
}}
"""
"""Lanes converted or copied to a buffer, and the last one repeated; a buffer emptied to where its lanes belong. A lane
that is repeated (its step is 0) is there for all blocks once it has been brought: its place is null from then on."""


def _copies(name: str) -> str:
    """`gather`: elements that lie `step` bytes apart to a buffer; `scatter`: the other way."""
    steps = "\n  ".join(f"%step.{k} = mul i64 %step, {k}" for k in range(AT_ONCE + 1))
    return f"""
define internal void @{name}(i64 %bytes, ptr %buffer, ptr %place, i64 %step, i64 %count) noinline {{
entry:
  {steps}
  switch i64 %bytes, label %next8 [i64 1, label %next1 i64 2, label %next2 i64 4, label %next4]
{"".join(_copy(size, *(("far", "near") if name == "gather" else ("near", "far"))) for size in (1, 2, 4, 8))}
done:
  ret void
}}
"""


def _copy(size: int, source: str, target: str) -> str:
    """The loops for elements of so many bytes: `AT_ONCE` of them in each trip, and then those that are left."""
    return f"""
next{size}:
  %k{size} = phi i64 [0, %entry], [%k_next{size}, %each{size}]
  %at{size} = phi ptr [%place, %entry], [%at_next{size}, %each{size}]
  %k_next{size} = add nsw i64 %k{size}, {AT_ONCE}
  %more{size} = icmp sle i64 %k_next{size}, %count
  br i1 %more{size}, label %each{size}, label %rest{size}
each{size}:
  %to{size} = getelementptr i{8 * size}, ptr %buffer, i64 %k{size}{_copied(size, "", AT_ONCE, source, target)}
  %at_next{size} = getelementptr i8, ptr %at{size}, i64 %step.{AT_ONCE}
  br label %next{size}
rest{size}:
  %k{size}r = phi i64 [%k{size}, %next{size}], [%k_next{size}r, %one{size}]
  %at{size}r = phi ptr [%at{size}, %next{size}], [%at_next{size}r, %one{size}]
  %left{size} = icmp slt i64 %k{size}r, %count
  br i1 %left{size}, label %one{size}, label %done
one{size}:
  %to{size}r = getelementptr i{8 * size}, ptr %buffer, i64 %k{size}r{_copied(size, "r", 1, source, target)}
  %at_next{size}r = getelementptr i8, ptr %at{size}r, i64 %step
  %k_next{size}r = add nsw i64 %k{size}r, 1
  br label %rest{size}
"""


def _copied(size: int, rest: str, count: int, source: str, target: str) -> str:
    """So many elements, from where `at` and `to` are."""
    return "".join(f"""
  %far{size}{rest}.{k} = getelementptr i8, ptr %at{size}{rest}, i64 %step.{k}
  %near{size}{rest}.{k} = getelementptr i{8 * size}, ptr %to{size}{rest}, i64 {k}
  %element{size}{rest}.{k} = load i{8 * size}, ptr %{source}{size}{rest}.{k}, align {size}
  store i{8 * size} %element{size}{rest}.{k}, ptr %{target}{size}{rest}.{k}, align {size}""" for k in range(count))
