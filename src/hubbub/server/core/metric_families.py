"""Counters and histograms that cost less per update than those of prometheus_client, which only renders them.

A counter of prometheus_client runs four functions for each increment, which took 2 % of the time of a request
(docs/performance.md). The classes can be used in threads.
"""

import threading
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

ValueT = TypeVar("ValueT", "Counter", "Histogram")


class Counter:
    """A number that only grows."""

    __slots__ = ("_lock", "value")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        """Add an amount, which must not be negative."""
        with self._lock:
            self.value += amount


class Histogram:
    """Observed numbers, counted by the bucket that they belong to."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Create a histogram; `bounds` are the highest numbers of its buckets, sorted. Larger numbers have their own bucket."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, number: float) -> None:
        """Count a number."""
        with self._lock:
            self._counts[bisect_left(self._bounds, number)] += 1
            self._sum += number

    def snapshot(self) -> tuple[list[int], float]:
        """Return the cumulative counts of the buckets, and the sum of all numbers."""
        with self._lock:
            return list(accumulate(self._counts)), self._sum


class _Family(Collector, Generic[ValueT]):
    """The values of one metric, one for each combination of label values; calling the family returns one of them."""

    def __init__(self, name: str, help_text: str, labels: Sequence[str]) -> None:
        self._name = name
        self._help_text = help_text
        self.labels = labels
        self._values: dict[tuple[str, ...], ValueT] = {}

    def __call__(self, *label_values: str) -> ValueT:
        """Return the counter or histogram for these label values."""
        value = self._values.get(label_values)
        # Two threads may create the value at once: `setdefault` keeps one of them.
        return self._values.setdefault(label_values, self._create()) if value is None else value

    @abstractmethod
    def _create(self) -> ValueT: ...


class CounterFamily(_Family[Counter]):
    """The counters of one metric."""

    def _create(self) -> Counter:
        return Counter()

    def collect(self) -> Iterable[Metric]:
        """Return the values for a registry of prometheus_client."""
        metric = CounterMetricFamily(self._name, self._help_text, labels=self.labels)
        for label_values, counter in list(self._values.items()):
            metric.add_metric(label_values, counter.value)
        return [metric]


class HistogramFamily(_Family[Histogram]):
    """The histograms of one metric, with the same buckets."""

    def __init__(self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        super().__init__(name, help_text, labels)
        self._bounds = bounds

    def _create(self) -> Histogram:
        return Histogram(self._bounds)

    def collect(self) -> Iterable[Metric]:
        """Return the values for a registry of prometheus_client."""
        metric = HistogramMetricFamily(self._name, self._help_text, labels=self.labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for label_values, histogram in list(self._values.items()):
            counts, total = histogram.snapshot()
            metric.add_metric(label_values, list(zip(names, counts, strict=True)), total)
        return [metric]
