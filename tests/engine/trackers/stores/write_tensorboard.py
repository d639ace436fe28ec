"""Write the known runs as event files: ``write_tensorboard.py FOLDER SITE_PACKAGES torch|plugin``.

``torch`` uses SummaryWriter and add_hparams. ``plugin`` uses the scalars and the sessions of TensorBoard itself.
"""

import json
import sys
from pathlib import Path

import numpy as np

folder, packages, kind = sys.argv[1:4]
sys.path.append(packages)


def write_torch(run, logdir):
    """Write a run with torch. It is started again after half of its steps, and logs five steps a second time."""
    from torch.utils.tensorboard import SummaryWriter

    losses = run["losses"]
    half = len(losses) // 2
    with SummaryWriter(logdir) as writer:
        writer.add_text("notes", "a text")
        writer.add_histogram("weights", np.array([1.0, 2.0]), 1)
        for step, loss in enumerate(losses[: half - 5]):
            writer.add_scalar("val/loss", loss, step)
        for step in range(half - 5, half):
            writer.add_scalar("val/loss", 99.0, step)
    with SummaryWriter(logdir) as writer:
        for step, loss in enumerate(losses[half - 5 :], half - 5):
            writer.add_scalar("val/loss", loss, step, new_style=step % 2 == 0, double_precision=step % 4 == 0)
        settings = {"model/params": run["params"], "tokens": run["tokens"], "optimizer": "adam", "cosine": True}
        writer.add_hparams(settings, {"best": losses[-1] - 0.5}, global_step=7)


def write_plugin(run, logdir):
    """Write a run with the functions of TensorBoard."""
    from tensorboard.compat.proto import event_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(logdir)
    start = summary_v2.hparams_pb({"params": run["params"], "tokens": run["tokens"], "name": "adam", "cosine": True})
    writer.add_event(event_pb2.Event(summary=start, wall_time=1.7e9))
    for step, loss in enumerate(run["losses"]):
        writer.add_event(event_pb2.Event(summary=scalar_pb("val/loss", loss), step=step, wall_time=1.7e9 + step))
    status = {"finished": "SUCCESS", "failed": "FAILURE", "running": "RUNNING"}[run["state"]]
    info = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value(f"STATUS_{status}"), end_time_secs=1.7e9 + 200)
    data = plugin_data_pb2.HParamsPluginData(session_end_info=info)
    end = event_pb2.Event(wall_time=1.7e9 + 200)
    end.summary.value.add(tag=metadata.SESSION_END_INFO_TAG, metadata=metadata.create_summary_metadata(data))
    writer.add_event(end)
    writer.close()


for known in json.load(sys.stdin):
    {"torch": write_torch, "plugin": write_plugin}[kind](known, str(Path(folder, known["name"])))
