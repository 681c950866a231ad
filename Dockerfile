# syntax=docker/dockerfile:1
# The image of `hubbub serve`: without build tools, as an unprivileged user, with a read-only root file system. Only /data is written.

FROM python:3.13-slim AS build
WORKDIR /source
RUN python -m venv /opt/hubbub
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY tools ./tools
COPY src ./src
# The third-party files of the chat client come from the npm registry, unless the source tree already has them (make third-party).
ARG NPM_CONFIG_REGISTRY
RUN apt-get update \
    && apt-get install --yes --no-install-recommends npm \
    && python tools/third_party.py --required
RUN /opt/hubbub/bin/pip install --no-cache-dir --constraint constraints.txt '.[server]' \
    && /opt/hubbub/bin/pip uninstall --yes pip \
    && /opt/hubbub/bin/python -m compileall -q -j 0 /opt/hubbub/lib

FROM python:3.13-slim
LABEL org.opencontainers.image.title="Hubbub" \
      org.opencontainers.image.licenses="Apache-2.0"
# pg_dump and pg_restore for `hubbub backup`; they must not be older than the PostgreSQL server.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 hubbub \
    && useradd --uid 10001 --gid hubbub --no-create-home --home-dir /data --shell /usr/sbin/nologin hubbub \
    && install --directory --owner hubbub --group hubbub --mode 0700 /data
COPY --from=build /opt/hubbub /opt/hubbub
ENV PATH=/opt/hubbub/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HUBBUB_DATA=/data \
    HUBBUB_HOST=0.0.0.0 \
    HUBBUB_PORT=8080
USER 10001:10001
VOLUME /data
EXPOSE 8080/tcp 8081/tcp 50000/udp
# SIGTERM drains: clients reconnect, and running requests finish.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['HUBBUB_PORT']}/healthz\", timeout=4)"]
ENTRYPOINT ["hubbub"]
CMD ["serve"]
