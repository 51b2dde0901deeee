#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Environments whose every number is known, and faulty ones; which, --env-options says."""
import mmap
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/environments/process"))
import gmac_environment


class Counting:
    """Observations are (seed, step, sum of the actions); an episode has four steps; the reward is the action. With masks
    the action of the step before is forbidden."""

    observation_space = gmac_environment.Box(3)
    action_space = gmac_environment.Discrete(3)

    def __init__(self, kind):
        self.kind = kind
        self.seed = self.last = -1
        if kind == "masks":
            self.action_masks = lambda: [action != self.last for action in range(3)]
        if kind == "unknown":
            raise ValueError("there is no such kind")

    def reset(self, seed=None):
        self.seed = self.seed + 1 if seed is None else seed % 1000
        self.step_count, self.sum, self.last = 0, 0, -1
        return [self.seed, 0, 0], {}

    def step(self, action):
        self.step_count += 1
        self.sum += action
        self.last = action
        observation = [self.seed, self.step_count, [self.sum]]
        if self.step_count == 3:
            if self.kind == "raise":
                raise ValueError("the wheel is off")
            if self.kind == "exit":
                os._exit(3)
            if self.kind == "cut":
                os.ftruncate(3, 0)
            if self.kind == "short":
                observation.pop()
            if self.kind == "nan":
                observation[1] = float("nan")
        return observation, action, self.step_count == 4 and action == 2, self.step_count == 4, {}


class Drawn(Counting):
    def draw(self):
        if self.step_count == 2:
            return (0, 0, 0, 1), 0.5, []
        return (0, 8, -1, 1), 0.5, [(0, [(0, 0), (8, 0)]), (3, [(self.step_count, 0.25)] * 600)]


class Damaging(Counting):
    """Writes over all that gmac has told it, and stores nothing where it says that it did."""

    def step(self, action):
        mmap.mmap(3, 4096)[176:272] = b"\xff" * 96
        return super().step(action)

    def save_state(self):
        gmac_environment.os.pwrite = lambda descriptor, data, at: len(data)
        return b"state"

    def load_state(self, state):
        pass


class Box:
    """Actions are two by two numbers, which become the observation."""

    observation_space = gmac_environment.Box(4)

    class action_space:
        shape = (2, 2)
        low = [[-1, -2], [-3, -4]]
        high = [[1, 2], [3, 4]]

    def reset(self, seed=None):
        return [[0, 0], [0, 0]], {}

    def step(self, action):
        (a, b), (c, d) = action
        return (a, (b, c), d), a + b, False, False, {}


class Several:
    """Three actions at once, which become the observation with the number of steps; what was done may not be done again."""

    observation_space = gmac_environment.Box(4)
    action_space = gmac_environment.MultiDiscrete([2, 3, 4])

    def __init__(self, kind):
        self.last = []
        if kind == "several masked":
            self.action_masks = lambda: [a not in self.last[i:i + 1] for i, n in enumerate([2, 3, 4]) for a in range(n)]
        if kind == "several stuck":
            self.action_masks = lambda: [1, 1, 0, 0, 0, 1, 1, 1, 1]
        if kind == "several none":
            self.action_space = gmac_environment.MultiDiscrete([2, 0, 4])
        if kind in ("several late", "several bits"):
            self.action_space = type("Space", (), {"late": {"nvec": [2, 3], "start": [0, 1]}, "bits": {"n": 3, "shape": (3,)}}[kind[8:]])

    def reset(self, seed=None):
        self.steps, self.last = 0, []
        return [0, 0, 0, 0], {}

    def step(self, action):
        assert all(isinstance(a, int) for a in action)
        self.steps += 1
        self.last = action
        return [*action, self.steps], sum(action), False, False, {}


class Nested(Several):
    class action_space:
        shape = (2, 2)
        nvec = [[2, 3], [4, 5]]

    def step(self, action):
        (a, b), (c, d) = action
        return [a, b, c, d], 0, False, False, {}


class Alone(Several):
    observation_space = gmac_environment.Box(2)
    action_space = gmac_environment.MultiDiscrete([7])

    def reset(self, seed=None):
        self.steps = 0
        return [0, 0], {}


def make(options):
    if options.startswith("several"):
        return Several(options)
    return {"nested": Nested, "alone": Alone, "box": lambda _: Box(), "drawn": Drawn, "damaging": Damaging}.get(options, Counting)(options)


gmac_environment.serve(make)
