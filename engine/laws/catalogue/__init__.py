"""The laws that come with Isoplan, one module for each family of forms."""
