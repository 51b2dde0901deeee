# SPDX-License-Identifier: Apache-2.0
"""Environments in Python for gmac: gmac-train --env ./my_environment.py

This file needs nothing but the standard library. Put it beside your script, which begins with a line such as
#!/usr/bin/env python3, may be executed (chmod +x), and ends with

    import gmac_environment
    gmac_environment.serve(lambda options: gymnasium.make("CartPole-v1"))

`serve` is given a function that makes one environment of the text of --env-options. An environment is what Gymnasium
calls one:

    observation_space           a box, of which the shape is read, or a `Box` of this file
    action_space                a discrete one, of which n is read; several at once, of which nvec is read; or a box, of
                                which shape, low and high are read; or a `Discrete`, `MultiDiscrete` or `Box` of this file
    reset(seed=…)               gives (observation, anything); without a seed the random numbers go on
    step(action)                gives (observation, reward, terminated, truncated, anything)

and, if they are there,

    action_masks()              of discrete actions: which may come next, a number or truth value for each; of several at
                                once those of the first, then those of the second, and so on
    save_state(), load_state(bytes)   everything that the next step depends on, as bytes: so runs are resumed bit for bit
    draw()                      gives ((left, right, bottom, top), seconds, [(colour, [(x, y), …]), …]): a window, how long a
                                step is shown, and lines for people to see, of colour 0 for what stands still, 1 to 4 for
                                what is told apart

Observations and actions are numbers or, nested as one likes, sequences of numbers; arrays of NumPy are, too. An action in a
box is a list of its shape (flat for one dimension), or an array if the box's own `low` is one of NumPy; so are several
discrete actions, by `nvec`.
"""
import ctypes
import itertools
import mmap
import os
import struct
import time
import traceback

_DESCRIPTOR = 3
_END, _MAKE, _RESET, _STEP, _ALLOWED, _SAVE, _LOAD, _DRAW = range(8)
# Where things are in gmac_process (include/gmac/environment/process.h).
_COMMAND, _FAILED, _PROCESS, _ASKED, _ANSWERED, _SPACES, _COUNT, _AT, _INDEX, _STATE_SIZE = 4, 8, 12, 16, 72, 128, 176, 200, 256, 264
_NAME, _PROBLEM, _OPTIONS, _BOUNDS, _BYTES = 272, 512, 2048, 4096, 12288


class Discrete:
    """Actions 0, …, n - 1."""

    def __init__(self, n):
        self.n = n


class MultiDiscrete:
    """Several discrete actions at once: number i is one of 0, …, nvec[i] - 1."""

    def __init__(self, nvec):
        self.nvec = list(nvec)


class Box:
    """Vectors of `size` numbers between low and high, which are numbers or sequences."""

    def __init__(self, size, low=float("-inf"), high=float("inf")):
        self.shape = (size,)
        self.low = [low] * size if isinstance(low, (int, float)) else list(low)
        self.high = [high] * size if isinstance(high, (int, float)) else list(high)


def serve(make):
    """Runs environments for the gmac that has started this program; returns when it has no more use for them."""
    server = _Server(make)
    try:
        server.describe()
    except BaseException:
        server.fail()
        raise
    while server.answer():
        pass


def _flat(numbers):
    """All numbers of a nested sequence, or of an array."""
    if hasattr(numbers, "tolist"):
        numbers = numbers.tolist()
    if not isinstance(numbers, (list, tuple)):
        return [float(numbers)]
    return list(itertools.chain.from_iterable(map(_flat, numbers)))


def _size(shape):
    result = 1
    for extent in shape:
        result *= extent
    return result


def _shaped(numbers, shape):
    if len(shape) < 2:
        return numbers
    part = len(numbers) // shape[0]
    return [_shaped(numbers[i * part:(i + 1) * part], shape[1:]) for i in range(shape[0])]


class _Server:
    def __init__(self, make):
        self._make = make
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._map(_BYTES)
        if struct.unpack_from("I", self._memory)[0] != 1:
            raise SystemExit("gmac_environment.py knows version 1 of gmac/environment/process.h, and gmac has another")

    def _map(self, size):
        try:
            self._memory = mmap.mmap(_DESCRIPTOR, size)
        except OSError:
            raise SystemExit("this program is an environment, which gmac-train --env starts") from None
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._asked, self._answered = ctypes.c_void_p(start + _ASKED), ctypes.c_void_p(start + _ANSWERED)

    def _text(self, at, end):
        return self._memory[at:end].split(b"\0")[0].decode()

    def _put_text(self, at, end, text):
        data = text.encode()[:end - at - 1].decode(errors="ignore").encode() + b"\0"
        self._memory[at:at + len(data)] = data

    def fail(self):
        """Hands the reason of the exception that is being handled to gmac."""
        lines = traceback.format_exc().strip().splitlines()
        place = [line.strip() for line in lines if line.startswith("  File ")]
        self._put_text(_PROBLEM, _OPTIONS, lines[-1] + (f" ({place[-1]})" if place else ""))
        struct.pack_into("I", self._memory, _FAILED, 1)
        self._libc.sem_post(self._answered)

    def describe(self):
        self._options = self._text(_OPTIONS, _BOUNDS)
        self._first = self._make(self._options)  # tells the spaces
        seen, done = self._first.observation_space, self._first.action_space
        if getattr(seen, "shape", None) is None:
            raise TypeError("observation_space has no shape: wrap the environment, so that it shows one vector")
        if not any(hasattr(done, name) for name in ("n", "nvec", "low")) or hasattr(done, "n") and getattr(done, "shape", ()):
            raise TypeError("action_space is neither discrete (n, nvec) nor a box (shape, low, high)")
        self._elements = _size(seen.shape)
        self._discrete = hasattr(done, "n")
        self._actions, self._action_size = 0, 1
        if self._discrete or hasattr(done, "nvec"):
            if any(_flat(getattr(done, "start", 0))):
                raise ValueError("discrete actions must begin with 0")
        if self._discrete:
            self._actions = int(done.n)
        elif hasattr(done, "nvec"):
            counts = [int(count) for count in _flat(done.nvec)]
            self._actions, self._action_size = sum(counts), len(counts)
            self._describe_bounds([0] * len(counts) + [count - 1 for count in counts])
            self._to_action = self._shaper(done.nvec, getattr(done, "shape", (len(counts),)), int)
        else:
            self._action_size = _size(done.shape)
            self._describe_bounds([*_flat(done.low), *_flat(done.high)])
            self._to_action = self._shaper(done.low, done.shape, float)
        whole = [hasattr(self._first, name) for name in ("save_state", "load_state")]
        masks = self._actions > 0 and hasattr(self._first, "action_masks")
        drawn = hasattr(self._first, "draw")
        struct.pack_into("6Q", self._memory, _SPACES, self._elements, self._actions, self._action_size, masks, all(whole), drawn)
        self._put_text(_NAME, _PROBLEM, type(self._first).__name__)
        self._libc.sem_post(self._answered)

    def _describe_bounds(self, bounds):
        struct.pack_into(f"{len(bounds)}f", self._memory, _BOUNDS, *bounds)

    @staticmethod
    def _shaper(like, shape, number):
        """What makes an action of a row of floats: an array of NumPy if `like` is one."""
        if hasattr(like, "tolist"):
            import numpy  # the environment has it
            return lambda row: numpy.asarray(row, like.dtype).reshape(shape)
        return lambda row: _shaped([number(x) for x in row], shape)

    def answer(self):
        """Waits for a command and does it; False if it was to end."""
        self._wait()
        command = struct.unpack_from("I", self._memory, _COMMAND)[0]
        if command == _END:
            return False
        try:
            (self._make_all, self._reset, self._step, self._allowed, self._save, self._load, self._draw)[command - 1]()
        except Exception:
            traceback.print_exc()
            self.fail()
        else:
            self._libc.sem_post(self._answered)
        return True

    def _wait(self):
        until = (ctypes.c_long * 2)()
        while True:
            until[0] = int(time.time()) + 2
            if self._libc.sem_timedwait(self._asked, until) == 0:
                return
            try:
                os.kill(struct.unpack_from("I", self._memory, _PROCESS)[0], 0)
            except ProcessLookupError:  # gmac was killed
                raise SystemExit(1) from None
            except PermissionError:
                pass

    def _make_all(self):
        count, self._seed, size = struct.unpack_from("3Q", self._memory, _COUNT)
        self._map(size)
        self._all = [self._first] + [self._make(self._options) for _ in range(count - 1)]
        at = struct.unpack_from("7Q", self._memory, _AT)
        self._size = size
        self._action_at, self._observation_at, self._final_at, self._reward_at = at[:4]
        self._terminated_at, self._truncated_at, self._mask_at = at[4:]
        self._row = struct.Struct(f"{self._elements}f")
        self._action_row = struct.Struct(f"{count * self._action_size}f")
        self._reward_row = struct.Struct(f"{count}f")

    def _put(self, start, i, observation):
        at = start + i * self._row.size
        try:  # most observations are flat, and of the right size
            self._row.pack_into(self._memory, at, *observation)
        except (struct.error, TypeError):
            numbers = _flat(observation)
            if len(numbers) != self._elements:
                raise ValueError(f"an observation has {len(numbers)} numbers, but observation_space has {self._elements}") from None
            self._row.pack_into(self._memory, at, *numbers)

    def _reset(self):
        for i, one in enumerate(self._all):
            # Each its own stream; a run that is resumed without states begins with these, too.
            observation, _ = one.reset(seed=(self._seed * 1_000_003 + i) % 2**31)
            self._put(self._observation_at, i, observation)

    def _step(self):
        memory = self._memory
        actions = self._action_row.unpack_from(memory, self._action_at)
        rewards = []
        for i, one in enumerate(self._all):
            if self._discrete:
                action = int(actions[i])
            else:
                action = self._to_action(list(actions[i * self._action_size:(i + 1) * self._action_size]))
            observation, reward, terminated, truncated, _ = one.step(action)
            rewards.append(float(reward))
            if terminated or truncated:
                memory[self._terminated_at + i] = bool(terminated)
                memory[self._truncated_at + i] = bool(truncated) and not terminated
                self._put(self._final_at, i, observation)
                observation, _ = one.reset()
            self._put(self._observation_at, i, observation)
        self._reward_row.pack_into(memory, self._reward_at, *rewards)

    def _allowed(self):
        for i, one in enumerate(self._all):
            row = bytes(bool(may) for may in one.action_masks())
            if len(row) != self._actions:
                raise ValueError(f"action_masks() gives {len(row)} numbers, but there are {self._actions} actions")
            self._memory[self._mask_at + i * self._actions:self._mask_at + (i + 1) * self._actions] = row

    def _save(self):
        states = [one.save_state() for one in self._all]
        self._hand_over(struct.pack(f"{len(states)}Q", *map(len, states)) + b"".join(states))

    def _draw(self):
        window, seconds, lines = self._all[struct.unpack_from("Q", self._memory, _INDEX)[0]].draw()
        numbers = [*window, seconds]
        for colour, points in lines:
            numbers += [colour, len(points), *_flat(points)]
        self._hand_over(struct.pack(f"{len(numbers)}f", *numbers))

    def _hand_over(self, data):
        struct.pack_into("Q", self._memory, _STATE_SIZE, len(data))
        done = 0
        while done < len(data):
            done += os.pwrite(_DESCRIPTOR, data[done:], self._size + done)

    def _load(self):
        size = struct.unpack_from("Q", self._memory, _STATE_SIZE)[0]
        data = os.pread(_DESCRIPTOR, size, self._size)
        head = struct.Struct(f"{len(self._all)}Q")
        sizes = head.unpack_from(data) if len(data) >= head.size else ()
        if head.size + sum(sizes) != len(data) or not sizes:
            raise ValueError("the stored state is of another number of environments")
        at = head.size
        for one, part in zip(self._all, sizes):
            one.load_state(data[at:at + part])
            at += part
