"""Random joins, leaves and delays: in the end all remaining members decrypt each other's frames."""

import random

import pytest

from tests.server.voice.dave.call import SimulatedCall


def random_call(kind: str, seed: int, moves: int, users: int) -> SimulatedCall:
    """Run a call with random joins, leaves and delivery."""
    call = SimulatedCall(kind, seed=seed)
    rng = random.Random(seed)
    for _ in range(moves):
        user_id = rng.randint(1, users)
        if user_id in call.clients:
            if rng.random() < 0.7:
                call.leave(user_id)
        else:
            call.join(user_id)
        for _ in range(rng.choice((0, 1, 3, 10, 40))):
            call.step()
        # The key package limit depends on time.
        call.now += 1.0
        if call.group.deadline is not None and call.group.deadline <= call.now and rng.random() < 0.5:
            call.send(call.group.tick(call.now))
    call.wait(30)
    return call


@pytest.mark.parametrize("seed", range(8))
def test_davey_survives_random_joins_and_leaves(seed: int) -> None:
    call = random_call("davey", seed, moves=24, users=6)

    call.require_remaining_decrypt()
    assert sum(client.invalid for client in call.clients.values()) == 0


@pytest.mark.parametrize("seed", range(4))
def test_both_implementations_survive_random_joins_and_leaves(seed: int) -> None:
    random_call("mixed", seed, moves=16, users=5).require_remaining_decrypt()
