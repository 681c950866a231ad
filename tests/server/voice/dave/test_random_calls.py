"""Random joins, leaves and delays: in the end all remaining members decrypt each other's frames."""

import random

import pytest

from tests.server.voice.dave.simulated_call import SimulatedCall


def run_random_call(implementation: str, seed: int, change_count: int, user_count: int) -> SimulatedCall:
    """Run a call with random joins, leaves and delivery."""
    call = SimulatedCall(implementation, seed=seed)
    rng = random.Random(seed)
    for _ in range(change_count):
        user_id = rng.randint(1, user_count)
        if user_id in call.clients:
            if rng.random() < 0.7:
                call.leave(user_id)
        else:
            call.join(user_id)
        for _ in range(rng.choice((0, 1, 3, 10, 40))):
            call.deliver_one()
        # The key package limit depends on time.
        call.now += 1.0
        if call.group.deadline is not None and call.group.deadline <= call.now and rng.random() < 0.5:
            call.queue_messages(call.group.tick(call.now))
    call.advance_time(30)
    return call


@pytest.mark.parametrize("seed", range(8))
def test_davey_survives_random_joins_and_leaves(seed: int) -> None:
    call = run_random_call("davey", seed, change_count=24, user_count=6)

    call.assert_remaining_decrypt()
    assert sum(client.rejected_count for client in call.clients.values()) == 0


@pytest.mark.parametrize("seed", range(4))
def test_both_implementations_survive_random_joins_and_leaves(seed: int) -> None:
    run_random_call("mixed", seed, change_count=16, user_count=5).assert_remaining_decrypt()
