FROM python:3.11-slim-bookworm AS build
RUN python -m venv /venv
COPY requirements.txt .
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.txt
WORKDIR /app
COPY . .
# Nothing connects while files are collected; the settings only want to be set.
RUN SHARDWATCH_STATIC_ROOT=/app/static-collected SECRET_KEY=unused \
    /venv/bin/python -c "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; django.setup(); from config import collecting; collecting.collect_static()"

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin shardwatch && install -d -o shardwatch /data
COPY --from=build /venv /venv
COPY --from=build /app /app
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SHARDWATCH_STATIC_ROOT=/app/static-collected
WORKDIR /app
USER shardwatch
EXPOSE 8000
