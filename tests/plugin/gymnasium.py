# SPDX-License-Identifier: Apache-2.0
"""As much of Gymnasium's interface as gmac_environment.py meets, for tests: `make`, spaces, and arrays with `tolist`."""


class Array:
    def __init__(self, numbers):
        self.numbers = numbers

    def tolist(self):
        return self.numbers


class Space:
    def __init__(self, **members):
        self.__dict__.update(members)


class Pole:
    """Falls to the side to which it is pushed, after four steps at the most."""

    observation_space = Space(shape=(2, 2), low=Array([[-1.0, -1.0]] * 2), high=Array([[1.0, 1.0]] * 2))
    action_space = Space(n=2, start=0)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return Array([[0.0, 0.5], [0.25, 0.0]]), {}

    def step(self, action):
        assert action in (0, 1)
        self.steps += 1
        return Array([[self.steps / 4, 0.5], [0.25, action]]), 1.0, self.steps == 4, False, {}


class Pendulum(Pole):
    action_space = Space(shape=(1,), low=[-2.0], high=[2.0])

    def step(self, action):
        (torque,) = action
        assert -2 <= torque <= 2
        return Pole.step(self, 0)


class Switches(Pole):
    action_space = Space(shape=(2,), nvec=[2, 3], start=Array([0, 0]))

    def step(self, action):
        one, other = action
        assert one in (0, 1) and other in (0, 1, 2)
        return Pole.step(self, one)


def make(name):
    kinds = {"CartPole-v1": Pole, "Pendulum-v1": Pendulum, "Switches-v1": Switches}
    if name not in kinds:
        raise LookupError(f"no environment {name}")
    return kinds[name]()
