"""SVG on standard input to PDF on standard output, in a separate process (``isoplan.engine.limited``).

Before its memory is limited, it imports no other module of Isoplan.
"""

from __future__ import annotations

import sys


def main(seconds: int, megabytes: int) -> None:
    """Check and convert one drawing. If that fails, write one sentence to standard error and exit with status 1."""
    from isoplan.engine.limited import limit

    limit(seconds, megabytes)
    from isoplan.app.serving.svg import check
    from isoplan.engine.errors import PlannerError

    svg = sys.stdin.buffer.read()
    try:
        check(svg)
        sys.stdout.buffer.write(converted(svg))
    except PlannerError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        raise SystemExit(1) from None


def converted(svg: bytes) -> bytes:
    """Convert a checked drawing to PDF. Raises PlannerError if the converter fails."""
    import vl_convert

    from isoplan.engine.errors import PlannerError

    try:
        return bytes(vl_convert.svg_to_pdf(svg.decode()))
    except (ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise PlannerError(f"The drawing could not be turned into a PDF ({why}): download it as SVG instead.") from None


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
