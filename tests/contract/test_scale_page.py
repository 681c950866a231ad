"""docs/scale.md contains the output of `python -m bench.simulation` for the stored unit costs."""

from bench.capacity import Limits, Workload, compute_largest_installation, compute_needs, find_exceeded_limits
from bench.simulation import COST_ROWS, SCALE_PAGE, SingleMachine, build_tables, load_document, replace_tables


def test_the_tables_are_those_of_the_simulation() -> None:
    page = SCALE_PAGE.read_text()

    assert replace_tables(page, build_tables(load_document())) == page, "run python -m bench.simulation --write"


def test_every_stored_cost_is_positive_and_most_are_on_the_page() -> None:
    costs = load_document()["costs"]

    # The worker has no work for a message of a guild without a search.
    assert [name for name, value in costs.items() if value <= 0 and name != "node_post_worker_us"] == []
    assert {name for name, _, _ in COST_ROWS} <= costs.keys()


def test_needs_grow_with_the_number_of_sessions() -> None:
    costs, workload, limits = load_document()["costs"], Workload(), Limits()
    few, many = (compute_needs(costs, sessions, workload, limits) for sessions in (100_000, 200_000))

    assert many.database_cores / few.database_cores == 2
    assert few.gateway_processes is not None
    assert many.gateway_processes is not None
    assert many.gateway_processes > few.gateway_processes


def test_the_largest_installation_is_within_the_limits_and_the_next_is_not() -> None:
    costs, workload, limits = load_document()["costs"], Workload(), Limits()
    largest = compute_largest_installation(costs, workload, limits)

    assert find_exceeded_limits(compute_needs(costs, largest, workload, limits), limits) == []
    assert find_exceeded_limits(compute_needs(costs, largest * 11 // 10, workload, limits), limits) != []


def test_a_simulated_process_is_slower_with_more_load() -> None:
    machine = SingleMachine(load_document())
    maximum_rate = machine.simulate_maximum_rate()
    means = [
        sum(latencies) / len(latencies)
        for latencies in (machine.simulate_latencies(share * maximum_rate, 5_000) for share in (0.2, 0.5, 0.8))
    ]

    assert means == sorted(means)
