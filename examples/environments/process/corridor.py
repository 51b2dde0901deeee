#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corridor of ../plugin/corridor.c in Python: gmac-train --env ./corridor.py"""
import pickle
import random

import gmac_environment

FIELDS, LIMIT = 9, 50


class Corridor:
    observation_space = gmac_environment.Box(1, low=-1.0, high=1.0)
    action_space = gmac_environment.Discrete(2)

    def __init__(self, options):
        if options:
            raise ValueError("the corridor has no options")

    def reset(self, seed=None):
        if seed is not None:
            self.random = random.Random(seed)
        self.place, self.steps = self.random.randrange(FIELDS - 1), 0
        return self.observe(), {}

    def step(self, action):
        right = (action == 1) != (self.random.random() < 0.1)
        self.place = self.place + 1 if right else max(self.place - 1, 0)
        self.steps += 1
        terminated = self.place == FIELDS - 1
        return self.observe(), 1.0 if terminated else -0.01, terminated, self.steps == LIMIT, {}

    def observe(self):
        return [2 * self.place / (FIELDS - 1) - 1]

    def draw(self):
        walls = (0, [(-0.5, -0.5), (FIELDS - 0.5, -0.5), (FIELDS - 0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])
        goal = (2, [(FIELDS - 1.4, -0.4), (FIELDS - 0.6, 0.4)])
        return (-1, FIELDS, -1.5, 1.5), 0.1, [walls, goal, (1, [(self.place, 0)])]

    # Without these two a run starts new episodes when it is resumed.
    def save_state(self):
        return pickle.dumps((self.random.getstate(), self.place, self.steps))

    def load_state(self, state):
        generator, self.place, self.steps = pickle.loads(state)
        self.random = random.Random()
        self.random.setstate(generator)


if __name__ == "__main__":
    gmac_environment.serve(Corridor)
