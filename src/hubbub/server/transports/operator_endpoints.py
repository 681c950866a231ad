"""Endpoints for operators: health, readiness and metrics of a process."""

import logging

from aiohttp import web

from hubbub.server.core.bus import Bus
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.store import Database

log = logging.getLogger(__name__)


class OperatorEndpoints:
    """The routes `/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, database: Database, bus: Bus[Dispatch], metrics: Metrics) -> None:
        self._database = database
        self._bus = bus
        self._metrics = metrics
        self.is_draining = False
        """Whether the process is shutting down, so that it is not ready for new requests."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of health, readiness and metrics."""
        return [
            web.get("/healthz", self._get_health),
            web.get("/readyz", self._get_readiness),
            web.get("/metrics", self._get_metrics),
        ]

    async def _get_health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _get_readiness(self, _: web.Request) -> web.Response:
        problems = []
        if self.is_draining:
            problems.append("draining")
        if not self._bus.is_healthy:
            problems.append("bus")
        try:
            await self._database.check()
        except Exception:
            log.warning("The store is not ready", exc_info=True)
            problems.append("store")
        if self._database.is_damaged:
            problems.append("damaged database file")
        return web.Response(
            text=f"not ready: {', '.join(problems)}\n" if problems else "ready\n", status=503 if problems else 200
        )

    async def _get_metrics(self, _: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )
