"""The discrete-event simulation of `bench` against known results of queueing theory."""

import math
import statistics

import pytest

from bench.queueing import Simulation, Station, compute_percentile

ARRIVAL_COUNT = 200_000


def simulate_waits(utilization: float, server_count: int, *, is_exponential: bool) -> tuple[list[float], Station]:
    """Return the sojourn times of jobs with a mean service time of one second, and the station."""
    simulation = Simulation(seed=3)
    station = Station(simulation, server_count)
    durations: list[float] = []

    def arrive() -> None:
        arrived_at = simulation.now_seconds
        service_seconds = simulation.random.expovariate(1.0) if is_exponential else 1.0
        station.submit(lambda _: service_seconds, lambda: durations.append(simulation.now_seconds - arrived_at))

    simulation.schedule_poisson_arrivals(utilization * server_count, ARRIVAL_COUNT, arrive)
    simulation.run()
    return durations, station


@pytest.mark.parametrize("utilization", [0.3, 0.5, 0.8])
def test_one_server_with_exponential_service_times_matches_theory(utilization: float) -> None:
    durations, station = simulate_waits(utilization, 1, is_exponential=True)

    # The sojourn time of M/M/1 is exponential with this mean.
    mean = 1 / (1 - utilization)
    assert statistics.mean(durations) == pytest.approx(mean, rel=0.05)
    assert compute_percentile(durations, 50) == pytest.approx(mean * math.log(2), rel=0.05)
    assert compute_percentile(durations, 99) == pytest.approx(mean * math.log(100), rel=0.08)
    assert station.compute_utilization() == pytest.approx(utilization, rel=0.02)
    assert station.served_count == ARRIVAL_COUNT


@pytest.mark.parametrize("utilization", [0.3, 0.5, 0.8])
def test_one_server_with_constant_service_times_matches_theory(utilization: float) -> None:
    durations, _ = simulate_waits(utilization, 1, is_exponential=False)

    # The formula of Pollaczek and Khinchine for M/D/1.
    assert statistics.mean(durations) == pytest.approx(1 + utilization / (2 * (1 - utilization)), rel=0.03)


def test_several_servers_match_theory() -> None:
    server_count, utilization = 4, 0.7
    durations, _ = simulate_waits(utilization, server_count, is_exponential=True)

    # The formula of Erlang for M/M/c: the probability that a job waits, then the mean wait of those that do.
    load = server_count * utilization
    all_busy = load**server_count / math.factorial(server_count) / (1 - utilization)
    wait_probability = all_busy / (sum(load**n / math.factorial(n) for n in range(server_count)) + all_busy)
    mean = 1 + wait_probability / (server_count * (1 - utilization))
    assert statistics.mean(durations) == pytest.approx(mean, rel=0.03)


def test_a_batch_serves_all_waiting_jobs_at_once() -> None:
    simulation = Simulation()
    station = Station(simulation, batch_max=64)
    completed_at: list[float] = []
    for _ in range(10):
        station.submit(lambda count: 1.0 + 0.1 * count, lambda: completed_at.append(simulation.now_seconds))
    simulation.run()

    # The first job starts alone, and the other nine share the next batch.
    assert completed_at == [pytest.approx(1.1), *[pytest.approx(3.0)] * 9]
    assert station.busy_seconds == pytest.approx(3.0)


def test_jobs_are_served_in_the_order_of_their_arrival() -> None:
    simulation = Simulation()
    station = Station(simulation)
    completed: list[int] = []
    for number in range(5):
        station.submit(lambda _: 1.0, lambda number=number: completed.append(number))
    simulation.run()

    assert completed == [0, 1, 2, 3, 4]
    assert simulation.now_seconds == pytest.approx(5.0)


def test_percentiles_of_a_small_sample() -> None:
    values = [float(number) for number in range(1, 101)]

    assert (compute_percentile(values, 50), compute_percentile(values, 99), compute_percentile(values, 100)) == (
        50,
        99,
        100,
    )
