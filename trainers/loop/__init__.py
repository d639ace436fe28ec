"""What the training loops of several families share: checkpoints, the memory that a cell may take, its rates."""
