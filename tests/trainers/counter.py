"""Test program that counts steps: its loss decreases by a known formula, and ``how`` selects a failure."""

import json
import os
import signal
import sys
import time

given = json.loads(sys.stdin.readline())
cell = given["cell"]
how, steps, path = cell["how"], cell["steps"], given["checkpoint"]
ending: list[int] = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
first, total = 0, 0.0
if given["resume"]:
    with open(given["resume"]) as kept:
        first, total = json.load(kept)
if how == "silent":
    sys.exit(0)
if how == "fails":
    print("something is wrong", file=sys.stderr)
    sys.exit(3)
if how == "hangs":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
if how == "prints":
    for _ in range(1100):
        sys.stdout.write("x" * 1_000_000 + "\n")
if how == "endless line":
    for _ in range(300):
        sys.stdout.write("x" * 1_000_000)
if how == "forks" and os.fork() == 0:
    time.sleep(1000)
if how == "crashes at once":
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "dies":
    os.kill(os.getppid(), signal.SIGKILL)
for step in range(first, steps):
    total += 1.0 / (step + 1) ** 2
    if cell["wait"]:
        time.sleep(cell["wait"])
    loss = float("nan") if how == "nan" else 1.0 + 1.0 / (step + 1)
    print(json.dumps({"step": step + 1, "total": steps, "loss": loss}), flush=True)
    with open(path + ".new", "w") as kept:
        json.dump([step + 1, total], kept)
    os.replace(path + ".new", path)
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending and how != "deaf":
        sys.exit(0)
print(json.dumps({"result": {"loss": 1.0 + 1.0 / steps, "sum": total, "steps run": steps - first}}))
