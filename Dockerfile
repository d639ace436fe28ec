# docker build -t isoplan . && docker run --rm -p 8501:8501 -v isoplan:/data isoplan
# The log prints the link, with its token. The image holds the core; extras, some of them under the GPL, come only by
# --build-arg EXTRAS=name,name.
FROM python:3.11-slim

ARG EXTRAS=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/data/.cache

WORKDIR /src
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN pip install -r requirements.lock
COPY isoplan ./isoplan
COPY app ./app
COPY engine ./engine
COPY trainers ./trainers
COPY data ./data
RUN pip install --no-deps --no-build-isolation . \
    && if [ -n "$EXTRAS" ]; then pip install -c requirements.lock ".[$EXTRAS]"; fi \
    && rm -rf /src/*

RUN useradd --system --uid 10001 --no-create-home isoplan && install -d -o isoplan -g isoplan /data
USER isoplan
WORKDIR /data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/healthz', timeout=2)"]
CMD ["isoplan", "app", "--host", "0.0.0.0", "--port", "8501", "--workspace", "/data", "--shared", "--no-browser"]
