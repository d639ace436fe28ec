"""Planner question "Next cells": which cells (training runs) narrow the answer to a question most for their cost."""
