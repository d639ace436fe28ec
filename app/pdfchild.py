"""SVG on standard input to PDF on standard output, in a process of its own (``engine.limited``).

It imports nothing of ours before its memory is bounded, and the converter alone after it.
"""

from __future__ import annotations

import sys


def main(seconds: int, megabytes: int) -> None:
    """Convert one drawing. A drawing that cannot be converted ends the process with one line and status 1."""
    from engine.limited import limit

    limit(seconds, megabytes)
    import vl_convert

    try:
        made = bytes(vl_convert.svg_to_pdf(sys.stdin.buffer.read().decode()))
    except (ValueError, RuntimeError) as error:
        print(str(error).splitlines()[0], file=sys.stderr)
        raise SystemExit(1) from None
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
