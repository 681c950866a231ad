"""People come and go at random, lines are fast and slow at random; in the end all who are there hear each other."""

import random

import pytest

from tests.server.voice.dave.call import Call


def storm(kind: str, seed: int, moves: int, most: int) -> Call:
    """A call in which everything happens at once."""
    call = Call(kind, seed=seed)
    chance = random.Random(seed)
    for _ in range(moves):
        user_id = chance.randint(1, most)
        if user_id in call.clients:
            if chance.random() < 0.7:
                call.leave(user_id)
        else:
            call.join(user_id)
        for _ in range(chance.choice((0, 1, 3, 10, 40))):
            call.step()
        # Key packages are rationed by time.
        call.now += 1.0
        if call.group.deadline is not None and call.group.deadline <= call.now and chance.random() < 0.5:
            call.send(call.group.tick(call.now))
    call.wait(30)
    return call


@pytest.mark.parametrize("seed", range(8))
def test_davey_in_a_storm(seed: int) -> None:
    call = storm("davey", seed, moves=24, most=6)

    call.require_all_hear_all_or_one()
    assert sum(client.invalid for client in call.clients.values()) == 0


@pytest.mark.parametrize("seed", range(4))
def test_both_implementations_in_a_storm(seed: int) -> None:
    storm("mixed", seed, moves=16, most=5).require_all_hear_all_or_one()
