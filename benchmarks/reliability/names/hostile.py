"""Names that would run a script, load a file or add a format if a page did not show them as plain text."""

from __future__ import annotations

HOST = "evil.example"
"""Host of the pictures and links in the hostile names."""
NAMES = (
    "Q00<b onmouseover=window.__hit=7>x<img src=z onerror=window.__hit=8>",
    "Q01<script>window.__hit=1</script>",
    'Q02<img src="http://evil.example/a.png" onerror="window.__hit=2">',
    'Q03<a href="javascript:window.__hit=3">link</a>',
    "Q04<b>bold</b><br><i>it</i><sup>2</sup><sub>3</sub>",
    "Q05![i](http://evil.example/b.png)",
    "Q06[l](javascript:window.__hit=4) [m](http://evil.example/c)",
    "Q07 http://evil.example/d www.evil.example me@evil.example",
    "## Q08 head",
    "# Q09 head",
    "12. Q10 item",
    "- Q11 item",
    "> Q12 quote",
    "Q13 $x^2$ \\alpha $$y$$ \\(z\\)",
    "Q14 `code` *em* **strong** __under__ ~~gone~~ _a_",
    "Q15 :red[x] :smile: :material/home: :+1: :blue-background[y]",
    "Q16 &lt;b&gt; &amp; &#60; &copy;",
    "Q17 %{x} %{customdata[0]} %{y:.2f}<extra>e</extra>",
    "Q18 {{7*7}} {0} %s %(a)s ${x}",
    "Q19 a -- b -> c <- d >= e <= f ~= g",
    "Q20 \"quotes' back\\slash",
    "Q21 \u202eRTL\u202c \u2066mark\u2069",
    "Q22 e\u0301 \U0001f680 \ufdfd \u200bzero",
    "=Q23+1",
    'Q24<svg onload="window.__hit=5"><circle r="9"/></svg>',
    "Q25 javascript:window.__hit=6",
    "Q26 | a | b |",
    'Q27<iframe src="http://evil.example/e"></iframe>',
    "Q28<style>*{color:red}</style>",
    'Q29</title></text></g><image href="http://evil.example/f.png"/>',
    'Q30 <span style="color:red">styled</span>',
    "--- Q31",
    "@Q32 \t tab {#id} ::: :::note",
    "Q33 \\frac{1}{2} \\href{http://evil.example/h}{x} \\color{red}",
    "Q34[^1] ^[note] <!-- c --> <https://evil.example/g>",
    "Q35 'single' `",
)
"""Hostile names. Each name contains a unique mark (the letter Q and two digits), so it can be found in a page."""
