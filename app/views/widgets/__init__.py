"""Parts that several pages share: headings, input fields, caches, and the values in the link."""
