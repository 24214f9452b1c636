"""Who gets a slot: order, off-loading, forks. The caches are lists of what was read."""

import random
from concurrent.futures import Future

import numpy as np
import pytest

from tars_jax.inference.sampling import Sampling, Written
from tars_jax.inference.scheduler import LiveWindow, RandomStream, Request, Scheduler

ENDLESS = 10**6


class Device:
    """A scheduler with pretended slots: what the engine's thread does, without a model. Answers are one token."""

    def __init__(self, slots: int, max_queue: int = ENDLESS) -> None:
        self.scheduler = Scheduler(slots, max_queue)
        self.caches: list[list[int]] = [[] for _ in range(slots)]
        self.saves = self.copies = 0

    def ask(self, window: LiveWindow, *tokens: int) -> Request:
        new = np.array([*([] if window.pending is None else [window.pending]), *tokens], np.int32)
        request = Request(
            window=window,
            stream=RandomStream(0),
            tokens=new,
            images=(),
            positions=np.zeros((3, new.size), np.int32),
            next_position=window.position + new.size,
            held=None,
            sampling=Sampling(),
            seed=0,
            drawn=0,
            budget=1,
            answer=Future(),
        )
        self.scheduler.add(request)
        return request

    def begin(self, rows: int = ENDLESS) -> list[Request]:
        self.scheduler.drop_cancelled()
        batch, moves = self.scheduler.take(rows, lambda requests: True)
        for move in moves:
            if move.save is not None:
                move.save.blocks = self.caches[move.slot][: move.length]
                self.saves += 1
            elif move.copy is not None:
                self.caches[move.slot] = list(self.caches[move.copy])
                self.copies += 1
            elif move.restore is not None:
                self.caches[move.slot] = move.restore.blocks[: move.length]
        for request in batch:
            slot, length = request.window.slot, request.window.length
            assert slot is not None
            self.caches[slot] = [*self.caches[slot][:length], *request.tokens.tolist()]
        return batch

    def cache(self, window: LiveWindow) -> list[int]:
        assert window.slot is not None
        return self.caches[window.slot][: window.length]

    def finish(self, request: Request, token: int = 0) -> None:
        request.write(Written([token], [0.0], 0, []), stop=-1)
        request.settle(1)
        self.scheduler.finish(request)
        if not request.answer.cancelled():
            request.answer.set_result(request.sampled(1, "length"))

    def turn(self, window: LiveWindow, *tokens: int) -> None:
        request = self.ask(window, *tokens)
        while request not in (begun := self.begin()):
            assert begun
            for each in begun:
                self.finish(each)
        self.finish(request)


def test_requests_begin_in_the_order_in_which_they_came() -> None:
    """Two talkative windows ask again at once, in a flood of others: everybody begins in turn."""
    device = Device(slots=2)
    talkers, order, expected = [LiveWindow(), LiveWindow()], [], []
    for number in range(60):
        window = LiveWindow() if number % 3 == 0 else talkers[number % 2]
        if window.request is None:
            expected.append(device.ask(window, number))
        for request in device.begin(rows=1):
            order.append(request)
            device.finish(request)
    while begun := device.begin():
        order += begun
        for request in begun:
            device.finish(request)
    assert order == expected and len(order) > 40


def test_an_answer_under_way_keeps_its_slot() -> None:
    device = Device(slots=1)
    first, second = device.ask(LiveWindow(), 1), device.ask(LiveWindow(), 2)
    assert device.begin() == [first] and device.begin() == []
    device.finish(first)
    assert device.begin() == [second]
    assert device.saves == 1


def test_the_window_that_nobody_asked_for_longest_makes_room() -> None:
    device = Device(slots=3)
    windows = [LiveWindow() for _ in range(3)]
    for window in (*windows, windows[0]):
        device.turn(window, 7)
    device.turn(LiveWindow(), 8)
    assert [window.slot is None for window in windows] == [False, True, False]
    device.turn(windows[1], 9)
    assert device.cache(windows[1]) == [7, 0, 9]
    assert windows[2].slot is None and windows[1].saved is None


def test_a_closed_window_is_not_saved() -> None:
    device = Device(slots=1)
    window = LiveWindow()
    device.turn(window, 7)
    device.scheduler.close(window)
    device.turn(LiveWindow(), 8)
    assert device.saves == 0


def test_closing_stops_what_is_under_way() -> None:
    device = Device(slots=1)
    running, waiting = device.ask(LiveWindow(), 1), device.ask(LiveWindow(), 2)
    device.begin()
    device.scheduler.close(running.window)
    assert running.answer.cancelled() and device.begin() == [waiting]
    device.scheduler.close(waiting.window)
    device.finish(waiting)  # it comes to its end before anybody looks
    assert waiting.answer.cancelled() and waiting.window.slot is None


@pytest.mark.parametrize("parent", ["lives", "closes", "is off-loaded", "goes on", "closes off-loaded"])
def test_a_fork_reads_what_its_parent_had_read(parent: str) -> None:
    device = Device(slots=2)
    window = LiveWindow()
    device.turn(window, 1, 2)
    forks = [device.scheduler.fork(window) for _ in range(2)]
    grandchild = device.scheduler.fork(forks[0])
    if parent == "goes on":
        device.turn(window, 5)
    if "off-loaded" in parent:
        device.turn(LiveWindow(), 8)
        device.turn(LiveWindow(), 8)
        assert window.slot is None
    if "closes" in parent:
        device.scheduler.close(window)
    saves = device.saves
    for number, fork in enumerate((*forks, grandchild)):
        device.turn(fork, 3 + number)
        assert device.cache(fork) == [1, 2, 0, 3 + number]
        device.scheduler.close(fork)
    if parent == "closes":
        assert (device.copies, device.saves) == (2, saves)  # the last one took the slot as it was
    assert window.forks == 0
    assert (window.slot is None and window.saved is None) or "closes" not in parent


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.first(3)
def test_every_window_finds_its_own_cache(seed: int) -> None:
    """Any order of asking, answering, forking, closing and giving up, with fewer slots than windows."""
    rng, device = random.Random(seed), Device(slots=3)
    read: dict[LiveWindow, list[int]] = {}  # what the cache has to hold, and then what is pending
    open_requests: list[Request] = []
    checked = 0
    for number in range(4000):
        idle = [window for window in read if window.request is None]
        action = rng.random()
        if action < 0.1 and len(read) < 9:
            read[LiveWindow()] = []
        elif action < 0.2 and idle and len(read) < 9:
            window = rng.choice(idle)
            read[device.scheduler.fork(window)] = list(read[window])
        elif action < 0.55 and idle:
            window = rng.choice(idle)
            device.ask(window, number)
            read[window].append(number)
        elif action < 0.6 and read:
            window = rng.choice(list(read))
            device.scheduler.close(window)
            del read[window]
        elif action < 0.65 and open_requests:
            request = open_requests.pop(rng.randrange(len(open_requests)))
            request.answer.cancel()
            read.pop(request.window, None)
        elif action < 0.85:
            for request in device.begin(rng.randint(1, 3)):
                open_requests.append(request)
                if (window := request.window) in read:
                    assert window.slot is not None
                    assert device.caches[window.slot] == read[window]
                    checked += 1
        elif open_requests:
            request = open_requests.pop(rng.randrange(len(open_requests)))
            if not request.answer.cancelled():
                device.finish(request, -number)
                if request.window in read:
                    read[request.window].append(-number)
        read = {window: tokens for window, tokens in read.items() if window.open}
    assert checked > 100 and device.saves > 20 and device.copies > 5

    # Nothing is left when all are gone.
    for window in read:
        device.scheduler.close(window)
    device.scheduler.drop_cancelled()
    assert not (device.scheduler.idle or device.scheduler.queue or device.scheduler.active)
