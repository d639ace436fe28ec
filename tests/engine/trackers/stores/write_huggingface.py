"""Write the known runs as the Trainer of Hugging Face does: states of checkpoints, and settings of models."""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])

from transformers import GPT2Config  # noqa: E402
from transformers.trainer_callback import TrainerState  # noqa: E402

for run in json.load(sys.stdin):
    path, steps = folder / run["name"], len(run["losses"])
    state = TrainerState(max_steps=100, num_train_epochs=1, train_batch_size=8, log_history=[])
    config = GPT2Config(n_layer=2, num_parameters=run["params"], loss_type="ForCausalLM")
    for step, loss in enumerate(run["losses"], 1):
        state.global_step, state.epoch, state.total_flos = step, step / 100, 1e12 * step
        state.log_history.append({"loss": loss + 0.1, "learning_rate": run["lr"], "epoch": step / 100, "step": step})
        state.log_history.append({"eval_loss": loss, "eval_runtime": 1.5, "epoch": step / 100, "step": step})
        if step in (9, steps):
            checkpoint = path / f"checkpoint-{step}"
            checkpoint.mkdir(parents=True)
            config.save_pretrained(checkpoint)
            state.save_to_json(str(checkpoint / "trainer_state.json"))
            (checkpoint / "training_args.bin").write_bytes(b"cos\nsystem\n(S'touch hacked'\ntR.")
    if run["state"] == "finished":
        final = {"train_runtime": 60.0, "train_loss": 9.0, "total_flos": 1e14, "epoch": 1.0, "step": steps}
        state.log_history.append(final)
        state.save_to_json(str(path / "trainer_state.json"))
    (path / "training_args.json").write_text(json.dumps({"learning_rate": run["lr"], "tokens": run["tokens"]}))
