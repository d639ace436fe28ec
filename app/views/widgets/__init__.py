"""Parts that several pages share: headings, forms, caches, and what the address contains."""
