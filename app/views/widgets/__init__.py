"""Parts that several pages share: headings, forms, caches, and the contents of the address."""
