"""What is expected of each attack: the table that is in the program itself (attack.h), and what follows from it for a run.

A run is in an arrangement:

    beside      the attacker and its victims in one place, under one user: no container, or the same one
    contained   the attacker in the supplied container, the victims outside of it

and with the launcher, on a Landlock ABI, or without it (None).
"""

import dataclasses
import json
import subprocess


@dataclasses.dataclass(frozen=True)
class Attack:
    group: str
    title: str
    name: str
    what: str
    user: str
    landlock: int
    error: str
    launcher: str
    from_: int
    launcher_error: str
    container: str
    filtered: bool

    @property
    def key(self):
        return f"{self.group}.{self.name}"

    def is_denied(self, abi, contained, filtered):
        """`abi`: None without the launcher. `filtered`: by Docker's seccomp profile."""
        return (self.user != "nothing" or (filtered and self.filtered) or (contained and self.container != "nothing")
                or (abi is not None and (self.is_stopped(abi) or 0 < self.landlock <= abi)))

    def is_stopped(self, abi):
        """By the launcher, whatever Landlock says."""
        return self.launcher != "nothing" and self.from_ <= abi

    def failure(self, abi):
        """As which it fails where the launcher alone is in the way."""
        return (self.launcher_error if self.is_stopped(abi) else self.error) or "NOTHING"


def table(program):
    """Of the attacking program: all attacks in their order."""
    lines = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [Attack(**json.loads(line.replace('"from"', '"from_"'))) for line in lines]


def outcomes(text):
    """What a stage has printed: by key, the words."""
    return {key: words.split() for key, _, words in (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))}


def differences(attacks, text, abi, *, contained=False, filtered=False, absent=(), either=()):
    """What a run has shown that the table does not say, a line each. `absent`: the reasons for which attacks may be absent;
    `either`: keys of attacks that may end either way."""
    found, wrong = outcomes(text), []
    if list(found) != [attack.key for attack in attacks]:
        return [f"not each attack was tried once: {text}"]
    for attack in (attack for attack in attacks if attack.key not in either):
        outcome, *more = found[attack.key]
        is_denied = attack.is_denied(abi, contained, filtered)
        if outcome == "ABSENT":
            if more[0] not in absent:
                wrong.append(f"{attack.key}: absent: {more[0]}")
        elif outcome != ("DENIED" if is_denied else "OPEN"):
            wrong.append(f"{attack.key}: {outcome} {' '.join(more)}; expected: {'DENIED' if is_denied else 'OPEN'}")
        elif is_denied and not attack.is_denied(None, contained, filtered) and more[0] != attack.failure(abi):
            wrong.append(f"{attack.key}: denied as {more[0]}; expected: {attack.failure(abi)}")
    return wrong
